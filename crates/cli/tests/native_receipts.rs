//! A sandbox tries what is forbidden in it before the command, says so in the receipt, and stops where it succeeds.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use cofferdam_testkit::{TestEnv, claim};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

const QUICK: [&str; 7] = [
    "write_outside",
    "reach_network",
    "signal_others",
    "gain_capability",
    "raise_limit",
    "open_blocked",
    "reach_engine",
];

/// All that was tried in the newest run, by name.
fn probes(env: &TestEnv) -> Vec<Value> {
    let receipt = env.run(["show", "--receipt", "--json"]).assert_exit(0).json();
    let probes = |held: &Value| held["probes"].as_array().cloned().unwrap_or_default();
    receipt.as_array().unwrap().iter().flat_map(probes).collect()
}

fn acts(probes: &[Value]) -> Vec<&str> {
    probes.iter().map(|probe| probe["act"].as_str().unwrap()).collect()
}

#[test]
fn what_was_tried_stands_in_the_receipt() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file(".env", "TOKEN=1");
        claim::run(env, &[], "true").assert_exit(0);
        let tried = probes(env);
        for act in QUICK {
            assert!(acts(&tried).contains(&act), "{act} in {tried:?}");
        }
        for probe in &tried {
            assert!(!probe["answer"].as_str().unwrap().is_empty(), "{probe}");
            assert!(probe["again"].is_null(), "{probe}");
        }
        let shown = env.run(["show", "--receipt"]).assert_exit(0).stdout_text().into_owned();
        assert!(shown.contains("tried to reach a network: 192.0.2.1"), "{shown}");
        // The receipt is in the chain, by its hash and with the record.
        let started = env.events().into_iter().rfind(|event| event["type"] == "sandbox.started");
        assert_eq!(started.unwrap()["receipt"].as_str().map(str::len), Some(64));
        env.run(["audit", "verify"]).assert_exit(0);
    });
}

#[test]
fn a_receipt_that_was_changed_is_found() {
    let env = TestEnv::with_binary(BINARY);
    claim::run(&env, &[], "true").assert_exit(0);
    env.run(["audit", "verify"]).assert_exit(0);
    let path = env.run_dir("last").join("record.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replacen("\"write_outside\"", "\"make_calls\"", 1);
    assert_ne!(changed, text);
    std::fs::write(&path, changed).unwrap();
    env.run(["audit", "verify"]).assert_exit(1).assert_stderr_has("record.json");
}

#[test]
fn all_of_it_is_tried_where_that_is_asked_for() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file(".env", "TOKEN=1");
        env.file(".env.local", "TOKEN=2");
        claim::run(env, &["--receipt", "full"], "true").assert_exit(0);
        let tried = probes(env);
        assert!(acts(&tried).contains(&"make_calls"), "{tried:?}");
        claim::run(env, &["--paranoid"], "exit 7").assert_exit(7);
        let tried = probes(env);
        assert!(tried.len() > QUICK.len() && tried.iter().all(|probe| probe["again"] == true));
        assert!(!env.events().iter().any(|event| event["type"] == "sandbox.violation"));
        // A host file that demands it is not to be talked down.
        env.host_config("sandbox: { receipt: full }");
        claim::run(env, &[], "true").assert_exit(0);
        assert!(acts(&probes(env)).contains(&"make_calls"));
        claim::run(env, &["--receipt", "quick"], "true").assert_exit(125);
        env.host_config("sandbox: { receipt: fully }");
        claim::run(env, &[], "true").assert_exit(125).assert_stderr_has("quick");
    });
}

#[test]
fn a_command_that_leaves_others_behind_is_tried_after_all_the_same() {
    let env = TestEnv::with_binary(BINARY);
    let script = "(setsid sleep 300 >/dev/null 2>&1 &); exit 3";
    claim::run(&env, &["--paranoid"], script).assert_exit(3);
    assert!(probes(&env).iter().all(|probe| probe["again"] == true));
}

#[test]
fn what_the_command_made_is_tried_after_it() {
    let env = TestEnv::with_binary(BINARY);
    claim::run(&env, &["--paranoid"], "mkdir -p /tmp/made").assert_exit(0);
    assert!(probes(&env).iter().all(|probe| probe["again"] == true));
}

#[test]
fn where_it_cannot_be_tried_it_is_refused() {
    let env = TestEnv::with_binary(BINARY);
    let local = ["run", "--sandbox", "local", "--receipt", "full", "--", "true"];
    env.run(local).assert_exit(125).assert_stderr_has("forbids nothing");
    let mut words = vec!["session", "start", "--paranoid"];
    words.extend(claim::sandbox(&env));
    let done = env.run(words);
    assert_ne!(done.code(), Some(0));
    done.assert_stderr_has("--receipt full");
    let both = ["run", "--receipt", "full", "--paranoid", "--", "true"];
    env.run(both).assert_exit(125);
}

/// A hole, and the guarantee that is found not to hold by trying.
const HOLES: &[(&str, &[&str], &str)] = &[
    ("probe-write", &[], "readonly_root"),
    ("probe-network", &[], "network_none"),
    ("probe-process", &[], "privileges"),
    ("probe-socket", &[], "readonly_root"),
    ("probes-after", &["--paranoid"], "readonly_root"),
];

/// Holes of the confinement itself, which an engine makes in its own way.
const OWN_HOLES: &[(&str, &[&str], &str)] = &[
    ("network,read-back", &[], "network_none"),
    ("capabilities,identity,read-back", &[], "privileges"),
    ("core-limit", &[], "privileges"),
    ("blocked", &[], "blocked_paths"),
    ("filter,read-back", &["--receipt", "full"], "seccomp"),
];

#[track_caller]
fn stops(env: &TestEnv, hole: &str, flags: &[&str], guarantee: &str) {
    env.file(".env", "TOKEN=1");
    let mut command = env.cofferdam();
    command.args(claim::words(env)).args(flags);
    // In a container the first process is started by the engine, and has the command's variables.
    let setting = format!("TEST_WEAKEN={hole}");
    match env.backend().engine() {
        Some(_) => command.args(["--env", &setting]),
        None => command.env("TEST_WEAKEN", hole),
    };
    command.args(["--", "sh", "-c", "mkdir -p /tmp/made; echo ran"]);
    let done = env.finish(command);
    done.assert_exit(125).assert_stderr_has("does not hold");
    if hole != "probes-after" {
        done.assert_stdout("");
    }
    assert_eq!(env.latest_record()["outcome"]["class"], "sandbox_failure", "{hole}");
    let events = env.events();
    let told = events.iter().rfind(|event| event["type"] == "sandbox.violation");
    assert_eq!(told.unwrap_or_else(|| panic!("{hole}"))["guarantee"], guarantee, "{hole}");
    env.run(["audit", "verify"]).assert_exit(0);
}

#[test]
#[cfg_attr(not(feature = "weaken"), ignore = "needs a build with holes: cargo xtask test")]
fn an_act_that_succeeds_stops_the_run() {
    for (hole, flags, guarantee) in HOLES {
        stops(&TestEnv::with_binary(BINARY), hole, flags, guarantee);
    }
}

mod native_only {
    use super::*;

    #[test]
    #[cfg_attr(not(feature = "weaken"), ignore = "needs a build with holes: cargo xtask test")]
    fn a_confinement_with_a_hole_stops_the_run() {
        for (hole, flags, guarantee) in OWN_HOLES {
            stops(&TestEnv::with_binary(BINARY), hole, flags, guarantee);
        }
    }

    /// By reading and writing alone a directory looks the same, hidden or not.
    #[test]
    #[cfg_attr(not(feature = "weaken"), ignore = "needs a build with holes: cargo xtask test")]
    fn a_directory_that_is_not_hidden_stops_the_run() {
        let env = TestEnv::with_binary(BINARY);
        env.file("secrets/key", "TOKEN=1");
        env.host_config("sandbox: { blocked: [secrets] }");
        // Nothing else is hidden there: what cannot be written needs no placeholders.
        let run = |hole: &str| {
            let mut command = env.cofferdam();
            command.args(claim::words(&env)).args(["--mode", "readonly", "--", "ls", "secrets"]);
            command.env("TEST_WEAKEN", hole);
            env.finish(command)
        };
        run("").assert_exit(0).assert_stdout("");
        assert!(acts(&probes(&env)).contains(&"open_blocked"));
        run("blocked").assert_exit(125).assert_stdout("").assert_stderr_has("secrets");
    }
}
