//! Starts without a run: no record, no events. For measuring what a start costs.

use std::cell::RefCell;
use std::io;
use std::process::{Command, Stdio};

use cofferdam_core::plan::Plan;
use cofferdam_native::SysError;
use cofferdam_native::confined::{Confinement, Running};
use cofferdam_native::process::{StartError, StdinKind};
use cofferdam_native::signals::Signals;
use cofferdam_native::supervise::{Notice, Status, StreamName, Watch, supervise};

use super::place::{Place, Pool};
use crate::backend::bounds::unwatched_disk;
use crate::backend::local::passage;
use crate::backend::native::{Keeper, sandbox};
use crate::backend::{Starter, Streams};
use crate::state::{StateDir, StateError};

/// Where trials keep their traces, each until it is finished.
#[derive(Debug)]
pub struct Trials {
    pool: Pool,
    signals: Signals,
    next: RefCell<Option<Place>>,
}

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error("the trial did not start")]
    Start(#[from] StartError),
    #[error("the trial was lost")]
    Lost(#[from] SysError),
    #[error("the command did not start")]
    Plain(#[from] io::Error),
}

/// A command that has ended, in a sandbox that has not been taken down.
#[derive(Debug)]
pub struct Ended<'a> {
    /// Absent where a signal ended it.
    pub exit_code: Option<i32>,
    pub rest: Rest<'a>,
}

#[derive(Debug)]
pub struct Rest<'a>(Option<(Keeper<'a>, Place)>);

impl Trials {
    pub fn open(state: &StateDir) -> Result<Self, TrialError> {
        let next = RefCell::new(None);
        Ok(Self { pool: Pool::open(state)?, signals: Signals::take()?, next })
    }

    /// The bare command, for comparison.
    pub fn plain(&self, plan: &Plan) -> Result<Ended<'static>, TrialError> {
        let program = plan.command.first().map(|arg| arg.0.clone()).unwrap_or_default();
        let mut command = Command::new(program);
        command.args(plan.command.iter().skip(1).map(|arg| &arg.0)).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Ended { exit_code: command.status()?.code(), rest: Rest(None) })
    }

    /// In a sandbox, watched like a run.
    pub fn sandboxed<'a>(
        &self,
        starter: Starter<'a>,
        plan: &Plan,
    ) -> Result<Ended<'a>, TrialError> {
        let place = match self.next.take() {
            Some(place) => place,
            None => self.pool.place()?,
        };
        let streams = Streams { stdin: None, stdout: None, stderr: None };
        let stdin = StdinKind::Empty;
        let asked = Confinement { plan, run_id: &place.name, state: &place.dir, stdin };
        let (Running { process, .. }, keeper) = sandbox(starter, &asked)?;
        let ended =
            supervise(process, passage(streams), unwatched_disk(plan), &self.signals, &mut Deaf)?;
        let exit_code = match ended.status {
            Status::Exited(code) => Some(code),
            Status::Signaled(_) => None,
        };
        Ok(Ended { exit_code, rest: Rest(Some((keeper, place))) })
    }

    /// Makes the directory for the next one, when there is time.
    pub fn make_ready(&self) -> Result<(), TrialError> {
        self.next.replace(Some(self.pool.place()?));
        Ok(())
    }

    pub fn close(self) -> Result<(), TrialError> {
        Ok(self.pool.remove()?)
    }
}

impl Rest<'_> {
    /// Takes the sandbox down, and says what of it would not go.
    pub fn finish(self) -> Vec<String> {
        let Some((keeper, place)) = self.0 else { return Vec::new() };
        let (mut left, _) = keeper.finish();
        left.extend(place.remove());
        left
    }
}

/// Keeps nothing of what is said.
struct Deaf;

impl Watch for Deaf {
    fn output(&mut self, _: StreamName, _: &[u8]) {}

    fn notice(&mut self, _: &Notice) {}
}
