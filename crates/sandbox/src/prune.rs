//! Removes runs that nobody needs any more, and writes down that they were removed: a run that is merely
//! gone contradicts the log.

use cofferdam_core::event::EventKind;
use cofferdam_core::id::RunId;
use cofferdam_core::quantity::Span;
use cofferdam_core::record::Record;
use cofferdam_core::redact::Redactor;

use crate::changes::{Turn, TurnError};
use crate::clock;
use crate::runs::{Scribe, Store};
use crate::state::{StateDir, StateError};
use crate::tree::remove_tree;

/// Removes finished runs that ended longer ago than `age`, with what they staged and printed.
pub fn prune(state: &StateDir, actor: &str, age: Span) -> Result<Vec<RunId>, StateError> {
    let store = Store::new(state);
    let before = clock::now().unix_millis().saturating_sub(age.millis);
    let mut removed = Vec::new();
    // What is still marked has something left to be cleaned up, which may be a mount.
    let marked = store.active()?;
    for run in store.ids()?.into_iter().filter(|run| !marked.contains(run)) {
        // One that cannot be read is shown by `runs`; it is not for us to decide that it may go.
        let Ok(record) = store.record(run) else { continue };
        if record.finished_at.is_none_or(|at| at.unix_millis() >= before) {
            continue;
        }
        if remove(state, actor, record)? {
            removed.push(run);
        }
    }
    Ok(removed)
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
