//! Starts a command in a sandbox of its own, in two steps.
//!
//! [`begin`] makes a process with new namespaces that confines itself by the
//! [recipe](crate::recipe), reports what it came to, and waits; [`bear`] and [`Unsupplied::supply`] are the two
//! halves of that. [`Received::order`] tells it what to run, and
//! [`Begun::go`] what to run as soon as it stands. A sandbox that was prepared long ago and one that was
//! made for this very command are made, confined, read back and started by the same lines.
//!
//! Either all of the plan is in force when the command is executed, or nothing runs and the error says
//! why. A sandbox runs one command and then ends; or it is a [`Room`] and takes many.
//!
//! Deliberately absent: any way to start with less. What the plan gives up by name it lists itself.

mod error;
mod holdings;
mod prepare;
mod room;
mod streams;
mod waiting;

use std::path::Path;

use cofferdam_core::plan::{Plan, Profile};

use crate::process::{StartError, StdinKind};
use crate::stock::Stock;
pub use error::ConfineError;
pub(crate) use prepare::check_owners;
pub use prepare::{Begun, Handed, Preparation, Prepared, Unsupplied, bear, begin, prepare};
pub use room::{Guest, Room};
pub use waiting::{Draft, Notes, Received, Running, Waiting};

/// What to start, and where its traces go.
#[derive(Debug)]
pub struct Confinement<'a> {
    pub plan: &'a Plan,
    pub run_id: &'a str,
    /// The run's directory, which exists. In stage mode the changes end up in `upper` in it.
    pub state: &'a Path,
    pub stdin: StdinKind,
}

/// Starts the command of the plan, confined as the plan says; a process that makes many has a stock. What is left to
/// do when it has ended is [`Handed::finish`].
pub fn start(
    confinement: &Confinement<'_>,
    stock: Option<&Stock>,
) -> Result<(Running, Handed), StartError> {
    let Confinement { plan, run_id, state, stdin } = *confinement;
    let profile = Profile::of(plan);
    let preparation = Preparation { profile: &profile, name: run_id, state, stock };
    begin(&preparation)?.go(plan, run_id, stdin)
}
