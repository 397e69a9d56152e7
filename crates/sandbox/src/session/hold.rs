//! Holds a session: makes its sandbox, and is its only owner until the end.

use std::cell::Cell;
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use cofferdam_core::id::RunId;
use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::plan::Plan;
use cofferdam_core::record::Record;
use cofferdam_native::SysError;
use cofferdam_native::confined::Room;
use cofferdam_native::detach::leave_terminal;
pub use cofferdam_native::detach::let_go;

use super::door::{self, SOCKET};
use super::hall::{Hall, Over};
use super::job::EXECS;
use crate::backend::{Occupant, Stage, Starter, Streams};
use crate::run::{By, Prepared, RunError, perform_with, redactor};
use crate::runs::Scribe;
use crate::state::{StateDir, make_private_dir, write_atomically};

/// In a session's directory: each guarantee, what gives it, and what was read back.
const RECEIPT: &str = "receipt.json";

/// For how long it is held.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms<'a> {
    /// Ends with the other end of this, if there is one.
    pub tether: Option<BorrowedFd<'a>>,
    /// Ends when nothing has run for so long.
    pub idle_stop: Option<Duration>,
}

#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("cannot leave the terminal's session")]
    Detach { source: SysError },
}

/// Leaves the caller's terminal, so that what is typed there does not reach us.
pub fn detach() -> Result<(), HoldError> {
    leave_terminal().map_err(|source| HoldError::Detach { source })
}

/// A session that is over.
#[derive(Debug)]
pub struct Held {
    pub record: Record,
    /// The look from which another is to begin in its place.
    pub next: Option<RunId>,
}

/// Holds the session until it is over. `ready` is told its run when it can be reached.
/// To be called by a process with one thread that does nothing else.
pub fn hold(
    state: &StateDir,
    actor: &str,
    prepared: &Prepared,
    terms: Terms<'_>,
    ready: &dyn Fn(RunId),
) -> Result<Held, HoldError> {
    let holder = Holder { state, actor, terms, ready, next: Cell::new(None) };
    let streams = Streams { stdin: None, stdout: None, stderr: None };
    let by = By { session: Some(&holder), ..By::starter(Starter::Here) };
    let record = perform_with(by, state, actor, prepared, streams)?;
    Ok(Held { record, next: holder.next.get() })
}

struct Holder<'a> {
    state: &'a StateDir,
    actor: &'a str,
    terms: Terms<'a>,
    ready: &'a dyn Fn(RunId),
    next: Cell<Option<RunId>>,
}

impl std::fmt::Debug for Holder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Holder").field("terms", &self.terms).finish_non_exhaustive()
    }
}

impl Occupant for Holder<'_> {
    fn occupy(&self, room: &Room, plan: &Plan, stage: &Stage<'_>) -> Outcome {
        match self.serve(room, plan, stage) {
            Ok(over) => over.outcome(),
            Err(error) => {
                let message = format!("the session could not be held: {error}");
                Outcome::ended(OutcomeClass::SandboxFailure, None, message)
            }
        }
    }
}

impl Holder<'_> {
    fn serve(&self, room: &Room, plan: &Plan, stage: &Stage<'_>) -> io::Result<Over> {
        let run: RunId = stage.run.parse().map_err(io::Error::other)?;
        let workspace = plan.workspace.source.real.clone();
        let scribe = Scribe::new(self.state, run, workspace, self.actor.to_owned(), redactor(plan));
        make_private_dir(&stage.dir.join(EXECS)).map_err(io::Error::other)?;
        // What is enforced is known now; the record, which has it too, is written at the end.
        let receipt = serde_json::to_vec_pretty(&room.receipt)?;
        write_atomically(&stage.dir.join(RECEIPT), &receipt).map_err(io::Error::other)?;
        let listener = door::open(stage.dir)?;
        let Terms { tether, idle_stop } = self.terms;
        let hall = Hall::new(room, plan, stage.run, stage.dir, scribe)?.ending_after(idle_stop);
        (self.ready)(run);
        let over = hall.keep(&listener, stage.signals, tether);
        self.next.set(hall.next());
        fs::remove_file(stage.dir.join(SOCKET))?;
        over
    }
}
