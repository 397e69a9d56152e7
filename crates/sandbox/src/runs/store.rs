//! Makes, finds and lists runs.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cofferdam_core::chain::Known;
use cofferdam_core::id::RunId;
use cofferdam_core::inert;
use cofferdam_core::outcome::OutcomeClass;
use cofferdam_core::plan::Plan;
use cofferdam_core::record::{RECORD_VERSION, Record};
use cofferdam_core::result;
use cofferdam_core::spec::Purpose;
use serde::Serialize;
use serde_json::Value;

use super::Mark;
use crate::spare::Spare;
use crate::state::{StateDir, StateError, private_file, write_atomically};
use crate::tree::remove_tree;

/// Files in a run's directory.
pub(super) const PLAN: &str = "plan.json";
pub(super) const RECORD: &str = "record.json";
/// The room of a record, while the events before it are written to a disk that is nearly full.
pub(super) const ROOM: &str = "record.room";
/// What marked it as going on.
const MARK: &str = "mark";

#[derive(Debug, Clone)]
pub struct Store {
    state: StateDir,
}

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("there is no run {0:?}")]
    Unknown(String),
    #[error("there is no run in {} yet", .0.display())]
    NoneHere(PathBuf),
    #[error("{text:?} could be any of {}", candidates.join(", "))]
    Ambiguous { text: String, candidates: Vec<String> },
    #[error(transparent)]
    State(#[from] StateError),
}

impl Store {
    pub fn new(state: &StateDir) -> Self {
        Self { state: state.clone() }
    }

    pub fn dir(&self, run: RunId) -> PathBuf {
        self.state.runs().join(run.to_string())
    }

    /// Makes the directory of a new run and marks it as going on. The mark is locked for as long as it is
    /// held: that, and not a process id, is what tells others that the run is alive, in whatever
    /// namespace they are.
    pub(crate) fn create(&self, run: RunId, mark: &Mark) -> Result<File, StateError> {
        let (path, spare) = (self.marker(run), Spare::of(&self.state));
        let text = serde_json::to_vec(mark)
            .unwrap_or_else(|_| unreachable!("a mark is numbers and names"));
        let marker = match spare.file(&path, &text) {
            Ok(marker) => marker,
            Err(_) => marked(&path, &text)?,
        };
        if let Err(error) = spare.give(&self.dir(run)) {
            // Nothing was begun.
            fs::remove_file(&path).map_err(StateError::io("remove", &path))?;
            return Err(error);
        }
        Ok(marker)
    }

    /// Takes the mark away: nothing of the run is left to clean up. The file is kept with the run, for
    /// nothing slows the making of new files down like the removal of old ones.
    pub(crate) fn retire(&self, run: RunId) -> Result<(), StateError> {
        let marker = self.marker(run);
        match fs::rename(&marker, self.dir(run).join(MARK)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StateError::io("rename", &marker)(error))
            }
            _ => Ok(()),
        }
    }

    /// What the mark of a run says. `None` where its owner has not come to writing it.
    pub(crate) fn mark(&self, run: RunId) -> Option<Mark> {
        serde_json::from_slice(&fs::read(self.marker(run)).ok()?).ok()
    }

    /// Removes a run that is still marked: its owner died before it ran anything, or nobody wants what it left.
    pub(crate) fn discard(&self, run: RunId) -> Result<(), StateError> {
        let (dir, marker) = (self.dir(run), self.marker(run));
        match remove_tree(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StateError::io("remove", &dir)(error))
            }
            _ => fs::remove_file(&marker).map_err(StateError::io("remove", &marker)),
        }
    }

    fn marker(&self, run: RunId) -> PathBuf {
        self.state.active().join(run.to_string())
    }

    /// Takes over a run that was left behind. `None` where its owner lives, where another cleans up
    /// already, or where it was retired meanwhile.
    pub(crate) fn claim(&self, run: RunId) -> Result<Option<File>, StateError> {
        let path = self.marker(run);
        let marker = match File::open(&path) {
            Ok(marker) => marker,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StateError::io("open", &path)(error)),
        };
        match marker.try_lock() {
            // Whoever held the lock before us may have removed the file.
            Ok(()) => Ok(path.exists().then_some(marker)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(StateError::io("lock", &path)(error)),
        }
    }

    /// Runs that have not been retired: going on, or left behind by an owner that died.
    pub(crate) fn active(&self) -> Result<Vec<RunId>, StateError> {
        ids(&self.state.active())
    }

    /// Replaces a file of a run whole.
    pub(crate) fn replace(
        &self,
        run: RunId,
        file: &str,
        value: &impl Serialize,
    ) -> Result<(), StateError> {
        write_atomically(&self.dir(run).join(file), as_text(value).as_bytes())
    }

    /// Removes a file of a run.
    pub(super) fn remove(&self, run: RunId, file: &str) -> Result<(), StateError> {
        let path = self.dir(run).join(file);
        fs::remove_file(&path).map_err(StateError::io("remove", &path))
    }

    /// The record of a run. One that goes on has none yet: what is known of it stands in its mark and its
    /// plan, and without a plan nothing was run.
    pub fn record(&self, run: RunId) -> Result<Record, StateError> {
        let path = self.dir(run).join(RECORD);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let missing = || StateError::io("read", &path)(error);
                let (mark, plan) = (self.mark(run), self.plan(run)?);
                return mark.zip(plan).map(|(m, p)| begun(run, m, p)).ok_or_else(missing);
            }
        };
        let unreadable = |source| StateError::Unreadable { path: path.clone(), source };
        let value: Value = serde_json::from_slice(&bytes).map_err(unreadable)?;
        if value["version"].as_u64().is_some_and(|v| v > u64::from(RECORD_VERSION)) {
            return Err(StateError::NewerFormat { path, found: value["version"].to_string() });
        }
        serde_json::from_value(value).map_err(unreadable)
    }

    /// What a run handed over, where it is JSON.
    pub fn result(&self, run: RunId) -> Result<Option<Value>, StateError> {
        let path = self.dir(run).join(result::FILE);
        match fs::read(&path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StateError::io("read", &path)(error)),
        }
    }

    fn plan(&self, run: RunId) -> Result<Option<Plan>, StateError> {
        let path = self.dir(run).join(PLAN);
        let Ok(bytes) = fs::read(&path) else { return Ok(None) };
        serde_json::from_slice(&bytes).map_err(|source| StateError::Unreadable { path, source })
    }

    /// All runs, newest first. Ids sort by time, so no record has to be read for that.
    pub fn ids(&self) -> Result<Vec<RunId>, StateError> {
        let mut ids = ids(&self.state.runs())?;
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids)
    }

    /// The run that a person means: a whole id, the end of one, or `last` for the newest in the innermost workspace
    /// that `here` is in.
    pub fn find(&self, text: &str, here: &Path) -> Result<RunId, FindError> {
        self.find_by(text, here, |_| Standing::Ran)
    }

    /// The same for whoever is about its changes. One that was refused is `last` only where nothing else was tried: it has
    /// none, and one that was mistyped must not hide what came before it.
    pub fn find_changed(&self, text: &str, here: &Path) -> Result<RunId, FindError> {
        self.find_by(text, here, Standing::of)
    }

    fn find_by(
        &self,
        text: &str,
        here: &Path,
        standing: fn(&Record) -> Standing,
    ) -> Result<RunId, FindError> {
        let all = self.ids()?;
        if text == "last" {
            let last = self.last(&all, here, standing);
            return last.ok_or_else(|| FindError::NoneHere(here.to_owned()));
        }
        let candidates: Vec<RunId> = all.into_iter().filter(|id| id.answers_to(text)).collect();
        match candidates.as_slice() {
            [] => Err(FindError::Unknown(text.to_owned())),
            [one] => Ok(*one),
            many => Err(FindError::Ambiguous {
                text: text.to_owned(),
                candidates: many.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    fn last(
        &self,
        newest_first: &[RunId],
        here: &Path,
        standing: fn(&Record) -> Standing,
    ) -> Option<RunId> {
        let mut best: Option<((Standing, usize), RunId)> = None;
        for id in newest_first {
            // A record that cannot be read is shown as such by `runs`.
            let Some(record) = self.record(*id).ok().filter(|record| !is_look(record)) else {
                continue;
            };
            if !here.starts_with(&record.workspace) {
                continue;
            }
            let standing = standing(&record);
            // No workspace around is further in than this directory itself.
            if standing == Standing::Ran && *record.workspace == *here {
                return Some(*id);
            }
            let rank = (standing, record.workspace.components().count());
            // Of equals the newest, which came first.
            if best.is_none_or(|(other, _)| rank > other) {
                best = Some((rank, *id));
            }
        }
        best.map(|(_, id)| id)
    }

    /// The latest event of each finished run: a log that lacks one was cut.
    pub(crate) fn anchors(&self) -> Result<Vec<Known>, StateError> {
        let anchor = |id: RunId| {
            // A record that cannot be read is shown as such by `runs`; it proves nothing here.
            let anchor = self.record(id).ok()?.anchor?;
            Some(Known { anchor, from: format!("the record of run {id}") })
        };
        Ok(self.ids()?.into_iter().filter_map(anchor).collect())
    }
}

/// What decides which of two runs is rather meant by `last`, before how far in its workspace is, and its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Refused,
    Ran,
}

impl Standing {
    fn of(record: &Record) -> Self {
        match record.outcome.as_ref().map(|outcome| outcome.class) {
            Some(OutcomeClass::Refused) => Self::Refused,
            _ => Self::Ran,
        }
    }
}

/// A mark, made in its place.
fn marked(path: &Path, text: &[u8]) -> Result<File, StateError> {
    let marker = private_file().write(true).create_new(true).open(path);
    let mut marker = marker.map_err(StateError::io("create", path))?;
    marker.lock().map_err(StateError::io("lock", path))?;
    // After the lock: where something is written and no lock is held, the owner is dead.
    if let Err(error) = marker.write_all(text) {
        // An empty mark could be one that is about to be written, and would be left alone for a minute.
        fs::remove_file(path).map_err(StateError::io("remove", path))?;
        return Err(StateError::io("write", path)(error));
    }
    Ok(marker)
}

/// What was looked at is not what was run.
fn is_look(record: &Record) -> bool {
    record.plan.as_ref().is_some_and(|plan| plan.purpose == Purpose::Look)
}

fn begun(run: RunId, mark: Mark, plan: Plan) -> Record {
    let Mark { owner, actor, started_at, backend } = mark;
    let (command, workspace) = (plan.command.clone(), plan.workspace.source.real.clone());
    let begun = Record::begun(run, command, workspace, actor, owner, started_at);
    Record { backend, plan: Some(plan), ..begun }
}

fn as_text(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value)
        .unwrap_or_else(|_| unreachable!("records are structs of text, numbers and lists"));
    text.push('\n');
    inert::json(&text)
}

fn ids(dir: &Path) -> Result<Vec<RunId>, StateError> {
    let entries = fs::read_dir(dir).map_err(StateError::io("read", dir))?;
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry.map_err(StateError::io("read", dir))?.file_name();
        ids.extend(name.to_str().and_then(|name| name.parse::<RunId>().ok()));
    }
    Ok(ids)
}
