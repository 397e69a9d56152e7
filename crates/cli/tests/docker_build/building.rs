//! What an image is built of, and when it is built again.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use cofferdam_testkit::docker::{PrivateEngine, Which};
use cofferdam_testkit::wait_until;

use crate::{BINARY, Bench};

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn built_twice_is_the_same_image_and_only_changed_inputs_are_built() {
    let bench = Bench::new(Which::Docker, "twice");
    bench.dockerfile("COPY [\"deps\", \"/deps\"]\nRUN echo made > /made\nUSER 1000:1000\n");
    bench.env.file("deps", "one\n");
    bench.env.file("source", "one\n");
    let first = bench.build();
    assert_eq!(first["unchanged"], false);
    let start = Instant::now();
    let second = bench.build();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!((&second["unchanged"], &second["id"]), (&true.into(), &first["id"]));
    // What is not taken into the image does not count, nor does when a file was written.
    bench.env.file("source", "two\n");
    bench.env.file("deps", "one\n");
    assert_eq!(bench.build()["id"], first["id"]);
    bench.env.file("deps", "two\n");
    let changed = bench.build();
    assert_eq!(changed["unchanged"], false);
    assert_ne!(changed["id"], first["id"]);
    let seen = bench.engine.run(&bench.env, &[], "cat /deps");
    seen.assert_exit(0).assert_stdout("two\n");
    // Put back, it is the old one again, and that is what a run uses.
    bench.env.file("deps", "one\n");
    assert_eq!(bench.build()["id"], first["id"]);
    bench.engine.run(&bench.env, &[], "cat /deps").assert_exit(0).assert_stdout("one\n");
    // Built anew by the engine's own cache: the same id.
    let words = ["image", "build", "--sandbox", "docker", "--anew", "--json"];
    assert_eq!(bench.run(&words).json()["id"], first["id"]);
    let events = bench.env.run(["events", "--json"]);
    let built = events.stdout_text().matches("sandbox.image_built").count();
    assert_eq!(built, 3, "{}", events.stdout_text());
    bench.env.run(["audit", "verify"]).assert_exit(0);
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn instructions_reach_no_network_unless_asked_and_allowed() {
    let bench = Bench::new(Which::Docker, "network");
    bench.dockerfile("RUN test \"$(grep -c : /proc/net/dev)\" = 1 && ls /sys/class/net > /seen\nUSER 1000:1000\n");
    bench.build();
    bench.engine.run(&bench.env, &[], "cat /seen").assert_exit(0).assert_stdout("lo\n");
    let wide = ["image", "build", "--sandbox", "docker", "--network", "host"];
    bench.run(&wide).assert_exit(1).assert_stderr_has("wider than policy.build_network");
    bench
        .run(&["image", "build", "--network", "allow"])
        .assert_exit(1)
        .assert_stderr_has("named hosts");
    bench.run(&["image", "build", "--network", "what"]).assert_exit(2);
    // With the host owner's word it is the host's network, and this very instruction fails.
    bench.env.host_config("policy: {build_network: host}\n");
    bench.run(&wide).assert_exit(1).assert_stderr_has("the engine refused building");
}

/// In an engine that has a bridge, which leads nowhere but to itself.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn instructions_reach_a_bridge_where_asked() {
    let private = PrivateEngine::with_bridge();
    let bench = Bench::on(private.engine(), BINARY, "bridge");
    bench.dockerfile("RUN test \"$(grep -c : /proc/net/dev)\" = 2 && ls /sys/class/net > /seen\nUSER 1000:1000\n");
    let words = ["image", "build", "--sandbox", "docker", "--approve"];
    bench.run(&words).assert_exit(1);
    bench.run(&[&words[..], &["--network", "bridge"]].concat()).assert_exit(0);
    bench.engine.run(&bench.env, &[], "cat /seen").assert_exit(0).assert_stdout("eth0\nlo\n");
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn what_is_blocked_or_ignored_is_not_sent() {
    let bench = Bench::new(Which::Docker, "context");
    bench.dockerfile("COPY . /all\nUSER 1000:1000\n");
    for name in [".env", "deep/.env.local", "node_modules/x", "kept", "deep/kept"] {
        bench.env.file(name, "a secret\n");
    }
    bench.env.file(".dockerignore", "node_modules\n!.env\n");
    bench.env.symlink("/etc/passwd", "link");
    bench.build();
    let seen = bench.engine.run(&bench.env, &[], "cd /all; find . -type f; find . -type l");
    let mut names: Vec<String> =
        seen.assert_exit(0).stdout_text().lines().map(str::to_owned).collect();
    names.sort();
    assert_eq!(
        names,
        ["./.dockerignore", "./Dockerfile.cofferdam", "./deep/kept", "./kept", "./link"]
    );
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn what_no_build_does_is_refused_before_anything_is_sent() {
    let bench = Bench::new(Which::Docker, "refused");
    let before = bench.images();
    let refused = |text: &str, said: &str| {
        bench.env.file("Dockerfile.cofferdam", text);
        let words = ["image", "build", "--sandbox", "docker", "--approve"];
        bench.run(&words).assert_exit(1).assert_stderr_has(said);
    };
    let base = &bench.base;
    refused(
        &format!("# syntax=example.com/frontend:1\nFROM {base}\n"),
        "another program read the file",
    );
    refused(
        &format!("FROM {base}\nRUN --mount=type=bind,target=/host ls /host\n"),
        "neither a cache nor memory",
    );
    refused(&format!("FROM {base}\nADD https://example.com/x /x\n"), "has no network");
    refused(&format!("FROM {base}\nRUN --network=host true\n"), "images.network");
    refused("FROM cofferdam-test-nobody-has:1\n", "nothing is fetched unasked");
    refused("FROM ${BASE}\n", "cannot be made out");
    refused(&format!("FROM {base}\nCOPY missing /x\n"), "which is not there");
    refused(&format!("FROM {base}\nRUN exit 7\n"), "exit code: 7");
    bench.engine.client(&[
        "import",
        "-c",
        "ONBUILD RUN touch /owned",
        "/dev/null",
        "cofferdam-test-trigger:1",
    ]);
    refused("FROM cofferdam-test-trigger:1\n", "ONBUILD");
    bench.engine.client(&["rmi", "cofferdam-test-trigger:1"]);
    fs::remove_file(bench.env.workspace().join("Dockerfile.cofferdam")).unwrap();
    bench.run(&["image", "build"]).assert_exit(1).assert_stderr_has("cofferdam init");
    let outside = bench.env.home().join("Dockerfile");
    fs::write(&outside, "FROM x\n").unwrap();
    let words = ["image", "build", "--file", outside.to_str().unwrap()];
    bench.run(&words).assert_exit(1).assert_stderr_has("not below the workspace");
    bench.env.symlink(&outside, "Dockerfile.cofferdam");
    bench.run(&["image", "build", "--approve"]).assert_exit(1);
    let new: Vec<_> = bench
        .images()
        .difference(&before)
        .filter(|line| line.starts_with("cofferdam/refused"))
        .cloned()
        .collect();
    assert_eq!(new, Vec::<String>::new());
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_build_that_takes_too_long_is_ended() {
    let bench = Bench::new(Which::Docker, "slow");
    bench.dockerfile("RUN sleep 6161\nUSER 1000:1000\n");
    let start = Instant::now();
    let words = ["image", "build", "--sandbox", "docker", "--approve", "--timeout", "2s"];
    bench.run(&words).assert_exit(1).assert_stderr_has("in time").assert_stderr_has("--timeout");
    assert!(start.elapsed() < Duration::from_secs(20));
    let is_gone = || {
        let listed = Command::new("ps").args(["-eo", "args"]).output().unwrap();
        !String::from_utf8_lossy(&listed.stdout).contains("sleep 6161")
    };
    assert!(wait_until(Duration::from_secs(20), is_gone), "the instruction goes on");
}
