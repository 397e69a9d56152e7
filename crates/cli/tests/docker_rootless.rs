//! Docker without root, as an ordinary user has it: it is sent a copy, and no id of its range reaches a file of the host.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cofferdam_testkit::docker::{Engine, Rootless};
use cofferdam_testkit::{Finished, TestEnv, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const IMAGE: &str = "cofferdam-test-rootless:1";

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs Docker: cargo xtask test")]
fn a_docker_without_root_is_sent_a_copy() {
    let rootless = Rootless::docker();
    let engine = rootless.engine();
    let programs = ["sh", "cat", "id", "rm", "mkdir", "touch", "grep", "ls", "sleep", "chmod"];
    engine.import_busybox(IMAGE, &programs, &[]);
    let env = TestEnv::with_binary(BINARY).unprivileged();
    refused(&engine, &env);
    changed(&engine, &env);
    killed(&engine, &env);
    assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
}

fn run(engine: &Engine, env: &TestEnv, script: &str) -> Finished {
    // Not every host gives its users control groups.
    engine.run(env, &["--image", IMAGE, "--relax", "limits"], script)
}

fn refused(engine: &Engine, env: &TestEnv) {
    let says = |flags: &[&str], words: &str| {
        engine.run(env, flags, "true").assert_exit(125).assert_stderr_has(words);
    };
    says(&["--relax", "limits"], "does not have this host's programs");
    let direct = ["--image", IMAGE, "--relax", "limits", "--mode", "direct"];
    says(&direct, "does not see this host's files");
    if !Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        says(&["--image", IMAGE], "cannot limit memory");
    }
}

fn changed(engine: &Engine, env: &TestEnv) {
    env.file("f", "old\n");
    env.file("gone/x", "x\n");
    env.file(".env", "KEY=secret\n");
    let before = env.tree_hash("");
    let script = "cat f; test ! -e .env || echo seen; test $(id -u) != 0 || echo root; echo new > f; \
                  rm -r gone; mkdir made; echo m > made/m; chmod 700 made; touch /x /bin/x || echo kept; \
                  grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; ls /sys/class/net; exit 3";
    run(engine, env, script).assert_exit(3).assert_stdout(
        "old\nkept\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nlo\n",
    );
    assert_eq!(env.tree_hash(""), before, "nothing reaches the host before it is applied");
    assert_eq!(env.latest_record()["cleanup"]["receipt"], "terminated");
    let owner = fs::metadata(env.workspace()).unwrap().uid();
    of_one_owner(env.top(), owner);
    engine.command(env, ["apply"]).assert_exit(0);
    let text = |name: &str| fs::read_to_string(env.workspace().join(name)).ok();
    assert_eq!((text("f").as_deref(), text("gone/x")), (Some("new\n"), None));
    assert_eq!(text("made/m").as_deref(), Some("m\n"));
    of_one_owner(env.top(), owner);
    engine
        .run(env, &["--image", IMAGE, "--relax", "limits", "--timeout", "1s"], "sleep 60")
        .assert_exit(124);
}

/// Everything beneath belongs to this one.
fn of_one_owner(path: &Path, owner: u32) {
    let meta = fs::symlink_metadata(path).unwrap();
    assert_eq!(meta.uid(), owner, "{}", path.display());
    if meta.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| of_one_owner(&entry.unwrap().path(), owner));
    }
}

/// Whoever cleans up brings it first.
fn killed(engine: &Engine, env: &TestEnv) {
    let flags = ["--image", IMAGE, "--relax", "limits"];
    let mut child = engine.spawn(env, &flags, "echo precious > precious; sleep 600");
    let running = || engine.client(&["ps", "-q", "--filter", "label=cofferdam.run"]);
    assert!(wait_until(Duration::from_secs(60), || !running().is_empty()));
    let written = || {
        let mut look = Command::new("docker");
        look.args(["-H", &engine.address(), "exec", &running(), "cat", "/workspace/precious"]);
        look.output().unwrap().stdout == b"precious\n"
    };
    assert!(wait_until(Duration::from_secs(60), written));
    child.kill().unwrap();
    child.wait().unwrap();
    engine.command(env, ["gc"]).assert_exit(0);
    assert_eq!(env.manifest("last").bytes("after", "precious"), b"precious\n");
}
