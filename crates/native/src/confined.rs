//! Starts a command in a sandbox of its own, in two steps.
//!
//! [`prepare`] makes a process with new namespaces that confines itself by the
//! [recipe](crate::recipe), reports what it came to, and waits. [`Waiting::go`] tells it what to run.
//! [`start`] is the one and then the other: a sandbox that was prepared long ago and one that was made
//! for this very command are made, confined, read back and started by the same lines.
//!
//! Either all of the plan is in force when the command is executed, or nothing runs and the error says
//! why. A sandbox runs one command and then ends.
//!
//! Deliberately absent: any way to start with less. What the plan gives up by name it lists itself.

mod error;
mod holdings;
mod prepare;
mod streams;
mod waiting;

use std::os::fd::OwnedFd;
use std::path::Path;

use cofferdam_core::plan::{Plan, Profile};
use cofferdam_core::receipt::Holding;

use crate::cgroup::Cgroup;
use crate::process::{Process, StartError, StdinKind};
pub use error::ConfineError;
pub(crate) use prepare::check_owners;
pub use prepare::{Begun, Handed, Preparation, Prepared, begin, prepare};
pub use waiting::{Notes, Running, Waiting};

/// What to start, and where its traces go.
#[derive(Debug)]
pub struct Confinement<'a> {
    pub plan: &'a Plan,
    pub run_id: &'a str,
    /// The run's directory, which exists. In stage mode the changes end up in `upper` in it.
    pub state: &'a Path,
    pub stdin: StdinKind,
}

/// A command that runs in its sandbox.
#[derive(Debug)]
pub struct Confined {
    pub process: Process,
    pub hold: Hold,
    /// What is in force, as read back. What the plan gave up stands in the plan.
    pub receipt: Vec<Holding>,
    /// Settings by name, as read back.
    pub effective: Vec<(&'static str, String)>,
}

/// What has to be kept until the command has ended, and let go when its result is told: letting go of
/// a mount namespace takes longer than most commands.
#[derive(Debug)]
pub struct Hold {
    mounts: Option<OwnedFd>,
    cgroup: Cgroup,
}

impl Hold {
    /// Takes the sandbox down and says what of it would not go. To be called after the command ended.
    pub fn finish(mut self) -> Vec<String> {
        self.mounts = None;
        self.cgroup.remove()
    }
}

/// Starts the command of the plan, confined as the plan says.
pub fn start(confinement: &Confinement<'_>) -> Result<Confined, StartError> {
    let Confinement { plan, run_id, state, stdin } = *confinement;
    let profile = Profile::of(plan);
    let prepared = prepare(&Preparation { profile: &profile, name: run_id, state })?;
    let (waiting, handed) = prepared.hand_over()?;
    match waiting.go(plan, run_id, stdin) {
        Ok(Running { process, receipt, effective }) => {
            Ok(Confined { process, hold: handed.into_hold(), receipt, effective })
        }
        Err(error) => {
            // The error stands, whatever becomes of the sandbox; the kernel ends it with us at last.
            handed.finish();
            Err(error)
        }
    }
}
