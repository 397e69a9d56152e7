//! What a runner has hold of, on disk: one small file an attempt, so that a life after a `kill -9` knows what to report.
//!
//! `<state>/runner/<name>/<task>.<attempt>.json`, made before anything is done for the attempt, and removed when its end is reported. What becomes
//! of it is added, a line each, and the last whole line counts. Nothing is synced: what a power failure takes, the server
//! notices when the lease is over.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cofferdam_core::control::report::Held;
use cofferdam_core::id::RunId;
use serde::{Deserialize, Serialize};

use super::artifacts::Wanted;

#[derive(Debug, Clone)]
pub(super) struct Journal {
    dir: PathBuf,
    /// Held while this life lasts.
    _lock: Arc<File>,
}

/// An attempt as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Line {
    #[serde(flatten)]
    pub(super) held: Held,
    pub(super) fence: String,
    /// The next number of a report is higher than this.
    pub(super) seq: u64,
    /// The run, once the server knows that it starts.
    pub(super) run: Option<RunId>,
    /// Whether the server has taken some of its output.
    #[serde(default)]
    pub(super) is_heard: bool,
    /// What it is to leave.
    #[serde(default, skip_serializing_if = "Wanted::is_nothing")]
    pub(super) wanted: Wanted,
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot use {path}")]
    Io { path: PathBuf, source: io::Error },
    #[error("a runner named {name:?} is running on this host already: give this one another name")]
    Taken { name: String },
    #[error(
        "{name:?} is no name for a runner: use letters, digits, `-`, `_` and `.`, and begin with a letter or a digit"
    )]
    Name { name: String },
}

/// What is written down of one attempt, open for more.
#[derive(Debug)]
pub(super) struct Note {
    path: PathBuf,
    file: File,
}

impl Note {
    pub(super) fn write(&self, line: &Line) -> Result<(), JournalError> {
        let mut bytes = serde_json::to_vec(line)
            .unwrap_or_else(|_| unreachable!("a line is plain text and numbers"));
        bytes.push(b'\n');
        // One call a line, so that nothing but a full disk can leave half of one.
        let written = (&self.file).write_all(&bytes);
        written.map_err(|source| JournalError::Io { path: self.path.clone(), source })
    }
}

const LOCK: &str = "lock";

impl Journal {
    pub(super) fn open(state: &Path, name: &str) -> Result<Self, JournalError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_good = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.len() <= 100
            && name.chars().all(plain);
        if !is_good {
            return Err(JournalError::Name { name: name.to_owned() });
        }
        let dir = state.join("runner").join(name);
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| JournalError::Io { path, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(io(&dir))?;
        let path = dir.join(LOCK);
        let lock = File::options().create(true).append(true).mode(0o600).open(&path);
        let lock = lock.map_err(io(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { dir, _lock: Arc::new(lock) }),
            Err(fs::TryLockError::WouldBlock) => Err(JournalError::Taken { name: name.to_owned() }),
            Err(fs::TryLockError::Error(source)) => Err(JournalError::Io { path, source }),
        }
    }

    /// Writes down that an attempt is held.
    pub(super) fn begin(&self, line: &Line) -> Result<Note, JournalError> {
        let path = self.path(line.held);
        let file = File::options().create(true).append(true).mode(0o600).open(&path);
        let file = file.map_err(|source| JournalError::Io { path: path.clone(), source })?;
        let note = Note { path, file };
        note.write(line)?;
        Ok(note)
    }

    /// One that is not there was never written.
    pub(super) fn forget(&self, held: Held) -> Result<(), JournalError> {
        let path = self.path(held);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(JournalError::Io { path, source })
            }
            _ => Ok(()),
        }
    }

    /// What a life before this one left. What cannot be read was not written to its end, and nothing was begun for it.
    pub(super) fn left(&self) -> Result<Vec<Line>, JournalError> {
        let failed = |source| JournalError::Io { path: self.dir.clone(), source };
        let mut lines = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let bytes = fs::read(&path).map_err(failed)?;
            let written = bytes.split(|byte| *byte == b'\n').rev();
            match written.filter_map(|line| serde_json::from_slice(line).ok()).next() {
                Some(line) => lines.push(line),
                None => fs::remove_file(&path).map_err(failed)?,
            }
        }
        Ok(lines)
    }

    fn path(&self, held: Held) -> PathBuf {
        self.dir.join(format!("{}.{}.json", held.task, held.attempt))
    }
}

#[cfg(test)]
mod tests {
    use cofferdam_core::control::id::TaskId;

    use super::*;

    #[test]
    fn what_was_held_is_found_by_the_next_and_only_one_lives_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let held = |n| Held { task: TaskId::from_parts(1, n), attempt: 2 };
        let line = |n| Line {
            held: held(n),
            fence: "f".to_owned(),
            seq: 3,
            run: None,
            is_heard: false,
            wanted: Wanted { paths: vec!["a/b".to_owned()], result: true },
        };
        let begun = |n| Line { seq: 1003, run: Some(RunId::from_parts(1, 1)), ..line(n) };
        {
            let journal = Journal::open(dir.path(), "a").unwrap();
            assert!(matches!(Journal::open(dir.path(), "a"), Err(JournalError::Taken { .. })));
            Journal::open(dir.path(), "b").unwrap();
            let note = journal.begin(&line(1)).unwrap();
            note.write(&begun(1)).unwrap();
            (&note.file).write_all(b"{\"task\":").unwrap();
            journal.begin(&line(2)).unwrap();
            journal.forget(held(2)).unwrap();
            journal.forget(held(2)).unwrap();
        }
        fs::write(dir.path().join("runner/a/x.1.json"), "{").unwrap();
        let journal = Journal::open(dir.path(), "a").unwrap();
        assert_eq!(journal.left().unwrap(), [begun(1)]);
        for name in ["", "../x", "a/b", ".a", "ä"] {
            assert!(matches!(Journal::open(dir.path(), name), Err(JournalError::Name { .. })));
        }
    }
}
