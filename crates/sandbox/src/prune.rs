//! Removes runs that nobody needs any more, and writes down that they were removed: a run that is merely
//! gone contradicts the log.

use std::fs::File;
use std::io;
use std::path::Path;

use cofferdam_core::event::EventKind;
use cofferdam_core::id::RunId;
use cofferdam_core::quantity::Span;
use cofferdam_core::receipt::CleanupReceipt;
use cofferdam_core::record::Record;
use cofferdam_core::redact::Redactor;
use cofferdam_core::spec::Purpose;
use cofferdam_native::{COPY, UPPER};

use crate::ballast::Ballast;
use crate::changes::seal::AWAY;
use crate::changes::{ChangeSet, EntryState, Ledger, OBJECTS, REPOSITORY, Turn, TurnError};
use crate::clock;
use crate::runs::{Scribe, Store};
use crate::state::{StateDir, StateError};
use crate::tree::remove_tree;

/// What becomes of runs whose changes nobody has decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    Kept,
    Removed,
}

/// What became of runs that are old enough.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub removed: Vec<RunId>,
    /// Kept because of what they changed: it is nowhere else.
    pub kept: Vec<RunId>,
}

/// Removes finished runs that ended longer ago than `age`, with what they staged and printed.
pub fn prune(
    state: &StateDir,
    actor: &str,
    age: Span,
    pending: Pending,
) -> Result<Pruned, StateError> {
    let (store, ballast) = (Store::new(state), Ballast::of(state));
    ballast.ease();
    let before = clock::now().unix_millis().saturating_sub(age.millis);
    let (mut pruned, mut waiting) = (Pruned::default(), Vec::new());
    for run in store.ids()? {
        // One that cannot be read is shown by `runs`; it is not for us to decide that it may go.
        let Ok(record) = store.record(run) else { continue };
        if record.finished_at.is_none_or(|at| at.unix_millis() >= before) {
            continue;
        }
        if pending == Pending::Kept && is_undecided(&store, &record) {
            pruned.kept.push(run);
            continue;
        }
        match remove_old(state, actor, &store, record.clone()) {
            Ok(true) => pruned.removed.push(run),
            Ok(false) => {}
            // Another may make the room.
            Err(error) if error.is_for_want_of_space() => waiting.push(record),
            Err(error) => return Err(error),
        }
    }
    for record in waiting {
        let run = record.run;
        if remove_old(state, actor, &store, record)? {
            pruned.removed.push(run);
        }
    }
    ballast.keep();
    Ok(pruned)
}

/// Whether something that a run changed still waits for somebody to decide. What cannot be told counts as that.
fn is_undecided(store: &Store, record: &Record) -> bool {
    // What a look found is the session's, whose end has what nobody decided about.
    if record.plan.as_ref().is_some_and(|plan| plan.purpose == Purpose::Look) {
        return false;
    }
    let Some(changes) = &record.changes else { return record.unsealed.is_some() };
    let entries = changes.created + changes.modified + changes.deleted + changes.retyped;
    if entries == 0 {
        // Commits in a repository elsewhere, and nothing beside them that could have been decided about.
        let Some(sealed) = &changes.repository else { return false };
        let set = ChangeSet::open(&store.dir(record.run).join(REPOSITORY), sealed);
        let Ok(mut set) = set else { return true };
        return set.entries().map_or(true, |mut entries| entries.next().is_some());
    }
    let Ok(set) = ChangeSet::open(&store.dir(record.run), &changes.manifest) else { return true };
    let Ok(ledger) = Ledger::load(&set) else { return true };
    (0..entries)
        .any(|entry| matches!(ledger.state(entry), EntryState::Pending | EntryState::Partly { .. }))
}

/// Removes one run, with the mark that it may still have. `false` where it is still needed.
fn remove_old(
    state: &StateDir,
    actor: &str,
    store: &Store,
    record: Record,
) -> Result<bool, StateError> {
    let run = record.run;
    if !store.active()?.contains(&run) {
        return remove(state, actor, record);
    }
    let Some(_claim) = unsealed(state, store, &record)? else { return Ok(false) };
    let is_removed = remove(state, actor, record)?;
    if is_removed {
        store.discard(run)?;
    }
    Ok(is_removed)
}

/// Takes over a run that is marked only because what it changed could not be sealed, as on a disk that has no room for
/// the manifest. Whatever else is marked has something left to be cleaned up, which may be a mount.
fn unsealed(state: &StateDir, store: &Store, record: &Record) -> Result<Option<File>, StateError> {
    let (run, dir) = (record.run, store.dir(record.run));
    let is_gone = record
        .cleanup
        .as_ref()
        .is_some_and(|cleanup| cleanup.receipt == CleanupReceipt::Terminated);
    let is_elsewhere = dir.join(AWAY).exists() || state.mounts().join(run.to_string()).exists();
    if record.unsealed.is_none() || !is_gone || is_elsewhere {
        return Ok(None);
    }
    store.claim(run)
}

/// Removes one finished run. `false` where it is still needed.
pub(crate) fn remove(state: &StateDir, actor: &str, record: Record) -> Result<bool, StateError> {
    // What is being applied or undone is needed; the next time will do.
    let mut turn = match Turn::take(state, &record.workspace) {
        Ok(turn) => turn,
        Err(TurnError::Taken { .. }) => return Ok(false),
        Err(TurnError::State(error)) => return Err(error),
    };
    // Somebody died at it: that is for the clean-up, which comes first.
    if turn.begun()?.is_some() {
        return Ok(false);
    }
    let Record { run, workspace, finished_at, .. } = record;
    let mut scribe = Scribe::new(state, run, workspace, actor.to_owned(), Redactor::default());
    let dir = Store::new(state).dir(run);
    match scribe.event(EventKind::RunRemoved { finished_at }) {
        // No room to say so. What takes the most of it goes first: the log says nothing of that, so that whoever dies in
        // between leaves a run that does not contradict it, and that is removed the next time.
        Err(error) if error.is_for_want_of_space() => {
            for bulk in [OBJECTS, UPPER, COPY] {
                remove_dir(&dir.join(bulk))?;
            }
            scribe.event(EventKind::RunRemoved { finished_at })?;
        }
        said => said?,
    }
    remove_dir(&dir)?;
    turn.end()?;
    Ok(true)
}

/// Removes a directory, if it is there.
fn remove_dir(dir: &Path) -> Result<(), StateError> {
    match remove_tree(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StateError::io("remove", dir)(error))
        }
        _ => Ok(()),
    }
}
