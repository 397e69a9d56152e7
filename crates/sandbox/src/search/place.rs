//! What a loop keeps on disk: `loops/<id>/` with the file as it was (`loop.yaml`), what it is about
//! (`loop.json`), what was decided (`history.jsonl`), the inputs of iterations under way, and how it ended.
//!
//! Locking: `lock` in it is held by the process that runs the loop. Compatibility: `loop.json` has a version.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cofferdam_core::id::RunId;
use cofferdam_core::paths::ExactPath;
use cofferdam_core::search::{History, Stop, Trial};
use cofferdam_core::stamp::Stamp;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::state::{StateDir, StateError, make_private_dir, private_file, write_atomically};

const VERSION: u32 = 1;
const META: &str = "loop.json";
const FILE: &str = "loop.yaml";
const HISTORY: &str = "history.jsonl";
const STOPPED: &str = "stopped.json";
const LOCK: &str = "lock";

/// What a loop is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub version: u32,
    pub id: RunId,
    pub workspace: ExactPath,
    /// The file's name, as it was given.
    pub file: String,
    /// BLAKE3 of the file and of the flags beside it: what makes it the same loop.
    pub hash: String,
    pub actor: String,
    pub started_at: Stamp,
}

/// A decision as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    #[serde(flatten)]
    pub trial: Trial,
    /// In their order: generator, run, scorer.
    pub runs: Vec<RunId>,
    /// Time that the loop had spent by then.
    pub elapsed_ms: u64,
    pub at: Stamp,
}

#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error("loop {0} is being run by another process")]
    Taken(RunId),
    #[error("{}:{line}: not a decision of this program", path.display())]
    Damaged { path: PathBuf, line: usize },
    #[error("there is no loop {0:?}")]
    Unknown(String),
}

/// Which loop is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub workspace: &'a Path,
    pub file: &'a str,
    pub text: &'a str,
    /// What else makes it another loop.
    pub flags: &'a str,
    pub actor: &'a str,
}

/// The directory of a loop that this process runs.
#[derive(Debug)]
pub struct Place {
    pub meta: Meta,
    dir: PathBuf,
    history: File,
    _lock: File,
}

/// A place, and what was decided there before.
#[derive(Debug)]
pub struct Opened {
    pub place: Place,
    pub lines: Vec<Line>,
    /// Whether it goes on with an earlier one.
    pub is_resumed: bool,
}

/// A loop as it stands on disk.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    #[serde(flatten)]
    pub meta: Meta,
    pub stopped: Option<Stop>,
    pub history: Vec<Line>,
    /// The file as it was when the loop began.
    #[serde(skip)]
    pub text: String,
}

impl Asked<'_> {
    fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [self.text, self.flags] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

impl Place {
    /// The unfinished loop of this file and workspace, where there is one.
    pub fn unfinished(state: &StateDir, asked: Asked<'_>) -> Result<Option<RunId>, PlaceError> {
        let hash = asked.hash();
        let same = |summary: &Meta| *summary.workspace == *asked.workspace && summary.hash == hash;
        let loops = metas(state)?.into_iter();
        let open = |meta: &Meta| !dir_of(state, meta.id).join(STOPPED).exists();
        Ok(loops.filter(|meta| same(meta) && open(meta)).map(|meta| meta.id).next())
    }

    /// Goes on with the unfinished loop, or begins one.
    pub fn resume_or_begin(state: &StateDir, asked: Asked<'_>) -> Result<Opened, PlaceError> {
        let _turn = turn(state)?;
        match Self::unfinished(state, asked)? {
            Some(id) => Self::open(state, id),
            None => Self::begin_anew(state, asked),
        }
    }

    /// Begins one, whatever there is.
    pub fn begin(state: &StateDir, asked: Asked<'_>) -> Result<Opened, PlaceError> {
        let _turn = turn(state)?;
        Self::begin_anew(state, asked)
    }

    fn begin_anew(state: &StateDir, asked: Asked<'_>) -> Result<Opened, PlaceError> {
        let started_at = clock::now();
        let id = clock::new_run_id(started_at)?;
        let dir = dir_of(state, id);
        make_private_dir(&dir)?;
        write_atomically(&dir.join(FILE), asked.text.as_bytes())?;
        let meta = Meta {
            version: VERSION,
            id,
            workspace: asked.workspace.into(),
            file: asked.file.to_owned(),
            hash: asked.hash(),
            actor: asked.actor.to_owned(),
            started_at,
        };
        // Last: a directory without it is none.
        write_json(&dir.join(META), &meta)?;
        Self::open(state, id).map(|opened| Opened { is_resumed: false, ..opened })
    }

    fn open(state: &StateDir, id: RunId) -> Result<Opened, PlaceError> {
        let dir = dir_of(state, id);
        let meta = meta(&dir)?;
        let path = dir.join(LOCK);
        let lock = private_file()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(StateError::io("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(PlaceError::Taken(id)),
            Err(fs::TryLockError::Error(error)) => {
                return Err(StateError::io("lock", &path)(error).into());
            }
        }
        let (lines, whole) = read_history(&dir)?;
        let path = dir.join(HISTORY);
        let history = private_file()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|file| file.set_len(whole).map(|()| file))
            .map_err(StateError::io("open", &path))?;
        let place = Self { meta, dir, history, _lock: lock };
        Ok(Opened { place, lines, is_resumed: true })
    }

    /// Writes a decision down, to stay. Returns it as whoever reads it later will have it.
    pub(super) fn decide(&mut self, line: &Line) -> Result<Line, PlaceError> {
        let mut text = serde_json::to_vec(line)
            .unwrap_or_else(|_| unreachable!("a decision is text and finite numbers"));
        text.push(b'\n');
        let path = self.dir.join(HISTORY);
        let written = self.history.write_all(&text).and_then(|()| self.history.sync_data());
        written.map_err(StateError::io("write", &path))?;
        let unreadable = |source| StateError::Unreadable { path: path.clone(), source };
        Ok(serde_json::from_slice(&text).map_err(unreadable)?)
    }

    /// Writes down how it ended: it does not go on.
    pub(super) fn stop(&self, stop: Stop) -> Result<(), PlaceError> {
        Ok(write_json(&self.dir.join(STOPPED), &stop)?)
    }

    /// The input of an iteration, while that is under way.
    pub(super) fn input(&self, iteration: u64) -> PathBuf {
        self.dir.join(format!("input-{iteration}.json"))
    }
}

/// The trials of these lines, which stand in order.
pub(super) fn history_of(lines: &[Line]) -> History {
    let mut history = History::default();
    for line in lines {
        // Lines out of order were refused when they were read.
        if !history.push(line.trial.clone()) {
            break;
        }
    }
    history
}

/// All loops, newest first.
pub fn list(state: &StateDir) -> Result<Vec<Summary>, PlaceError> {
    metas(state)?.into_iter().map(|meta| read(state, meta)).collect()
}

/// One loop: by its id, the end of one, or `last`.
pub fn summary(state: &StateDir, text: &str) -> Result<Summary, PlaceError> {
    let meant = |meta: &Meta| text == "last" || meta.id.answers_to(text);
    let found = metas(state)?.into_iter().find(meant);
    read(state, found.ok_or_else(|| PlaceError::Unknown(text.to_owned()))?)
}

fn read(state: &StateDir, meta: Meta) -> Result<Summary, PlaceError> {
    let dir = dir_of(state, meta.id);
    let stopped =
        fs::read(dir.join(STOPPED)).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let path = dir.join(FILE);
    let text = fs::read_to_string(&path).map_err(StateError::io("read", &path))?;
    Ok(Summary { meta, stopped, history: read_history(&dir)?.0, text })
}

fn dir_of(state: &StateDir, id: RunId) -> PathBuf {
    state.loops().join(id.to_string())
}

/// Newest first.
fn metas(state: &StateDir) -> Result<Vec<Meta>, PlaceError> {
    let dir = state.loops();
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StateError::io("read", &dir)(error).into()),
    };
    let mut ids: Vec<RunId> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    // One whose owner died before it had begun is none.
    let begun = ids.into_iter().map(|id| dir.join(id.to_string()));
    begun.filter(|dir| dir.join(META).exists()).map(|dir| meta(&dir)).collect()
}

fn meta(dir: &Path) -> Result<Meta, PlaceError> {
    let path = dir.join(META);
    let bytes = fs::read(&path).map_err(StateError::io("read", &path))?;
    let meta: Meta = serde_json::from_slice(&bytes)
        .map_err(|source| StateError::Unreadable { path: path.clone(), source })?;
    if meta.version > VERSION {
        return Err(StateError::NewerFormat { path, found: meta.version.to_string() }.into());
    }
    Ok(meta)
}

/// The decisions, and how many bytes they take. A last line that was cut off by a crash is none.
fn read_history(dir: &Path) -> Result<(Vec<Line>, u64), PlaceError> {
    let path = dir.join(HISTORY);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(StateError::io("read", &path)(error).into()),
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut lines: Vec<Line> = Vec::new();
    for text in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
        let number = lines.len() + 1;
        let line = serde_json::from_slice(text)
            .ok()
            .filter(|line: &Line| line.trial.iteration == number as u64);
        lines.push(line.ok_or_else(|| PlaceError::Damaged { path: path.clone(), line: number })?);
    }
    Ok((lines, whole as u64))
}

/// One at a time looks for a loop or begins one.
fn turn(state: &StateDir) -> Result<File, StateError> {
    make_private_dir(&state.loops())?;
    let path = state.loops().join(LOCK);
    let file = private_file()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(StateError::io("open", &path))?;
    file.lock().map_err(StateError::io("lock", &path))?;
    Ok(file)
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StateError> {
    let text = serde_json::to_vec_pretty(value)
        .unwrap_or_else(|_| unreachable!("text and numbers always serialise"));
    write_atomically(path, &text)
}

#[cfg(test)]
mod tests {
    use cofferdam_core::search::Verdict;

    use super::*;

    fn line(iteration: u64) -> Line {
        let trial = Trial {
            iteration,
            seed: 5,
            verdict: Verdict::Champion,
            value: Some(0.1),
            metrics: [("score".to_owned(), 0.1)].into(),
            candidate: Some("x".into()),
            files: 1,
            bytes: 2,
        };
        Line { trial, runs: Vec::new(), elapsed_ms: 1, at: clock::now() }
    }

    #[test]
    fn a_loop_goes_on_until_it_is_stopped_and_only_for_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let asked =
            Asked { workspace: dir.path(), file: "l.yaml", text: "a", flags: "", actor: "me" };
        let mut first = Place::resume_or_begin(&state, asked).unwrap();
        assert!(!first.is_resumed);
        assert!(matches!(Place::resume_or_begin(&state, asked), Err(PlaceError::Taken(_))));
        let kept = first.place.decide(&line(1)).unwrap();
        let id = first.place.meta.id;
        // Cut off in the middle of the second.
        first.place.history.write_all(b"{\"iteration\":2,").unwrap();
        drop(first);
        let again = Place::resume_or_begin(&state, asked).unwrap();
        assert!(again.is_resumed && again.place.meta.id == id);
        assert_eq!(again.lines, [kept]);
        assert!(!Place::resume_or_begin(&state, Asked { text: "b", ..asked }).unwrap().is_resumed);
        assert!(!Place::resume_or_begin(&state, Asked { flags: "f", ..asked }).unwrap().is_resumed);
        again.place.stop(Stop::Iterations).unwrap();
        drop(again);
        assert_ne!(Place::resume_or_begin(&state, asked).unwrap().place.meta.id, id);
        assert_eq!(summary(&state, &id.to_string()).unwrap().stopped, Some(Stop::Iterations));
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let asked =
            Asked { workspace: dir.path(), file: "l.yaml", text: "a", flags: "", actor: "me" };
        let mut opened = Place::begin(&state, asked).unwrap();
        opened.place.decide(&line(1)).unwrap();
        opened.place.decide(&line(3)).unwrap();
        drop(opened);
        let error = Place::resume_or_begin(&state, asked).unwrap_err().to_string();
        assert!(error.contains("history.jsonl:2"), "{error}");
    }
}
