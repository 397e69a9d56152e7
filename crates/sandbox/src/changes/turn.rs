//! One at a time: whoever applies, discards or undoes in a workspace holds its turn.
//!
//! A turn is a file in `applying/`, locked while it is held and removed when it ends well. What stands in
//! it is the operation that was begun, so whatever a crash left unfinished is found by looking at these
//! files, never by guessing from names.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cofferdam_core::id::RunId;
use cofferdam_core::inert::Inert;
use serde::{Deserialize, Serialize};

use crate::state::{StateDir, StateError, make_private_dir, private_file};

/// How long another may take to finish before we give up.
const PATIENCE: Duration = Duration::from_secs(2);

/// The right to change one workspace.
#[derive(Debug)]
pub(crate) struct Turn {
    file: File,
    path: PathBuf,
}

/// What a clean-up does about turns that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// They are somebody else's.
    Pass,
    /// They are waited for, for a moment: afterwards no workspace is half changed.
    Await,
}

/// An operation that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begun {
    pub(crate) run: RunId,
    pub(crate) number: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    #[error(
        "somebody else is applying or undoing changes in {} right now",
        Inert::path(.workspace)
    )]
    Taken { workspace: PathBuf },
    #[error(transparent)]
    State(#[from] StateError),
}

impl Turn {
    /// Waits a moment for its turn.
    pub(crate) fn take(state: &StateDir, workspace: &Path) -> Result<Self, TurnError> {
        let dir = state.applying();
        make_private_dir(&dir)?;
        let name = blake3::hash(workspace.as_os_str().as_bytes()).to_hex();
        let path = dir.join(&name.as_str()[..32]);
        let turn = Self::take_within(&path, PATIENCE)?;
        turn.ok_or_else(|| TurnError::Taken { workspace: workspace.to_owned() })
    }

    /// Turns that somebody left behind. Those in use are not among them; they may be waited for, because who
    /// uses one may be cleaning up in it.
    pub(crate) fn left_behind(state: &StateDir, others: Others) -> Result<Vec<Self>, StateError> {
        let patience = match others {
            Others::Pass => Duration::ZERO,
            Others::Await => PATIENCE,
        };
        let dir = state.applying();
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StateError::io("read", &dir)(error)),
        };
        let mut turns = Vec::new();
        for entry in entries {
            let path = entry.map_err(StateError::io("read", &dir))?.path();
            turns.extend(Self::take_within(&path, patience)?);
        }
        Ok(turns)
    }

    fn take_within(path: &Path, patience: Duration) -> Result<Option<Self>, StateError> {
        let deadline = Instant::now() + patience;
        loop {
            let turn = Self::try_take(path)?;
            if turn.is_some() || Instant::now() >= deadline {
                return Ok(turn);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn try_take(path: &Path) -> Result<Option<Self>, StateError> {
        let file = private_file()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(StateError::io("open", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(StateError::io("lock", path)(error)),
        }
        // Whoever held the lock before us may have removed the file; then it is another by now.
        let ours = file.metadata().map_err(StateError::io("read", path))?.ino();
        let same = fs::metadata(path).is_ok_and(|there| there.ino() == ours);
        Ok(same.then(|| Self { file, path: path.to_owned() }))
    }

    /// What was begun and not finished.
    pub(crate) fn begun(&mut self) -> Result<Option<Begun>, StateError> {
        let mut text = Vec::new();
        let read =
            self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_end(&mut text));
        read.map_err(StateError::io("read", &self.path))?;
        // Half a line was written by one who died before anything else was done.
        Ok(serde_json::from_slice(&text).ok())
    }

    /// Writes down, to stay, what is about to be begun.
    pub(crate) fn begin(&mut self, begun: Begun) -> Result<(), StateError> {
        let text = serde_json::to_vec(&begun)
            .unwrap_or_else(|_| unreachable!("numbers and text always serialise"));
        let written = self
            .file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)))
            .and_then(|_| self.file.write_all(&text))
            .and_then(|()| self.file.sync_all());
        written
            .and_then(|()| File::open(self.path.parent().unwrap_or(Path::new("/")))?.sync_all())
            .map_err(StateError::io("write", &self.path))
    }

    /// What was begun is finished; the turn goes on.
    pub(crate) fn forget(&mut self) -> Result<(), StateError> {
        self.file.set_len(0).map_err(StateError::io("write", &self.path))
    }

    /// Nothing is left unfinished.
    pub(crate) fn end(self) -> Result<(), StateError> {
        fs::remove_file(&self.path).map_err(StateError::io("remove", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_what_was_begun_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let workspace = Path::new("/somewhere");
        let mut turn = Turn::take(&state, workspace).unwrap();
        assert_eq!(turn.begun().unwrap(), None);
        assert!(Turn::left_behind(&state, Others::Pass).unwrap().is_empty());
        assert!(matches!(Turn::take(&state, workspace), Err(TurnError::Taken { .. })));
        assert!(Turn::take(&state, Path::new("/elsewhere")).is_ok());
        let begun = Begun { run: "01jck4s8b7xgpz3m5t0v9yq2rd".parse().unwrap(), number: 3 };
        turn.begin(begun).unwrap();
        drop(turn);
        let mut left = Turn::left_behind(&state, Others::Pass).unwrap();
        let found: Vec<_> = left.iter_mut().filter_map(|turn| turn.begun().unwrap()).collect();
        assert_eq!(found, [begun]);
        left.into_iter().for_each(|turn| turn.end().unwrap());
        assert!(Turn::left_behind(&state, Others::Pass).unwrap().is_empty());
    }

    #[test]
    fn whoever_is_still_at_it_is_waited_for_where_that_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let turn = Turn::take(&state, Path::new("/somewhere")).unwrap();
        assert!(Turn::left_behind(&state, Others::Pass).unwrap().is_empty());
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(turn);
        });
        assert_eq!(Turn::left_behind(&state, Others::Await).unwrap().len(), 1);
        other.join().unwrap();
    }
}
