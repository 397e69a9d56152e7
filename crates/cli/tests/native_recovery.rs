//! `kill -9` of cofferdam at any moment: after the next clean-up no process, mount or group is left.

use std::time::Duration;

use cofferdam_testkit::{TestEnv, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
fn killed_at_random_moments() {
    for env in [TestEnv::with_binary(BINARY), TestEnv::with_binary(BINARY).unprivileged()] {
        for step in 0..30u64 {
            let mut child = claim::spawn(&env, &[], "setsid sleep 100 & sleep 100");
            // From before anything exists to well after the command runs.
            std::thread::sleep(Duration::from_micros(step * 400));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        env.run(["gc"]).assert_exit(0);
        env.run(["audit", "verify"]).assert_exit(0);
        // Every run that got as far as a record is closed. The environment's own end looks for leftovers.
        let runs = env.run(["runs", "--limit", "0", "--json"]).json();
        for run in runs.as_array().unwrap() {
            assert!(run["outcome"]["class"].is_string() || run["error"].is_string(), "{run}");
        }
    }
}

/// `kill -9` of the sandbox's own first process is a failure of the sandbox, or the end of the command by
/// that signal, but never a success.
#[test]
fn the_next_run_works_after_a_kill() {
    let env = TestEnv::with_binary(BINARY);
    let mut child = claim::spawn(&env, &[], "sleep 100");
    std::thread::sleep(Duration::from_millis(100));
    child.kill().unwrap();
    child.wait().unwrap();
    claim::run(&env, &[], "echo fine").assert_exit(0).assert_stdout("fine\n");
}

/// Old runs go when they are told to, staged files and all, and the log still holds.
#[test]
fn finished_runs_are_removed_on_request_and_on_record() {
    for env in [TestEnv::with_binary(BINARY), TestEnv::with_binary(BINARY).unprivileged()] {
        env.file("dir/file", "x");
        claim::run(&env, &[], "rm -r dir; mkdir dir; echo y > dir/new").assert_exit(0);
        env.run(["gc", "--older-than", "1d"]).assert_exit(0).assert_stdout("nothing to clean up\n");
        assert_eq!(env.runs().len(), 1);
        std::thread::sleep(Duration::from_millis(20));
        // What it changed is nowhere else, and nobody has decided about it.
        env.run(["gc", "--older-than", "10ms"]).assert_exit(0).assert_stdout_has("kept run ");
        let said = env.run(["gc", "--older-than", "10ms", "--json"]).json();
        assert_eq!(said["kept"].as_array().unwrap().len(), 1, "{said}");
        assert_eq!(env.runs().len(), 1);
        env.run(["gc", "--older-than", "10ms", "--pending"]).assert_exit(0);
        assert!(env.runs().is_empty());
        assert!(env.events().iter().any(|e| e["type"] == "run.removed"));
        env.run(["audit", "verify"]).assert_exit(0);
        env.run(["gc", "--older-than", "soon"]).assert_exit(2);
        env.run(["gc", "--older-than", "1"]).assert_exit(2).assert_stderr_has("as in 90s");
        env.run(["gc", "--pending"]).assert_exit(2);
    }
}

/// What was decided about, or changed nothing, needs no further word to go.
#[test]
fn runs_that_nobody_waits_for_are_removed() {
    let env = TestEnv::with_binary(BINARY);
    claim::run(&env, &[], "echo 1 > applied").assert_exit(0);
    env.run(["apply"]).assert_exit(0);
    claim::run(&env, &[], "echo 1 > thrown").assert_exit(0);
    env.run(["discard"]).assert_exit(0);
    claim::run(&env, &[], "echo 1 > half; echo 2 > rest").assert_exit(0);
    env.run(["apply", "last", "half"]).assert_exit(0);
    claim::run(&env, &[], "true").assert_exit(0);
    std::thread::sleep(Duration::from_millis(20));
    env.run(["gc", "--older-than", "10ms"]).assert_exit(0).assert_stdout_has("kept run ");
    assert_eq!(env.runs().len(), 1, "the one with a pending rest");
    env.run(["discard"]).assert_exit(0);
    env.run(["gc", "--older-than", "10ms"]).assert_exit(0);
    assert!(env.runs().is_empty());
}
