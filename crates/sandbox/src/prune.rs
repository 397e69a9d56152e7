//! Removes runs that nobody needs any more, and writes down that they were removed: a run that is merely
//! gone contradicts the log.

use cofferdam_core::event::EventKind;
use cofferdam_core::id::RunId;
use cofferdam_core::quantity::Span;
use cofferdam_core::record::Record;
use cofferdam_core::redact::Redactor;
use cofferdam_core::spec::Purpose;

use crate::changes::{ChangeSet, EntryState, Ledger, Turn, TurnError};
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
    let store = Store::new(state);
    let before = clock::now().unix_millis().saturating_sub(age.millis);
    let mut pruned = Pruned::default();
    // What is still marked has something left to be cleaned up, which may be a mount.
    let marked = store.active()?;
    for run in store.ids()?.into_iter().filter(|run| !marked.contains(run)) {
        // One that cannot be read is shown by `runs`; it is not for us to decide that it may go.
        let Ok(record) = store.record(run) else { continue };
        if record.finished_at.is_none_or(|at| at.unix_millis() >= before) {
            continue;
        }
        if pending == Pending::Kept && is_undecided(&store, &record) {
            pruned.kept.push(run);
        } else if remove(state, actor, record)? {
            pruned.removed.push(run);
        }
    }
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
        return changes.repository.is_some();
    }
    let Ok(set) = ChangeSet::open(&store.dir(record.run), &changes.manifest) else { return true };
    let Ok(ledger) = Ledger::load(&set) else { return true };
    (0..entries)
        .any(|entry| matches!(ledger.state(entry), EntryState::Pending | EntryState::Partly { .. }))
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
    scribe.event(EventKind::RunRemoved { finished_at })?;
    let dir = Store::new(state).dir(run);
    remove_tree(&dir).map_err(StateError::io("remove", &dir))?;
    turn.end()?;
    Ok(true)
}
