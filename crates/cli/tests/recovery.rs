//! After a `kill -9` of cofferdam, the next start leaves nothing behind and closes the record.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::process::Stdio;
use std::time::Duration;

use cofferdam_testkit::{TestEnv, wait_until};

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

/// A run whose owner was killed: its command is gone with it, a daemon of it is not.
fn killed_run(env: &TestEnv) {
    let ready = env.workspace().join("ready");
    let script = "setsid sleep 300 & touch ready; sleep 300";
    let mut child = env
        .cofferdam()
        .args(["run", "--sandbox", "local", "--", "sh", "-c", script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(wait_until(Duration::from_secs(10), || ready.exists()));
    child.kill().unwrap();
    child.wait().unwrap();
}

fn assert_closed(env: &TestEnv, run: &str) {
    let shown = env.run(["show", run, "--json"]).json();
    assert_eq!(shown["outcome"]["class"], "sandbox_failure");
    assert_eq!(shown["cleanup"]["receipt"], "terminated");
    assert!(env.events().iter().any(|e| e["type"] == "sandbox.orphan_removed" && e["run"] == run));
    env.run(["audit", "verify"]).assert_exit(0);
}

#[test]
fn gc_removes_what_was_left_and_says_so() {
    let env = env();
    killed_run(&env);
    let run = env.runs().pop().unwrap();
    env.run(["gc"]).assert_exit(0);
    assert_closed(&env, &run);
    env.run(["gc"]).assert_exit(0).assert_stdout("nothing to clean up\n");
}

#[test]
fn so_does_the_next_run() {
    let env = env();
    killed_run(&env);
    let run = env.runs().pop().unwrap();
    env.run(["run", "--sandbox", "local", "--", "true"]).assert_exit(0);
    assert_closed(&env, &run);
}

#[test]
fn a_run_that_goes_on_is_left_alone() {
    let env = env();
    let ready = env.workspace().join("ready");
    let mut child = env
        .cofferdam()
        .args(["run", "--sandbox", "local", "--", "sh", "-c", "touch ready; sleep 2; exit 5"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(wait_until(Duration::from_secs(10), || ready.exists()));
    env.run(["gc"]).assert_exit(0).assert_stdout("nothing to clean up\n");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_process_that_only_looks_like_ours_is_left_alone() {
    let env = env();
    let mut foreign = std::process::Command::new("sleep")
        .arg("30")
        .env("COFFERDAM_RUN", "01aaaaaaaaaaaaaaaaaaaaaaaa")
        .spawn()
        .unwrap();
    killed_run(&env);
    env.run(["gc"]).assert_exit(0);
    assert!(foreign.try_wait().unwrap().is_none(), "it still runs");
    foreign.kill().unwrap();
    foreign.wait().unwrap();
}

/// A shell that becomes cofferdam by exec has children of its own; they are none of ours.
#[test]
fn children_that_were_there_before_are_left_alone() {
    let env = env();
    let cofferdam = env.cofferdam();
    let mut shell = env.program("sh");
    shell.args([
        "-c",
        "sleep 60 >/dev/null 2>&1 & echo $! > child; exec \"$0\" run --sandbox local -- true",
    ]);
    shell.arg(cofferdam.get_program());
    env.finish(shell).assert_exit(0);
    let child = std::fs::read_to_string(env.workspace().join("child")).unwrap();
    let alive = || std::process::Command::new("kill").args(["-0", child.trim()]).status().unwrap();
    assert!(alive().success(), "it still runs");
    assert!(std::process::Command::new("kill").arg(child.trim()).status().unwrap().success());
}

/// A clean-up in another pid namespace cannot see the owner's process, and must not take that for its end.
#[test]
fn a_run_in_another_pid_namespace_is_alive() {
    let env = env();
    let ready = env.workspace().join("ready");
    let cofferdam = env.cofferdam();
    let mut inner = env.program("unshare");
    inner.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]);
    inner.arg(cofferdam.get_program());
    inner.args(["run", "--sandbox", "local", "--", "sh", "-c", "touch ready; sleep 2; exit 6"]);
    let mut child =
        inner.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(wait_until(Duration::from_secs(10), || ready.exists()));
    env.run(["gc"]).assert_exit(0).assert_stdout("nothing to clean up\n");
    assert_eq!(child.wait().unwrap().code(), Some(6));
}
