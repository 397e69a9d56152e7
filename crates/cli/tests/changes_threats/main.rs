//! What an agent would try with the changes that it leaves, each attempt whole: made in a sandbox or planted
//! in what a sandbox left, judged, and applied or refused. Refused means that nothing of the host changed,
//! and each refusal has a twin that is let through. `docs/threats-to-changes.md` lists all of them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod contents;
mod handoff;
mod names;
mod planted;
mod size;

use std::fs;
use std::path::PathBuf;

use cofferdam_testkit::claim::stage;
use cofferdam_testkit::{Finished, TestEnv, TreeHash, claim};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

fn env() -> TestEnv {
    TestEnv::with_binary(BINARY)
}

/// Tries a claim as whoever runs the tests, and as an ordinary user.
fn both(claim: impl Fn(&TestEnv)) {
    claim::as_root_and_as_user(BINARY, claim);
}

fn tree(env: &TestEnv) -> TreeHash {
    env.tree_hash(env.workspace())
}

fn text(env: &TestEnv, name: &str) -> String {
    fs::read_to_string(env.workspace().join(name)).unwrap()
}

fn names(env: &TestEnv) -> Vec<String> {
    let names = fs::read_dir(env.workspace()).unwrap();
    let mut names: Vec<_> =
        names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Refused for want of a decision: nothing changed, and there is an event.
#[track_caller]
fn refused(env: &TestEnv, args: &[&str]) -> Finished {
    let (before, events) = (tree(env), env.events().len());
    let done = env.run(["apply"].iter().chain(args));
    done.assert_exit(3);
    assert_eq!(tree(env), before, "refused, and yet something changed");
    let new = env.events().split_off(events);
    let is_told =
        |event: &Value| event["type"] == "changes.refused" || event["type"] == "changes.conflict";
    assert!(new.iter().any(is_told), "{new:?}");
    done
}

/// What the gate says of a path.
#[track_caller]
fn judged(env: &TestEnv, path: &str) -> Value {
    let all = env.run(["gate", "--json"]).json();
    let entries = all["entries"].as_array().unwrap();
    let found = entries.iter().find(|entry| entry["path"] == path);
    found.unwrap_or_else(|| panic!("{path:?} in {all:#}")).clone()
}

/// The upper directory of a run that was killed at work, for the test to plant in what no program can make.
fn killed_at_work(env: &TestEnv, script: &str) -> PathBuf {
    let mut child = claim::spawn(env, &[], &format!("set -e; {script}; : > ready; sleep 60"));
    let upper = || env.runs().last().map(|run| env.run_dir(run).join("upper"));
    let is_ready = || upper().is_some_and(|upper| upper.join("ready").exists());
    assert!(cofferdam_testkit::wait_until(std::time::Duration::from_secs(20), is_ready));
    child.kill().unwrap();
    child.wait().unwrap();
    upper().unwrap()
}
