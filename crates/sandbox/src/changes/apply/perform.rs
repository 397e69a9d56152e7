//! Makes the steps of a journal, or takes them all back; then the rest of the world learns of it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use cofferdam_core::event::EventKind;
use rustix::fs::{Mode, OFlags, fsync, openat, syncfs};

use super::faults::{Faults, Point};
use super::journal::{Journal, JournalWriter, Lodging};
use super::slots::{self, SLOTS};
use super::stage::Stage;
use super::step::{Act, Ground, StepError};
use super::{ApplyError, NAMED, Progress, Site, applies, keep, scribe};
use crate::changes::beneath::Workspace;
use crate::changes::ledger::{Ledger, Operation, OperationKind};
use crate::changes::turn::Turn;
use crate::state::StateDir;
use crate::tree::remove_tree;

/// Up to this many directories are synced one by one.
const FEW: usize = 16;

/// One who holds the turn and has begun an operation.
pub(crate) struct Carrier<'a> {
    pub(crate) site: Site<'a>,
    pub(crate) turn: Turn,
    pub(crate) ledger: Ledger,
}

/// The operation did not come about, or could not be finished.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) ApplyError);

impl Carrier<'_> {
    /// Carries out an operation that is planned.
    pub(crate) fn carry_out(
        mut self,
        journal: JournalWriter,
        stage: Stage,
        operation: Operation,
        faults: &mut dyn Faults,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Failed> {
        let number = operation.number;
        let settled = faults
            .before(Point::Commit)
            .and_then(|()| settle(journal, stage, operation))
            .map_err(ApplyError::io("write", &self.site.dir()));
        let (mut journal, slots) = match settled {
            Ok(settled) => settled,
            Err(error) => return Err(Failed(self.abandon(number, error))),
        };
        let ground = Ground { workspace: self.site.workspace, slots };
        let made = make(&journal, &ground, faults, progress).and_then(|()| {
            let done = faults.before(Point::Done).and_then(|()| sync(&journal, &ground));
            done.and_then(|()| journal.set_done()).map_err(unwritten(&journal))
        });
        if let Err(error) = made {
            return Err(Failed(self.take_back(&journal, &ground, error, faults)));
        }
        let finished =
            finish(self.site.state, self.site.actor, &mut journal, &mut self.ledger, faults);
        let ended = finished.and_then(|()| self.turn.end().map_err(ApplyError::from));
        ended.map_err(|error| Failed(ApplyError::Unfinished { source: Box::new(error) }))
    }

    /// Nothing was done yet: removes what was prepared.
    pub(crate) fn abandon(self, number: u64, error: ApplyError) -> ApplyError {
        let dir = applies(&self.site.dir()).join(number.to_string());
        let removed = forget(&dir).and_then(|()| self.turn.end().map_err(io::Error::other));
        match removed {
            Ok(()) => error,
            // The turn stays, and the next command cleans up. The first error is the one that matters.
            Err(_) => error,
        }
    }

    fn take_back(
        mut self,
        journal: &Journal,
        ground: &Ground<'_>,
        source: StepError,
        faults: &mut dyn Faults,
    ) -> ApplyError {
        match take_all_back(journal, ground, faults) {
            Ok(left) => {
                let told =
                    tell_taken_back(self.site.state, self.site.actor, journal, &source, &left);
                let closed = told.and_then(|()| {
                    close(journal, &left).map_err(ApplyError::io("remove", journal.dir()))
                });
                match closed.and_then(|()| self.turn.end().map_err(ApplyError::from)) {
                    Ok(()) => ApplyError::TakenBack { source, left },
                    Err(error) => {
                        let left = [left, vec![error.to_string()]].concat();
                        ApplyError::TakenBack { source, left }
                    }
                }
            }
            Err(error) => {
                // The turn stays with what was begun, and the next command goes on taking back.
                let begun = self.turn.begun().is_ok();
                debug_assert!(begun, "a turn can be read by who holds it");
                ApplyError::TakenBack { source, left: vec![words(&error)] }
            }
        }
    }
}

/// Everything staged, and the journal with its commit, reach the disk.
fn settle(
    journal: JournalWriter,
    stage: Stage,
    operation: Operation,
) -> io::Result<(Journal, OwnedFd)> {
    let journal = journal.commit(operation)?;
    let slots = stage.sync()?;
    journal.sync()?;
    for dir in [Some(journal.dir()), journal.dir().parent()].into_iter().flatten() {
        File::open(dir)?.sync_all()?;
    }
    Ok((journal, slots))
}

fn make(
    journal: &Journal,
    ground: &Ground<'_>,
    faults: &mut dyn Faults,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), StepError> {
    for (made, number) in (1u64..).zip(journal.order()) {
        let step = journal.step(number as usize).map_err(unwritten(journal))?;
        let fault = |source| StepError::Io { action: "apply", path: step.path.clone(), source };
        faults.before(Point::Step).map_err(fault)?;
        step.perform(ground)?;
        progress(Progress::Made(made));
    }
    Ok(())
}

fn unwritten(journal: &Journal) -> impl Fn(io::Error) -> StepError + use<> {
    let path = journal.dir().to_owned();
    move |source| StepError::Journal { path: path.clone(), source }
}

/// What the steps changed reaches the disk.
fn sync(journal: &Journal, ground: &Ground<'_>) -> io::Result<()> {
    let mut dirs = BTreeSet::new();
    for step in journal.steps() {
        let path = step?.path;
        if dirs.insert(path.split().0) && dirs.len() > FEW {
            return Ok(syncfs(&ground.slots)?);
        }
    }
    for dir in dirs {
        let opened = match &dir {
            None => open_dir(ground.workspace.root(), "."),
            Some(path) => match ground.workspace.place(path) {
                Ok(place) => open_dir(&place.dir, place.name),
                // It was removed by a step.
                Err(_) => continue,
            },
        };
        match opened {
            Ok(dir) => fsync(&dir)?,
            Err(rustix::io::Errno::NOENT) => {}
            // It cannot be read, so it cannot be opened to be synced alone.
            Err(_) => return Ok(syncfs(&ground.slots)?),
        }
    }
    Ok(())
}

fn open_dir(dir: &OwnedFd, name: impl rustix::path::Arg) -> Result<OwnedFd, rustix::io::Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(dir, name, flags, Mode::empty())
}

/// Takes back whatever was made, the last first. The words are about what could not be.
pub(crate) fn take_all_back(
    journal: &Journal,
    ground: &Ground<'_>,
    faults: &mut dyn Faults,
) -> Result<Vec<String>, ApplyError> {
    let mut left = Vec::new();
    for number in journal.order().into_iter().rev() {
        let back = (|| {
            faults.before(Point::Back)?;
            journal.step(number as usize)
        })();
        let step = back.map_err(ApplyError::io("take back what", journal.dir()))?;
        match step.take_back(ground) {
            Ok(stuck) => left.extend(stuck),
            Err(StepError::Workspace(error)) => left.push(words(&error)),
            Err(source) => return Err(ApplyError::TakenBack { source, left }),
        }
    }
    sync(journal, ground).map_err(ApplyError::io("sync", journal.dir()))?;
    Ok(left)
}

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
    let kept = journal.dir().with_extension("kept");
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
    let ledger_hash = match ledger.has(operation.number) {
        true => String::new(),
        false => ledger.add(operation.clone())?,
    };
    if !journal.told {
        faults.before(Point::Event).map_err(at)?;
        let event = event(journal, &operation, ledger_hash).map_err(at)?;
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
    let operation_ = number;
    Ok(match operation.kind {
        OperationKind::Undo(of) => {
            EventKind::Undone { manifest, entries, operation: operation_, of, ledger, paths }
        }
        _ => EventKind::Applied { manifest, entries, operation: operation_, ledger, paths },
    })
}

/// The workspace that a journal speaks of, if it is still that.
pub(crate) fn workspace_of(journal: &Journal) -> Result<Workspace, String> {
    let head = &journal.head;
    let workspace = Workspace::open(&head.workspace).map_err(|error| words(&error))?;
    if workspace.identity() == head.identity {
        return Ok(workspace);
    }
    Err(format!("{} is another directory now", head.workspace.display()))
}

fn words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", words(source)),
        None => error.to_string(),
    }
}

impl Act {
    /// Whether its slot holds something of the host's once it is made.
    pub(crate) fn keeps(&self) -> Option<u64> {
        match self {
            Self::Exchange { slot, .. } | Self::Take { slot, .. } => Some(*slot),
            Self::Put { .. } | Self::Chmod { .. } | Self::Rmdir { .. } => None,
        }
    }
}
