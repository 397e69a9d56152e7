//! Podman without root, as an ordinary user has it: the same walls and the same changes, and no promise that it
//! cannot keep.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::path::Path;
use std::time::Duration;

use cofferdam_testkit::docker::{Engine, Rootless};
use cofferdam_testkit::{TestEnv, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
/// Not every host gives its users control groups.
const RELAXED: [&str; 2] = ["--relax", "limits"];

#[test]
#[cfg_attr(not(feature = "test-podman"), ignore = "needs Podman: cargo xtask test")]
fn an_engine_without_root() {
    let rootless = Rootless::podman();
    let engine = rootless.engine();
    let env = TestEnv::with_binary(BINARY).unprivileged();
    limits_are_held_or_refused(&engine, &env);
    staged(&engine, &env);
    direct(&engine, &env);
    session(&engine, &env);
    killed(&engine, &env);
    of_another_user(&engine);
    assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
}

fn limits_are_held_or_refused(engine: &Engine, env: &TestEnv) {
    let done = engine.run(env, &[], "true");
    if done.code() == Some(0) {
        let bomb = "head -c 400m /dev/zero | tail";
        engine.run(env, &["--memory", "64m"], bomb).assert_exit(137);
    } else {
        done.assert_exit(125).assert_stderr_has("runs without root, and cannot limit memory");
        let unified = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        assert!(!unified || done.stderr_text().contains("--relax"), "{}", done.stderr_text());
    }
}

fn staged(engine: &Engine, env: &TestEnv) {
    env.file("f", "old\n");
    env.file("sub/x", "x\n");
    env.file(".env", "KEY=secret\n");
    let before = env.tree_hash("");
    let script = "cat .env; test $(id -u) != 0 || echo root; touch /x /usr/x; echo new > f; rm -r sub; \
                  mkdir sub; echo y > sub/y; grep CapBnd /proc/self/status; ls /sys/class/net";
    let done = engine.run(env, &RELAXED, script);
    done.assert_exit(0).assert_stdout("CapBnd:\t0000000000000000\nlo\n");
    assert_eq!(env.tree_hash(""), before, "nothing reaches the host before it is applied");
    assert_eq!(env.latest_record()["cleanup"]["receipt"], "terminated");
    let receipt = env.latest_record()["receipt"].to_string();
    assert!(!receipt.contains(r#""memory_limit","mechanism":"the engine"#), "{receipt}");
    engine.command(env, ["apply"]).assert_exit(0);
    let text = |name: &str| std::fs::read_to_string(env.workspace().join(name)).ok();
    assert_eq!((text("f").as_deref(), text("sub/y").as_deref()), (Some("new\n"), Some("y\n")));
    assert_eq!((text("sub/x"), text(".env").as_deref()), (None, Some("KEY=secret\n")));
    owned_by_the_user(env, "sub/y");
}

fn direct(engine: &Engine, env: &TestEnv) {
    let flags = [&RELAXED[..], &["--mode", "direct"]].concat();
    engine.run(env, &flags, "echo direct > direct").assert_exit(0);
    owned_by_the_user(env, "direct");
}

#[track_caller]
fn owned_by_the_user(env: &TestEnv, name: &str) {
    use std::os::unix::fs::MetadataExt as _;
    let of = |path: &Path| {
        let meta = std::fs::symlink_metadata(path).unwrap();
        (meta.uid(), meta.gid())
    };
    assert_eq!(of(&env.workspace().join(name)), of(&env.workspace()));
}

fn session(engine: &Engine, env: &TestEnv) {
    let start = ["session", "start", "--sandbox", "podman"];
    engine.command(env, start.iter().chain(&RELAXED)).assert_exit(0);
    let exec = |script| engine.command(env, ["session", "exec", "last", "--", "sh", "-c", script]);
    exec("rm f; echo one > made").assert_exit(0);
    exec("cat made; test ! -e f").assert_exit(0).assert_stdout("one\n");
    let changed = engine.command(env, ["diff", "--name-only", "--session", "last"]);
    assert_eq!(changed.stdout_text(), "f\nmade\n");
    engine.command(env, ["session", "stop", "last"]).assert_exit(0);
    assert_eq!(env.latest_record()["cleanup"]["receipt"], "terminated");
}

fn killed(engine: &Engine, env: &TestEnv) {
    let ready = env.workspace().join("ready");
    let flags = [&RELAXED[..], &["--mode", "direct"]].concat();
    let mut child = engine.spawn(env, &flags, "touch ready; sleep 600");
    assert!(wait_until(Duration::from_secs(30), || ready.exists()));
    child.kill().unwrap();
    child.wait().unwrap();
    engine.command(env, ["gc"]).assert_exit(0);
    assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
}

/// There root would be nobody, and the files of others.
fn of_another_user(engine: &Engine) {
    let root = TestEnv::with_binary(BINARY);
    let refused = engine.run(&root, &RELAXED, "true");
    refused.assert_exit(125).assert_stderr_has("is another user's");
}
