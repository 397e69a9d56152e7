//! What carries plans out. A backend gets a plan and does it; it decides nothing.

pub(crate) mod bounds;
pub(crate) mod docker;
pub(crate) mod local;
pub(crate) mod native;

use std::os::fd::BorrowedFd;
use std::path::Path;

use cofferdam_core::backend::Backend;
use cofferdam_core::caps::Caps;
use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::plan::Plan;
use cofferdam_core::receipt::{Cleanup, Holding, Violation};
use cofferdam_core::record::Usage;
use cofferdam_core::spec::SandboxSpec;
use cofferdam_native::confined::Room;
use cofferdam_native::signals::Signals;
use cofferdam_native::supervise::Watch;
use serde_json::{Map, Value};

pub use cofferdam_native::stock::Stock;

use crate::engine::{Engine, Surroundings};
use crate::host::total_memory;
use crate::launcher::Launcher;

/// The caller's own streams, for the command to use.
#[derive(Debug, Clone, Copy)]
pub struct Streams<'a> {
    pub stdin: Option<BorrowedFd<'a>>,
    pub stdout: Option<BorrowedFd<'a>>,
    pub stderr: Option<BorrowedFd<'a>>,
}

/// What a backend needs besides the plan.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) run: &'a str,
    /// The run's own directory.
    pub(crate) dir: &'a Path,
    /// The state directory.
    pub(crate) state: &'a Path,
    /// Where mounts for this run's container are made.
    pub(crate) mounts: &'a Path,
    /// The engine that was found when the run was prepared.
    pub(crate) engine: Option<&'a Engine>,
    /// This very program.
    pub(crate) program: &'a Path,
    pub(crate) streams: Streams<'a>,
    pub(crate) signals: &'a Signals,
    pub(crate) starter: Starter<'a>,
    /// Who uses a sandbox that is made for many commands.
    pub(crate) session: Option<&'a dyn Occupant>,
}

/// Gives a sandbox its commands, until it says that the session is over.
pub(crate) trait Occupant: std::fmt::Debug {
    fn occupy(&self, room: &Room, plan: &Plan, stage: &Stage<'_>) -> Outcome;
}

/// Who makes native sandboxes.
#[derive(Debug, Clone, Copy)]
pub enum Starter<'a> {
    /// This process, which must have one thread.
    Here,
    /// The same, where it makes many.
    Repeatedly(&'a Stock),
    Launcher(&'a Launcher),
}

impl<'a> Starter<'a> {
    /// What this process keeps for the next one.
    pub(crate) fn stock(self) -> Option<&'a Stock> {
        match self {
            Self::Repeatedly(stock) => Some(stock),
            Self::Here | Self::Launcher(_) => None,
        }
    }
}

/// A sandbox that stands: the command has been started in it.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    pub(crate) container_id: Option<String>,
    pub(crate) image_digest: Option<String>,
    /// Settings as they were read back.
    pub(crate) effective: Map<String, Value>,
    pub(crate) receipt: Vec<Holding>,
}

/// How it went.
#[derive(Debug)]
pub(crate) struct Finish {
    pub(crate) outcome: Outcome,
    pub(crate) usage: Option<Usage>,
    pub(crate) cleanup: Cleanup,
}

/// A run that has begun: its sandbox is in the making, where it has one.
#[derive(Debug)]
pub(crate) enum Begun {
    Local,
    Native(native::Begun),
    /// An engine is told everything when the command is to start.
    Container,
}

/// A process that is to be a sandbox can be under way before the run is marked: it leaves nothing behind.
pub(crate) fn set_out(plan: &Plan, stage: &Stage<'_>) -> OnItsWay {
    match plan.backend {
        Backend::Native => OnItsWay::Native(native::set_out(plan, stage)),
        Backend::Local | Backend::Docker | Backend::Podman => OnItsWay::Nothing,
    }
}

#[derive(Debug)]
pub(crate) enum OnItsWay {
    Nothing,
    Native(native::OnItsWay),
}

impl OnItsWay {
    /// Begins to carry a plan out. Nothing of the command runs before [`Begun::run`].
    pub(crate) fn begin(self, plan: &Plan, stage: &Stage<'_>) -> Begun {
        match self {
            Self::Native(under_way) => Begun::Native(under_way.begin(stage)),
            Self::Nothing if plan.backend == Backend::Local => Begun::Local,
            Self::Nothing => Begun::Container,
        }
    }

    /// The run is not to be.
    pub(crate) fn give_up(self) {
        if let Self::Native(under_way) = self {
            under_way.give_up();
        }
    }
}

impl Begun {
    /// Runs the command to its end.
    pub(crate) fn run(self, plan: &Plan, stage: &Stage<'_>, observer: &mut dyn Observer) -> Finish {
        match self {
            Self::Local => local::run(plan, stage, observer),
            Self::Native(begun) => match stage.session {
                None => native::run(begun, plan, stage, observer),
                Some(occupant) => native::hold(begun, plan, stage, observer, occupant),
            },
            Self::Container => docker::run(plan, stage, observer),
        }
    }
}

impl Finish {
    /// The sandbox could not even be begun.
    pub(crate) fn not_begun(error: &dyn std::error::Error) -> Self {
        let cause = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        let message = format!("{error}{cause}");
        let outcome = Outcome::ended(OutcomeClass::SandboxFailure, None, message);
        Self { outcome, usage: None, cleanup: Cleanup::terminated() }
    }
}

/// Who is told when the sandbox stands, and what happens in it.
pub(crate) trait Observer: Watch {
    fn standing(&mut self, standing: Standing);

    /// The sandbox or the command in it is at work, and nobody waits for us for a moment.
    fn at_leisure(&mut self);

    /// Something that is forbidden succeeded when the sandbox tried it itself.
    fn violated(&mut self, violation: &Violation);

    /// What was tried before the command was tried again after it, and refused again.
    fn proved_again(&mut self);

    /// Nothing of the command runs any more, so that what it wrote stays as it is; the sandbox itself is
    /// still to be taken down, which takes its time. Not told where that is not certain so early.
    fn quiet(&mut self);
}

/// What each backend can do here for such a request, in the order in which `auto` tries them. Asked one by
/// one: a probe that is not needed is not made. The engine that was asked last is left in `engine`.
pub(crate) fn offers<'a>(
    spec: &'a SandboxSpec,
    around: &'a Surroundings,
    engine: &'a mut Option<Engine>,
) -> impl Iterator<Item = Caps> {
    Backend::ALL
        .into_iter()
        .filter(|backend| spec.backend.named().is_none_or(|named| named == *backend))
        .map(|backend| match backend {
            Backend::Local => Caps { host_memory: total_memory(), ..Caps::local() },
            Backend::Native => cofferdam_native::caps::caps(),
            Backend::Docker | Backend::Podman => match Engine::find(backend, around) {
                Ok(found) => docker::caps(backend, engine.insert(found), spec, around),
                Err(lack) => Caps::unusable(backend, lack.reason, lack.remedy),
            },
        })
}
