//! Finishes, or takes back, what somebody left who died while applying or undoing.
//!
//! A journal with `done` is finished: the ledger and the log learn of it. One without is taken back, so
//! that the workspace is as it was. Both can be done again from any point: whoever dies here, too, is
//! followed by the next.

use std::io;
use std::path::Path;

use cofferdam_core::id::RunId;

use super::apply::faults::NoFaults;
use super::apply::finish::{close, finish, forget, tell_taken_back};
use super::apply::ground::Ground;
use super::apply::journal::Journal;
use super::apply::perform::{take_all_back, workspace_of};
use super::apply::{ApplyError, applies, slots};
use super::ledger::Ledger;
use super::turn::{Begun, Others, Turn};
use crate::runs::Store;
use crate::state::{StateDir, StateError};

/// What was found and done about one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    pub run: RunId,
    pub operation: u64,
    pub how: How,
    /// What could not be taken back.
    pub left: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Finished,
    TakenBack,
}

/// Why an operation is taken back.
#[derive(Debug, thiserror::Error)]
#[error("the process that made the changes died before it was done")]
struct Died;

/// Cleans up after all who died, in whatever workspace.
pub fn recover(
    state: &StateDir,
    actor: &str,
    others: Others,
) -> Result<Vec<Recovered>, StateError> {
    let mut done = Vec::new();
    for mut turn in Turn::left_behind(state, others)? {
        let Some(begun) = turn.begun()? else {
            turn.end()?;
            continue;
        };
        match take_over(&mut turn, state, actor) {
            Ok(recovered) => {
                done.extend(recovered);
                turn.end()?;
            }
            // One that cannot be recovered must not keep everything else from running.
            Err(error) => {
                let left = vec![format!("{error}")];
                let Begun { run, number } = begun;
                done.push(Recovered { run, operation: number, how: How::TakenBack, left });
            }
        }
    }
    Ok(done)
}

/// How many steps there are to finish or to take back in the journal in `dir`, all of which is read. `None` where nothing
/// was begun. Nothing is done about them.
pub fn steps_left(dir: &Path) -> io::Result<Option<usize>> {
    let Some(journal) = Journal::open(dir)? else { return Ok(None) };
    let steps = journal.steps().collect::<io::Result<Vec<_>>>()?;
    // Each is made once.
    debug_assert_eq!(journal.order().len(), steps.len());
    Ok(Some(steps.len()))
}

/// Cleans up after whoever had this turn before.
pub(super) fn take_over(
    turn: &mut Turn,
    state: &StateDir,
    actor: &str,
) -> Result<Option<Recovered>, ApplyError> {
    let Some(Begun { run, number }) = turn.begun()? else { return Ok(None) };
    let run_dir = Store::new(state).dir(run);
    let dir = applies(&run_dir).join(number.to_string());
    let failed = |source| ApplyError::Io { action: "recover", path: dir.clone(), source };
    let recovered = |how, left| Ok(Some(Recovered { run, operation: number, how, left }));
    let Some(mut journal) = Journal::open(&dir).map_err(failed)? else {
        forget(&dir).map_err(failed)?;
        turn.forget()?;
        return Ok(None);
    };
    if journal.done {
        let mut ledger = Ledger::read(&run_dir, journal.head.manifest)?;
        finish(state, actor, &mut journal, &mut ledger, &mut NoFaults)?;
        turn.forget()?;
        return recovered(How::Finished, Vec::new());
    }
    if journal.commit.is_none() {
        forget(&dir).map_err(failed)?;
        turn.forget()?;
        return Ok(None);
    }
    let left = match (workspace_of(&journal), slots::reopen(&journal.head.slots).map_err(failed)?) {
        (Ok(workspace), Some(slots)) => {
            let ground = Ground::new(&workspace, slots);
            take_all_back(&journal, &ground, &mut NoFaults)?
        }
        // The slots go last.
        (Ok(_), None) => Vec::new(),
        (Err(words), _) => vec![words],
    };
    tell_taken_back(state, actor, &journal, &Died, &left)?;
    close(&journal, &left).map_err(failed)?;
    turn.forget()?;
    recovered(How::TakenBack, left)
}
