//! What became of a set's entries: `ledger.json` beside the manifest.
//!
//! The manifest is never written to. The ledger is a list of operations, and how an entry stands is what
//! they add up to, so that there is nothing in it that could contradict itself. It carries a hash of
//! itself: one that was changed by hand is refused, and not guessed at.
//!
//! Locking: whoever writes holds the workspace's [`Turn`](super::turn::Turn).
//! Compatibility: `version` goes up when an older reader would misunderstand; a newer one is refused.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::{ContentHash, Node};
use cofferdam_core::stamp::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ChangeSet;
use super::ranges::Ranges;
use crate::state::{StateError, write_atomically};

pub(super) const LEDGER: &str = "ledger.json";
const VERSION: u32 = 1;

/// The ledger of one set.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    body: Body,
    applied: Ranges,
    discarded: Ranges,
    partly: BTreeMap<u64, Node>,
}

/// How an entry stands. Entries are numbered from 0 in the manifest's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryState {
    Pending,
    /// Some hunks of it were applied: this is what was put there. The rest is pending.
    Partly {
        put: Node,
    },
    Applied,
    Discarded,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    version: u32,
    /// Of the manifest that the numbers are about.
    manifest: ContentHash,
    operations: Vec<Operation>,
}

/// Something that was done with entries of the set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    pub number: u64,
    pub kind: OperationKind,
    pub at: Stamp,
    pub entries: Ranges,
    /// Those of which only some hunks were put, and what was put.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partly: BTreeMap<u64, Node>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    Apply,
    Discard,
    /// Of the apply of that number.
    Undo(u64),
}

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is not what was written: {why}", path.display())]
    Tampered { path: PathBuf, why: String },
    #[error("{} has version {found}, and this program knows only {VERSION}", path.display())]
    Newer { path: PathBuf, found: u64 },
    #[error(transparent)]
    State(#[from] StateError),
}

impl Ledger {
    /// The ledger of a set; an empty one where nothing was done yet.
    pub fn load(set: &ChangeSet) -> Result<Self, LedgerError> {
        Self::read(set.dir(), set.hash())
    }

    /// The same by the directory of the set and the hash of its manifest.
    pub fn read(dir: &Path, manifest: ContentHash) -> Result<Self, LedgerError> {
        let path = dir.join(LEDGER);
        let body = match fs::read(&path) {
            Ok(bytes) => parse(&path, &bytes, manifest)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Body { version: VERSION, manifest, operations: Vec::new() }
            }
            Err(source) => return Err(LedgerError::Io { path, source }),
        };
        let mut ledger = Self {
            path,
            body,
            applied: Ranges::default(),
            discarded: Ranges::default(),
            partly: BTreeMap::new(),
        };
        ledger.add_up();
        Ok(ledger)
    }

    pub fn state(&self, index: u64) -> EntryState {
        if self.discarded.contains(index) {
            EntryState::Discarded
        } else if let Some(put) = self.partly.get(&index) {
            EntryState::Partly { put: put.clone() }
        } else if self.applied.contains(index) {
            EntryState::Applied
        } else {
            EntryState::Pending
        }
    }

    pub fn operations(&self) -> &[Operation] {
        &self.body.operations
    }

    /// The latest apply of which something still stands, and which of its entries do.
    pub fn latest_apply(&self) -> Option<(&Operation, Ranges)> {
        let applies = self.body.operations.iter().rev().filter(|o| o.kind == OperationKind::Apply);
        applies.map(|apply| (apply, self.standing(apply))).find(|(_, left)| !left.is_empty())
    }

    /// Entries of which the workspace has all or some, whatever became of the rest.
    pub(super) fn at_home(&self) -> u64 {
        self.applied.len()
    }

    /// Whether something of an apply still stands.
    pub(super) fn stands(&self, apply: &Operation) -> bool {
        !self.standing(apply).is_empty()
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.body.operations.iter().any(|operation| operation.number == number)
    }

    /// A number that no operation has had: the last there is was refused.
    pub(super) fn next_number(&self) -> u64 {
        self.body.operations.last().map_or(1, |operation| operation.number + 1)
    }

    /// For the audit log.
    pub(super) fn hash(&self) -> String {
        hash_of(&self.as_value())
    }

    fn as_value(&self) -> Value {
        serde_json::to_value(&self.body)
            .unwrap_or_else(|_| unreachable!("numbers and text always serialise"))
    }

    /// Adds an operation and writes the ledger, to stay.
    pub(super) fn add(&mut self, operation: Operation) -> Result<(), LedgerError> {
        self.body.operations.push(operation);
        self.add_up();
        let body = self.as_value();
        let hash = hash_of(&body);
        let text = format!("{:#}\n", serde_json::json!({ "ledger": body, "hash": hash }));
        write_atomically(&self.path, text.as_bytes())?;
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        let synced = synced.and_then(|()| File::open(dir)?.sync_all());
        Ok(synced.map_err(StateError::io("write", &self.path))?)
    }

    /// Entries of an apply that no undo took back.
    fn standing(&self, apply: &Operation) -> Ranges {
        let undos = self.body.operations.iter();
        let undos = undos.filter(|undo| undo.kind == OperationKind::Undo(apply.number));
        undos.fold(apply.entries.clone(), |left, undo| left.without(&undo.entries))
    }

    fn add_up(&mut self) {
        let (mut applied, mut discarded) = (Ranges::default(), Ranges::default());
        let mut partly = BTreeMap::new();
        for operation in &self.body.operations {
            match operation.kind {
                OperationKind::Apply => {
                    let standing = self.standing(operation);
                    partly.retain(|index, _| !standing.contains(*index));
                    let some =
                        operation.partly.iter().filter(|(index, _)| standing.contains(**index));
                    partly.extend(some.map(|(index, put)| (*index, put.clone())));
                    applied = applied.union(&standing);
                }
                OperationKind::Discard => discarded = discarded.union(&operation.entries),
                OperationKind::Undo(_) => {}
            }
        }
        (self.applied, self.discarded, self.partly) = (applied, discarded, partly);
    }
}

/// Hashes that the log may have for the ledger in `dir`: of all of it, and of all but the last operation,
/// whose event follows the ledger and may not be written yet.
pub(crate) fn known_hashes(dir: &Path) -> Option<[String; 2]> {
    let bytes = fs::read(dir.join(LEDGER)).ok()?;
    let mut value: Value = serde_json::from_slice(&bytes).ok()?;
    // Asked by name with brackets, what is no object would end the program.
    let mut body = value.get_mut("ledger")?.take();
    let whole = hash_of(&body);
    body.get_mut("operations")?.as_array_mut()?.pop();
    Some([whole, hash_of(&body)])
}

fn parse(path: &Path, bytes: &[u8], manifest: ContentHash) -> Result<Body, LedgerError> {
    let tampered = |why: String| LedgerError::Tampered { path: path.to_owned(), why };
    let mut value: Value = serde_json::from_slice(bytes).map_err(|e| tampered(e.to_string()))?;
    let body = value.get_mut("ledger").map(Value::take).unwrap_or_default();
    if let Some(found) = body["version"].as_u64().filter(|found| *found > u64::from(VERSION)) {
        return Err(LedgerError::Newer { path: path.to_owned(), found });
    }
    if value["hash"].as_str() != Some(&hash_of(&body)) {
        return Err(tampered("its hash is another".to_owned()));
    }
    let body: Body = serde_json::from_value(body).map_err(|e| tampered(e.to_string()))?;
    if body.manifest != manifest {
        return Err(tampered("it belongs to another manifest".to_owned()));
    }
    let last = body.operations.last().map(|operation| operation.number);
    if !body.operations.is_sorted_by(|a, b| a.number < b.number) || last == Some(u64::MAX) {
        return Err(tampered("its operations are out of order".to_owned()));
    }
    Ok(body)
}

fn hash_of(body: &Value) -> String {
    ContentHash::of(body.to_string().as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(number: u64, kind: OperationKind, entries: std::ops::Range<u64>) -> Operation {
        let at = "2026-01-02T03:04:05.000006Z".parse().unwrap();
        Operation { number, kind, at, entries: entries.collect(), partly: BTreeMap::new() }
    }

    fn manifest() -> ContentHash {
        ContentHash::of(b"manifest")
    }

    fn ledger(dir: &Path) -> Ledger {
        Ledger::read(dir, manifest()).unwrap()
    }

    #[test]
    fn states_are_what_the_operations_add_up_to() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = ledger(dir.path());
        assert_eq!((first.state(0), first.next_number()), (EntryState::Pending, 1));
        first.add(operation(1, OperationKind::Apply, 0..6)).unwrap();
        first.add(operation(2, OperationKind::Discard, 8..9)).unwrap();
        first.add(operation(3, OperationKind::Undo(1), 2..4)).unwrap();
        let read = ledger(dir.path());
        let states: Vec<_> = (0..9).map(|index| read.state(index)).collect();
        use EntryState::{Applied as A, Discarded as D, Pending as P};
        assert_eq!(states, [A, A, P, P, A, A, P, P, D]);
        let (apply, left) = read.latest_apply().unwrap();
        assert_eq!((apply.number, left), (1, [0, 1, 4, 5].into_iter().collect()));
    }

    #[test]
    fn a_part_of_a_file_is_taken_back_to_the_part_before() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = ledger(dir.path());
        let put = |target: &str| Node::Symlink { target: target.into() };
        let mut some = operation(1, OperationKind::Apply, 0..1);
        some.partly.insert(0, put("one"));
        ledger.add(some).unwrap();
        assert_eq!(ledger.state(0), EntryState::Partly { put: put("one") });
        ledger.add(operation(2, OperationKind::Apply, 0..1)).unwrap();
        assert_eq!(ledger.state(0), EntryState::Applied);
        ledger.add(operation(3, OperationKind::Undo(2), 0..1)).unwrap();
        assert_eq!(ledger.state(0), EntryState::Partly { put: put("one") });
        ledger.add(operation(4, OperationKind::Undo(1), 0..1)).unwrap();
        assert_eq!(ledger.state(0), EntryState::Pending);
    }

    #[test]
    fn a_ledger_that_was_changed_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        ledger(dir.path()).add(operation(1, OperationKind::Discard, 0..3)).unwrap();
        let path = dir.path().join(LEDGER);
        let text = fs::read_to_string(&path).unwrap();
        for (what, with) in [("discard", "apply"), ("\"number\": 1", "\"number\": 2"), ("}", "")] {
            fs::write(&path, text.replacen(what, with, 1)).unwrap();
            let error = Ledger::read(dir.path(), manifest()).unwrap_err();
            assert!(matches!(error, LedgerError::Tampered { .. }), "{what}: {error}");
        }
        fs::write(&path, text.replacen("\"version\": 1", "\"version\": 2", 1)).unwrap();
        let error = Ledger::read(dir.path(), manifest()).unwrap_err();
        assert!(matches!(error, LedgerError::Newer { found: 2, .. }), "{error}");
        for foreign in
            ["[]", "1", "\"x\"", "{}", "{\"ledger\": []}", "{\"ledger\": {\"operations\": 1}}"]
        {
            fs::write(&path, foreign).unwrap();
            let error = Ledger::read(dir.path(), manifest()).unwrap_err();
            assert!(matches!(error, LedgerError::Tampered { .. }), "{foreign}: {error}");
            assert_eq!(known_hashes(dir.path()), None, "{foreign}");
        }
        fs::write(&path, text).unwrap();
        let other = Ledger::read(dir.path(), ContentHash::of(b"other")).unwrap_err();
        assert!(matches!(other, LedgerError::Tampered { .. }));
    }
}
