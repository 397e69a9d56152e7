//! Makes the steps of a journal, or takes them all back.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, fsync, openat, syncfs};

use super::faults::{Faults, Point};
use super::finish::{close, finish, forget, tell_taken_back};
use super::ground::Ground;
use super::journal::{Journal, JournalWriter};
use super::stage::Stage;
use super::step::StepError;
use super::{ApplyError, Progress, Site, applies};
use crate::changes::beneath::Workspace;
use crate::changes::ledger::{Ledger, Operation};
use crate::changes::turn::Turn;

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
        let ground = Ground::new(self.site.workspace, slots);
        let mut begun = 0;
        let made = make(&journal, &ground, &mut begun, faults, progress).and_then(|()| {
            let done = faults.before(Point::Done).and_then(|()| sync(&journal, &ground));
            done.and_then(|()| journal.set_done()).map_err(unwritten(&journal))
        });
        if let Err(error) = made {
            return Err(Failed(self.take_back(&journal, &ground, begun, error, faults)));
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
        // Where that failed the turn stays, and the next command cleans up. What matters is why it began.
        match removed {
            Ok(()) | Err(_) => error,
        }
    }

    fn take_back(
        self,
        journal: &Journal,
        ground: &Ground<'_>,
        begun: usize,
        source: StepError,
        faults: &mut dyn Faults,
    ) -> ApplyError {
        match take_back(journal, ground, begun, faults) {
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

/// `begun` counts the steps that were made, and the one that failed.
fn make(
    journal: &Journal,
    ground: &Ground<'_>,
    begun: &mut usize,
    faults: &mut dyn Faults,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), StepError> {
    for (made, number) in (1u64..).zip(journal.order()) {
        let step = journal.step(number as usize).map_err(unwritten(journal))?;
        let fault = |source| StepError::Io { action: "apply", path: step.path.clone(), source };
        faults.before(Point::Step).map_err(fault)?;
        *begun += 1;
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
            None => open_dir(ground.workspace().root(), "."),
            Some(path) => match ground.workspace().place(path) {
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

/// Takes back whatever was made by somebody who died, the last first.
pub(crate) fn take_all_back(
    journal: &Journal,
    ground: &Ground<'_>,
    faults: &mut dyn Faults,
) -> Result<Vec<String>, ApplyError> {
    take_back(journal, ground, journal.len(), faults)
}

/// Takes back the first `begun` steps, the last first. The words are about what could not be.
fn take_back(
    journal: &Journal,
    ground: &Ground<'_>,
    begun: usize,
    faults: &mut dyn Faults,
) -> Result<Vec<String>, ApplyError> {
    let mut left = Vec::new();
    let mut order = journal.order();
    order.truncate(begun);
    for number in order.into_iter().rev() {
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

/// The workspace that a journal speaks of, if it is still that.
pub(crate) fn workspace_of(journal: &Journal) -> Result<Workspace, String> {
    let head = &journal.head;
    let workspace = Workspace::open(&head.workspace).map_err(|error| words(&error))?;
    if workspace.identity() == head.identity {
        return Ok(workspace);
    }
    Err(format!("{} is another directory now", head.workspace.display()))
}

pub(crate) fn words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", words(source)),
        None => error.to_string(),
    }
}
