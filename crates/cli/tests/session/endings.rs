//! How sessions and their commands end, whoever dies first.

use std::process::{Command, Stdio};
use std::time::Duration;

use cofferdam_testkit::{SmallDisk, TestEnv, claim, wait_until};

use super::{BINARY, Session};

fn send(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

/// The process that holds the only session.
fn holder(env: &TestEnv) -> String {
    let mut marks = std::fs::read_dir(env.state_dir().join("active")).unwrap();
    let mark = std::fs::read(marks.next().unwrap().unwrap().path()).unwrap();
    let mark: serde_json::Value = serde_json::from_slice(&mark).unwrap();
    mark["owner"]["pid"].to_string()
}

#[test]
fn a_holder_that_is_killed_takes_the_sandbox_along_and_its_changes_are_kept() {
    claim::as_root_and_as_user(BINARY, |env| {
        let session = Session::start(env, &[]);
        session.exec(&[], "echo precious > made; sleep 600 &").assert_exit(0);
        send("-KILL", &holder(env));
        assert!(wait_until(Duration::from_secs(10), || {
            session.exec(&[], "true").code() == Some(125)
        }));
        // Its socket is closed a moment before it is dead.
        assert!(wait_until(Duration::from_secs(10), || {
            env.run(["gc"]).assert_exit(0);
            env.run(["session", "ls", "--json"]).assert_exit(0).stdout_text() == "[]\n"
        }));
        assert_eq!(env.latest_record()["outcome"]["class"], "sandbox_failure");
        assert_eq!(env.run(["diff", "--name-only"]).stdout_text(), "made\n");
        env.run(["audit", "verify"]).assert_exit(0);
    });
}

#[test]
fn a_client_that_vanishes_takes_its_command_along() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &[]);
    let mut client = env
        .cofferdam()
        .args(["session", "exec", "last", "--", "sleep", "600"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let sleeps = || session.exec(&[], "pgrep -x sleep").code() == Some(0);
    assert!(wait_until(Duration::from_secs(10), sleeps));
    client.kill().unwrap();
    client.wait().unwrap();
    assert!(wait_until(Duration::from_secs(10), || !sleeps()));
    let jobs = session.jobs();
    let slept = jobs.as_array().unwrap().iter().find(|job| job["command"][0] == "sleep").unwrap();
    assert_eq!(slept["outcome"]["class"], "canceled");
}

#[test]
fn signals_reach_a_command_through_its_client() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &[]);
    let script = "trap 'exit 42' TERM; touch /tmp/ready; while :; do sleep 0.1; done";
    let mut command = env.cofferdam();
    command.args(["session", "exec", "last", "--", "sh", "-c", script]);
    let mut client = command.spawn().unwrap();
    assert!(wait_until(Duration::from_secs(10), || {
        session.exec(&[], "test -e /tmp/ready").code() == Some(0)
    }));
    send("-TERM", &client.id().to_string());
    assert_eq!(client.wait().unwrap().code(), Some(42));
}

#[test]
fn after_the_end_nothing_is_run() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &[]);
    session.sub("exec", &["--detach", "--", "sleep", "600"]).assert_exit(0);
    session.sub("stop", &[]).assert_exit(0).assert_stderr_has("it changed nothing");
    session.exec(&[], "true").assert_exit(125).assert_stderr_has("has ended");
    env.run(["session", "exec", "last", "--", "true"]).assert_exit(125);
    session.sub("stop", &[]).assert_exit(1);
    claim::run(&env, &[], "true").assert_exit(0);
    env.run(["session", "stop", "last"]).assert_exit(1);
}

#[test]
fn one_that_is_idle_ends_by_itself_where_that_was_asked_for() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &["--idle-stop", "1s"]);
    // Not while something runs.
    session.exec(&[], "echo x > made; sleep 2").assert_exit(0);
    session.exec(&[], "true").assert_exit(0);
    assert!(wait_until(Duration::from_secs(10), || {
        env.run(["session", "ls", "--json"]).stdout_text() == "[]\n"
    }));
    assert_eq!(env.run(["diff", "--name-only"]).stdout_text(), "made\n");
}

#[test]
fn a_tethered_one_ends_with_whoever_it_is_held_for() {
    let env = TestEnv::with_binary(BINARY);
    let mut command = env.cofferdam();
    command.args(["session", "start", "--tether"]).args(claim::sandbox(&env));
    let mut starter = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let tether = starter.stdin.take();
    assert!(starter.wait().unwrap().success());
    env.run(["session", "exec", "last", "--", "true"]).assert_exit(0);
    drop(tether);
    assert!(wait_until(Duration::from_secs(10), || {
        env.run(["session", "ls", "--json"]).stdout_text() == "[]\n"
    }));
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn a_session_whose_background_fills_the_disk_is_ended() {
    let env = TestEnv::with_binary(BINARY);
    let _disk = SmallDisk::at(env.state_dir(), "160m");
    let session = Session::start(&env, &[]);
    let fill = "(while head -c 1M /dev/zero >> fill; do sleep 0.05; done) >/dev/null 2>&1 &";
    session.exec(&[], fill).assert_exit(0);
    assert!(wait_until(Duration::from_secs(60), || {
        env.run(["session", "ls", "--json"]).assert_exit(0).stdout_text() == "[]\n"
    }));
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "canceled", "{record:#}");
    assert!(record["outcome"]["message"].to_string().contains("disk_reserve"), "{record:#}");
    assert_eq!(env.run(["diff", "--name-only"]).stdout_text(), "fill\n");
}
