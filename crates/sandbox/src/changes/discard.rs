//! Throws pending changes away: they are no longer offered, and the host is left as it is.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use cofferdam_core::changes::{ChangePath, Node};
use cofferdam_core::event::{Done, EventKind};
use cofferdam_core::id::RunId;

use super::apply::{ApplyError, NAMED, scribe};
use super::ledger::{EntryState, Ledger, Operation, OperationKind};
use super::selection::{Part, Selection};
use super::turn::Turn;
use super::{ChangeSet, Objects, recover};
use crate::ballast::Ballast;
use crate::clock;
use crate::runs::Store;
use crate::state::StateDir;
use crate::tree::remove_tree;

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Discarded {
    pub entries: u64,
    /// Selected, and left because they are applied.
    pub applied: u64,
    /// Selected, and discarded before.
    pub before: u64,
    /// Pending ones that were not selected.
    pub left: u64,
    /// Selected or not: what the workspace has, in whole or in part.
    pub at_home: u64,
}

/// What is to be discarded. The workspace need not be there any more: only its name counts.
#[derive(Debug)]
pub struct DiscardRequest<'a> {
    pub state: &'a StateDir,
    pub run: RunId,
    /// Hash of the manifest, as the run's record has it.
    pub sealed: &'a str,
    pub workspace: &'a Path,
    pub actor: &'a str,
    pub selection: &'a Selection,
}

/// Discards what is pending of the selection. A file that is to stay needs its directory, so the removal
/// of that is discarded with it.
///
/// It makes do with a full disk, because it is what makes room on one.
pub fn discard(request: DiscardRequest<'_>) -> Result<Discarded, ApplyError> {
    let DiscardRequest { state, run, sealed, workspace, actor, selection } = request;
    let ballast = Ballast::of(state);
    ballast.ease();
    let mut turn = Turn::take(state, workspace)?;
    recover::take_over(&mut turn, state, actor)?;
    let mut set = ChangeSet::open(&Store::new(state).dir(run), sealed)?;
    let mut ledger = Ledger::load(&set)?;
    let mut done = Discarded::default();
    let marks = choose(&mut set, &ledger, selection, &mut done)?;
    let number = ledger.next_number();
    let entries = (0u64..).zip(&marks).filter(|(_, mark)| **mark == Mark::Chosen);
    let operation = Operation {
        number,
        kind: OperationKind::Discard,
        at: clock::now(),
        entries: entries.map(|(index, _)| index).collect(),
        partly: BTreeMap::new(),
    };
    done.entries = operation.entries.len();
    done.at_home = ledger.at_home();
    done.left = marks.iter().filter(|mark| **mark == Mark::Pending).count() as u64;
    // Nothing that could be applied, or applied again after an undo, is left.
    let all = marks.iter().all(|mark| matches!(mark, Mark::Chosen | Mark::Gone));
    let objects = set.objects();
    if all && ballast.is_short() {
        // Without room for a word of it, contents go first. Whoever dies in between leaves changes that cannot be
        // applied, and that were to be discarded.
        remove(&objects)?;
    }
    if done.entries > 0 {
        let paths = paths(&mut set, &operation)?;
        ledger.add(operation)?;
        let done = Done {
            manifest: set.hash().to_string(),
            entries: done.entries,
            operation: number,
            ledger: ledger.hash(),
            paths,
        };
        scribe(state, run, workspace, actor).event(EventKind::Discarded { done })?;
    }
    if all {
        remove(&objects)?;
    }
    turn.end()?;
    ballast.keep();
    Ok(done)
}

/// Contents that nobody will ask for.
fn remove(objects: &Objects) -> Result<(), ApplyError> {
    match remove_tree(objects.dir()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(ApplyError::io("remove", objects.dir())(error))
        }
        _ => Ok(()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Pending,
    Chosen,
    Applied,
    Gone,
}

fn choose(
    set: &mut ChangeSet,
    ledger: &Ledger,
    selection: &Selection,
    done: &mut Discarded,
) -> Result<Vec<Mark>, ApplyError> {
    let mut missing: Vec<&ChangePath> = selection.named().collect();
    let mut open: Vec<(ChangePath, usize)> = Vec::new();
    let (mut marks, mut above) = (Vec::new(), Vec::new());
    let mut goes: Vec<bool> = Vec::new();
    for (number, entry) in set.entries()?.enumerate() {
        let entry = entry?;
        missing.retain(|named| !entry.path.is_within(named));
        while open.last().is_some_and(|(path, _)| !entry.path.is_within(path)) {
            open.pop();
        }
        let meant = selection.part(&entry.path) != Part::Nothing;
        let up = open.last().map(|(_, number)| *number);
        let comes = matches!(entry.after, Some(Node::Directory { .. }));
        let mark = match ledger.state(number as u64) {
            EntryState::Pending | EntryState::Partly { .. } => {
                // Nothing can be put into a directory that is not made.
                let lost = up.is_some_and(|up| marks[up] == Mark::Chosen && !goes[up]);
                if meant || lost { Mark::Chosen } else { Mark::Pending }
            }
            EntryState::Applied => {
                done.applied += u64::from(meant);
                Mark::Applied
            }
            EntryState::Discarded => {
                done.before += u64::from(meant);
                Mark::Gone
            }
        };
        marks.push(mark);
        above.push(up);
        let was = matches!(entry.before, Some(Node::Directory { .. }));
        goes.push(was && !comes);
        if was != comes {
            open.push((entry.path, number));
        }
    }
    if let Some(path) = missing.first() {
        return Err(ApplyError::NoSuchChange { path: (*path).clone() });
    }
    for number in (0..marks.len()).rev() {
        if let (Mark::Chosen, Some(up)) = (marks[number], above[number])
            && goes[up]
            && marks[up] == Mark::Pending
        {
            marks[up] = Mark::Chosen;
        }
    }
    Ok(marks)
}

/// The paths of an operation, where they are few.
fn paths(set: &mut ChangeSet, operation: &Operation) -> Result<Vec<String>, ApplyError> {
    let mut paths = Vec::new();
    if operation.entries.len() > NAMED as u64 {
        return Ok(paths);
    }
    for (index, entry) in (0u64..).zip(set.entries()?) {
        let entry = entry?;
        if operation.entries.contains(index) {
            paths.push(entry.path.to_string());
        }
    }
    Ok(paths)
}
