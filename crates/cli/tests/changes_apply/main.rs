//! Apply, undo and discard, one claim a file. Every change set is that of a real run.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod conflicts;
mod copies;
mod crashes;
mod decisions;
mod elsewhere;
mod hunks;
mod ignored;
mod ledger;
mod merges;
mod moves;
mod other_file_system;
mod races;
mod recording;
mod rights;
mod round_trip;
mod sessions;
mod tampering;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cofferdam_testkit::claim::stage;
use cofferdam_testkit::{Finished, TestEnv, TreeHash, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Tries a claim as whoever runs the tests, and as an ordinary user.
fn both(claim: impl Fn(&TestEnv)) {
    claim::as_root_and_as_user(BINARY, claim);
}

fn env() -> TestEnv {
    TestEnv::with_binary(BINARY)
}

fn tree(env: &TestEnv) -> TreeHash {
    env.tree_hash(env.workspace())
}

/// Everything that can be applied without a decision by class.
const ALL: [&str; 15] = [
    "apply",
    "--allow-class=executable",
    "--allow-class=build-scripts",
    "--allow-class=git-internals",
    "--allow-class=escaping-symlink",
    "--allow-class=ci",
    "--allow-class=shell-env",
    "--allow-class=editor",
    "--allow-class=package-scripts",
    "--allow-class=agent-settings",
    "--allow-class=commit-hooks",
    "--allow-class=interpreter-startup",
    "--allow-class=git-attributes",
    "--allow-class=secret",
    "--allow-budget",
];

fn apply(env: &TestEnv) -> Finished {
    env.run(ALL)
}

fn text(env: &TestEnv, name: &str) -> String {
    fs::read_to_string(env.workspace().join(name)).unwrap()
}

/// Names in the workspace, so that a leftover is seen.
fn names(env: &TestEnv) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(env.workspace())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Inode and mtime: that it is the very file.
fn identity(path: &Path) -> (u64, i64, i64) {
    let seen = fs::symlink_metadata(path).unwrap();
    (seen.ino(), seen.mtime(), seen.mtime_nsec())
}

/// How many events there are of a type.
fn events(env: &TestEnv, kind: &str) -> usize {
    env.events().iter().filter(|event| event["type"] == kind).count()
}

/// No operation is left unfinished, and the log holds.
#[track_caller]
fn assert_settled(env: &TestEnv) {
    let turns = fs::read_dir(env.state_dir().join("applying"));
    let turns: Vec<_> = turns.into_iter().flatten().map(|t| t.unwrap().file_name()).collect();
    assert!(turns.is_empty(), "{turns:?}");
    assert!(!names(env).iter().any(|name| name.starts_with(".cofferdam")), "{:?}", names(env));
    env.run(["audit", "verify"]).assert_exit(0);
}

/// The newest run's directory.
fn run_dir(env: &TestEnv) -> std::path::PathBuf {
    env.state_dir().join("runs").join(env.runs().pop().unwrap())
}
