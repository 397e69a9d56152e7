//! The end of an operation: the rest of the world learns of it, and what is no longer needed goes.

use std::fs;
use std::io;
use std::path::Path;

use cofferdam_core::event::{Done, EventKind};

use super::faults::{Faults, Point};
use super::journal::{Journal, Lodging};
use super::perform::words;
use super::site::KEPT;
use super::slots::{self, SLOTS};
use super::{ApplyError, NAMED, keep, scribe};
use crate::changes::ledger::{Ledger, Operation, OperationKind};
use crate::state::StateDir;
use crate::tree::remove_tree;

/// The audit log learns that an operation was taken back.
pub(crate) fn tell_taken_back(
    state: &StateDir,
    actor: &str,
    journal: &Journal,
    why: &dyn std::error::Error,
    left: &[String],
) -> Result<(), ApplyError> {
    let head = &journal.head;
    let operation = journal.commit.as_ref().map_or(0, |operation| operation.number);
    let manifest = head.manifest.to_string();
    let (reason, left) = (words(why), left.to_vec());
    let event = EventKind::TakenBack { manifest, operation, reason, left };
    Ok(scribe(state, head.run, &head.workspace, actor).event(event)?)
}

/// Removes what an operation left that was taken back. What could not be taken back is kept.
pub(crate) fn close(journal: &Journal, left: &[String]) -> io::Result<()> {
    if left.is_empty() {
        return forget(journal.dir());
    }
    let kept = journal.dir().with_extension(KEPT);
    fs::rename(journal.dir(), kept)
}

/// Removes an operation that did not come about, with its slots.
pub(crate) fn forget(dir: &Path) -> io::Result<()> {
    if let Some(journal) = Journal::open(dir)? {
        // An undo works in the slots of the apply that it undoes; those are not ours to remove.
        if journal.head.slots.parent() == Some(dir) || journal.head.lodging == Lodging::Workspace {
            slots::remove(&journal.head.slots)?;
        }
    }
    match remove_tree(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        answer => answer,
    }
}

/// What is left to do when all steps are made. Can be done again from any point.
pub(crate) fn finish(
    state: &StateDir,
    actor: &str,
    journal: &mut Journal,
    ledger: &mut Ledger,
    faults: &mut dyn Faults,
) -> Result<(), ApplyError> {
    let dir = journal.dir().to_owned();
    let at = |error| ApplyError::io("write", &dir)(error);
    let Some(operation) = journal.commit.clone() else { return Ok(()) };
    let head = journal.head.clone();
    if operation.kind == OperationKind::Apply && head.lodging == Lodging::Workspace {
        faults.before(Point::Clean).map_err(at)?;
        keep::keep(journal).map_err(ApplyError::io("keep for undo what was in", &head.slots))?;
    }
    faults.before(Point::Ledger).map_err(at)?;
    if !ledger.has(operation.number) {
        ledger.add(operation.clone())?;
    }
    if !journal.told {
        faults.before(Point::Event).map_err(at)?;
        let event = event(journal, &operation, ledger.hash()).map_err(at)?;
        scribe(state, head.run, &head.workspace, actor).event(event)?;
        journal.set_told().map_err(at)?;
    }
    faults.before(Point::Clean).map_err(at)?;
    if head.lodging == Lodging::Workspace {
        slots::remove(&head.slots).map_err(ApplyError::io("remove", &head.slots))?;
    }
    if let OperationKind::Undo(of) = operation.kind {
        let all = !ledger.operations().iter().any(|o| o.number == of && ledger.stands(o));
        let slots = dir.with_file_name(of.to_string()).join(SLOTS);
        if all {
            slots::remove(&slots).map_err(ApplyError::io("remove", &slots))?;
        }
    }
    Ok(())
}

fn event(journal: &Journal, operation: &Operation, ledger: String) -> io::Result<EventKind> {
    let manifest = journal.head.manifest.to_string();
    let (entries, number) = (operation.entries.len(), operation.number);
    let mut paths = Vec::new();
    for step in journal.steps().take(NAMED + 1) {
        let path = step?.path.to_string();
        if paths.last() != Some(&path) {
            paths.push(path);
        }
    }
    if journal.len() > NAMED {
        paths.clear();
    }
    let done = Done { manifest, entries, operation: number, ledger, paths };
    Ok(match operation.kind {
        OperationKind::Undo(of) => EventKind::Undone { done, of },
        OperationKind::Apply | OperationKind::Discard => EventKind::Applied { done },
    })
}
