//! A Dockerfile is built as somebody approved it, whoever changed it since, and a run builds on demand.

use std::fs;

use cofferdam_testkit::docker::Which;

use crate::Bench;

const BUILD: [&str; 4] = ["image", "build", "--sandbox", "docker"];

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_dockerfile_changed_from_inside_is_not_built_before_it_was_approved() {
    let bench = Bench::new(Which::Docker, "approval");
    bench.dockerfile("ENV A=b\n");
    bench.run(&BUILD).assert_exit(3).assert_stderr_has("not what you approved");
    let first = bench.build();
    bench.run(&BUILD).assert_exit(0);
    // The program writes to the host's own tree, and asks for more.
    let script = "echo 'RUN touch /owned' >> Dockerfile.cofferdam";
    bench.env.host_config("sandbox: {mode: direct}\n");
    bench.engine.run(&bench.env, &[], script).assert_exit(0);
    bench.env.host_config("");
    let text = fs::read_to_string(bench.env.workspace().join("Dockerfile.cofferdam")).unwrap();
    assert!(text.contains("touch /owned"));
    bench.run(&BUILD).assert_exit(3).assert_stderr_has("not what you approved");
    // Until then a run has the image that was approved.
    bench.engine.run(&bench.env, &[], "test ! -e /owned").assert_exit(0);
    assert_eq!(bench.env.latest_record()["effective"]["image"], first["id"]);
    bench.env.run(["trust", "--list"]).assert_exit(0).assert_stdout_has("changed");
    bench.build();
    bench.engine.run(&bench.env, &[], "test -e /owned").assert_exit(0);
    bench.env.run(["trust", "--list"]).assert_exit(0).assert_stdout_has("trusted");
    bench.env.run(["trust", "--revoke"]).assert_exit(0);
    bench.run(&BUILD).assert_exit(3);
    // Nobody inside says yes for their user.
    let mut inside = bench.engine.cofferdam(&bench.env);
    inside.args(BUILD).arg("--approve").env("COFFERDAM_RUN", "1");
    bench.env.finish(inside).assert_exit(1).assert_stderr_has("from outside a sandbox");
}

/// Where a Dockerfile takes whatever there is, what is left out is part of what was approved.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn what_is_left_out_is_approved_with_it() {
    let bench = Bench::new(Which::Docker, "approvalignore");
    bench.dockerfile("COPY . /all\nUSER 1000:1000\n");
    bench.env.file(".dockerignore", "secret\n");
    bench.env.file("secret", "x\n");
    bench.build();
    bench.env.file(".dockerignore", "\n");
    bench.run(&BUILD).assert_exit(3);
    bench.env.file(".dockerignore", "secret\n");
    bench.run(&BUILD).assert_exit(0);
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_run_builds_on_demand_where_settings_say_so() {
    let bench = Bench::new(Which::Docker, "demand");
    bench.dockerfile("COPY [\"deps\", \"/deps\"]\nUSER 1000:1000\n");
    bench.env.file("deps", "one\n");
    // Built by nobody: a run has the host's own system tree.
    bench.engine.run(&bench.env, &[], "test ! -e /deps").assert_exit(0);
    bench.env.host_config("images: {auto_build: true}\n");
    bench
        .engine
        .run(&bench.env, &[], "true")
        .assert_exit(125)
        .assert_stderr_has("not what you approved");
    bench.build();
    bench.engine.run(&bench.env, &[], "cat /deps").assert_exit(0).assert_stdout("one\n");
    bench.env.file("deps", "two\n");
    // Only shown: nothing is built.
    let before = bench.images();
    bench.engine.run(&bench.env, &["--dry-run"], "true").assert_exit(0);
    assert_eq!(bench.images(), before);
    bench.engine.run(&bench.env, &[], "cat /deps").assert_exit(0).assert_stdout("two\n");
    bench.env.host_config("");
    bench.env.file("deps", "three\n");
    bench.engine.run(&bench.env, &[], "cat /deps").assert_exit(0).assert_stdout("two\n");
    // An image that took the name of ours is not ours.
    let image = bench.build()["image"].as_str().unwrap().to_owned();
    bench.engine.client(&["tag", &bench.base, &image]);
    bench
        .engine
        .run(&bench.env, &[], "true")
        .assert_exit(125)
        .assert_stderr_has("is not the image that was built");
    bench.run(&["image", "build", "--sandbox", "docker", "--anew"]).assert_exit(0);
    bench.engine.run(&bench.env, &[], "cat /deps").assert_exit(0).assert_stdout("three\n");
}
