//! What this program writes down as it goes, and reads again after a crash.

use std::fs;
use std::path::{Path, PathBuf};

use cofferdam_core::chain::Verifier;
use cofferdam_core::changes::ContentHash;
use cofferdam_core::id::RunId;
use cofferdam_sandbox::changes::{Ledger, looks, recover};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::search;
use cofferdam_sandbox::state::StateDir;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The first byte chooses the file. What was cut off or written by somebody else is refused or left out, and never ends
/// the program.
pub fn journal(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    match choice % 7 {
        0 => audit_log(bytes),
        1 => operation(bytes),
        2 => ledger(bytes),
        3 => decisions(bytes),
        4 => checkpoints(bytes),
        5 => record(bytes),
        _ => unfinished(bytes),
    }
}

/// What is accepted is a chain, so nothing but what was linked is.
fn audit_log(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else { return };
    let mut verifier = Verifier::new(Vec::new());
    let held = text.lines().take_while(|line| verifier.feed(line).is_ok()).count();
    if held == text.lines().count() {
        // The empty log holds, and a line that holds carries the hash of all before it.
        verifier.finish().expect("a log whose lines all hold");
    }
}

/// The journal of an apply or an undo: what there is to take back is the same, however often it is looked at.
fn operation(bytes: &[u8]) {
    let dir = place();
    write(&dir.path().join("journal"), bytes);
    if let Ok(left) = recover::steps_left(dir.path()) {
        assert_eq!(recover::steps_left(dir.path()).ok(), Some(left));
    }
}

/// A ledger as it is, and with a hash that fits: what it says of an apply is about the entries of that apply.
fn ledger(bytes: &[u8]) {
    let dir = place();
    let path = dir.path().join("ledger.json");
    write(&path, bytes);
    drop(Ledger::read(dir.path(), ContentHash::of(bytes)));
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else { return };
    let Ok(manifest) = serde_json::from_value(body["manifest"].clone()) else { return };
    let hash = ContentHash::of(body.to_string().as_bytes()).to_string();
    write(&path, json!({ "ledger": body, "hash": hash }).to_string().as_bytes());
    let Ok(ledger) = Ledger::read(dir.path(), manifest) else { return };
    if let Some((apply, left)) = ledger.latest_apply() {
        assert!(left.iter().take(8).all(|entry| apply.entries.contains(entry)), "{ledger:?}");
    }
}

/// The history of a loop: decisions are numbered from 1, without a gap.
fn decisions(bytes: &[u8]) {
    let (dir, state, id) = state();
    let meta = json!({
        "version": 1, "id": id, "workspace": "/w", "file": "loop.yaml", "hash": "0", "actor": "x",
        "started_at": "2026-01-02T03:04:05.000006Z",
    });
    let place = dir.path().join("loops").join(id.to_string());
    write(&place.join("loop.json"), meta.to_string().as_bytes());
    write(&place.join("loop.yaml"), b"");
    assert!(search::summary(&state, "last").expect("a loop").history.is_empty());
    write(&place.join("history.jsonl"), bytes);
    if let Ok(summary) = search::summary(&state, "last") {
        let numbers = summary.history.iter().map(|line| line.trial.iteration);
        assert!(numbers.eq(1..=summary.history.len() as u64), "{:?}", summary.history);
    }
}

/// What was looked at in a session.
fn checkpoints(bytes: &[u8]) {
    let dir = place();
    write(&dir.path().join("looks"), bytes);
    drop(looks(dir.path()));
}

/// A run's record: what is read is written as what is read the same.
fn record(bytes: &[u8]) {
    let (dir, state, id) = state();
    let path = dir.path().join("runs").join(id.to_string()).join("record.json");
    write(&path, bytes);
    let Ok(record) = Store::new(&state).record(id) else { return };
    let written = serde_json::to_value(&record).expect("a record is written as JSON");
    write(&path, written.to_string().as_bytes());
    let again = Store::new(&state).record(id).expect("what was written can be read");
    assert_eq!(serde_json::to_value(&again).ok(), Some(written));
}

/// A run or a session whose owner died: its mark in the first line, its plan in the others.
fn unfinished(bytes: &[u8]) {
    let (dir, state, id) = state();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    write(&dir.path().join("active").join(id.to_string()), &bytes[..end]);
    write(&dir.path().join("runs").join(id.to_string()).join("plan.json"), &bytes[end..]);
    if let Ok(record) = Store::new(&state).record(id) {
        assert_eq!(record.run, id);
    }
}

fn place() -> TempDir {
    tempfile::tempdir().expect("a place for files")
}

fn state() -> (TempDir, StateDir, RunId) {
    let dir = place();
    let state = StateDir::open(dir.path()).expect("a state directory");
    (dir, state, "01jck4s8b7xgpz3m5t0v9yq2rd".parse().expect("an id"))
}

fn write(path: &Path, bytes: &[u8]) {
    let dir = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    fs::create_dir_all(dir).and_then(|()| fs::write(path, bytes)).expect("a file can be written");
}
