//! The launcher: a small process with one thread that makes native sandboxes for a process that has
//! many, and keeps some ready.
//!
//! A process with threads must not copy itself, so it starts this one ([`Launcher::spawn`]) and asks it
//! for sandboxes over a socket that only the two have. What it gets is a sandbox that stands and waits;
//! the command, its environment and its streams then go from the asker straight into it. Secrets are
//! none of the launcher's business.
//!
//! A prepared sandbox is used once, and only for a plan of the very profile it was made for, and only
//! while the host still looks as it did then. Everything else is made when asked for. When the socket
//! closes, by a `kill -9` too, the launcher takes down all that it made, and the kernel does where the
//! launcher cannot.

mod place;
mod serve;
mod shelf;
mod trial;
mod wire;

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cofferdam_core::plan::Profile;
use cofferdam_native::channel::{Channel, Message};
use cofferdam_native::confined::{ConfineError, Confinement, Draft, Received, Running};
use cofferdam_native::process::StartError;

use crate::state::{StateDir, StateError};
pub(crate) use place::{Swept, sweep_dead};
pub use serve::serve;
pub use shelf::{Depth, NotADepth};
pub use trial::{Ended, Rest, TrialError, Trials};
use wire::{Answer, Request};

/// A launcher that runs. Dropping it ends it, and with it everything that it made.
#[derive(Debug)]
pub struct Launcher {
    /// One question at a time, with its answer.
    channel: Mutex<Option<Channel>>,
    process: Child,
}

#[derive(Debug, thiserror::Error)]
pub enum LauncherError {
    #[error("cannot start the launcher {program}")]
    Spawn { program: String, source: std::io::Error },
    #[error("the launcher's channel is broken")]
    Channel { source: cofferdam_native::SysError },
    #[error("the launcher was told something that it does not understand")]
    Garbled { source: serde_json::Error },
    #[error(transparent)]
    State(#[from] StateError),
}

/// A sandbox that the launcher keeps for us until we say that it is over.
#[derive(Debug)]
pub(crate) struct Lease<'a> {
    launcher: &'a Launcher,
    name: String,
}

/// What a launcher answered, and what came with that.
struct Answered {
    answer: Answer,
    below: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

/// The launcher is gone, and with it the sandbox.
#[derive(Debug)]
pub(crate) struct Lost;

impl Launcher {
    /// Starts `program launcher`, which is to call [`serve`] with its standard input.
    pub fn spawn(program: &Path, state: &StateDir) -> Result<Self, LauncherError> {
        Self::spawn_with(program, state, Depth::default())
    }

    /// The same, with so many sandboxes kept ready for each profile.
    pub fn spawn_with(
        program: &Path,
        state: &StateDir,
        depth: Depth,
    ) -> Result<Self, LauncherError> {
        let (ours, theirs) = Channel::pair().map_err(|source| LauncherError::Channel { source })?;
        let process = Command::new(program)
            .arg("launcher")
            .arg("--state")
            .arg(state.root())
            .arg("--depth")
            .arg(depth.to_string())
            .env_clear()
            .current_dir("/")
            // Out of the caller's group: what a terminal sends there is for the caller to pass on.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(|source| LauncherError::Spawn {
                program: program.display().to_string(),
                source,
            })?;
        Ok(Self { channel: Mutex::new(Some(ours)), process })
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Whether it was found to be gone, or to make no sense. Another is to be spawned then.
    pub fn is_gone(&self) -> bool {
        self.lock().is_none()
    }

    /// Starts the command of the plan in a sandbox, a prepared one where there is one.
    pub(crate) fn start(
        &self,
        confinement: &Confinement<'_>,
    ) -> Result<(Running, Lease<'_>), StartError> {
        let Confinement { plan, run_id, state, stdin } = *confinement;
        let request = Request::Take { run: run_id.to_owned(), dir: state.to_owned().into() };
        let question = wire::with_below(&request, &wire::bytes(&Profile::of(plan)));
        let draft = || Draft::new(plan, run_id, stdin);
        let (Answered { answer, below, descriptors }, draft) =
            self.ask(&question, draft).map_err(|Lost| gone())?;
        let name = match answer {
            Answer::Handed { name } => name,
            Answer::Refused { message, remedy } => {
                return Err(ConfineError::Reported { message, remedy }.into());
            }
            Answer::Violated { violation } => {
                return Err(ConfineError::Violated { violation }.into());
            }
            Answer::Finished { .. } => return Err(gone()),
        };
        let lease = Lease { launcher: self, name };
        let Ok([pidfd, control]) = <[OwnedFd; 2]>::try_from(descriptors) else {
            return Err(gone());
        };
        let started = draft.and_then(|draft| {
            let sent = Received { pidfd, control }.order(draft)?;
            let notes = serde_json::from_slice(&below).map_err(|_| gone())?;
            sent.started(notes, plan)
        });
        match started {
            Ok(running) => Ok((running, lease)),
            Err(error) => {
                // The error stands; what of the sandbox would not go is swept with the launcher.
                lease.finish().ok();
                Err(error)
            }
        }
    }

    /// Asks, and does what can be done until there is an answer.
    fn ask<T>(
        &self,
        question: &[u8],
        meanwhile: impl FnOnce() -> T,
    ) -> Result<(Answered, T), Lost> {
        let mut channel = self.lock();
        let answer = channel.as_ref().and_then(|channel| {
            channel.send(question, &[]).ok()?;
            let done = meanwhile();
            let Message { bytes, descriptors } = channel.receive().ok()??;
            let (answer, below) = wire::read(&bytes).ok()?;
            Some((Answered { answer, below: below.to_vec(), descriptors }, done))
        });
        if answer.is_none() {
            // Out of step with it there is no going on; closed, it ends.
            *channel = None;
        }
        answer.ok_or(Lost)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Channel>> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        *self.lock() = None;
        // It ends by itself; one that is waited for by somebody else has ended, too.
        self.process.wait().ok();
    }
}

impl Lease<'_> {
    /// Has the sandbox taken down, and says what of it would not go.
    pub(crate) fn finish(self) -> Result<Vec<String>, Lost> {
        let question = wire::bytes(&Request::Finish { name: self.name.clone() });
        match self.launcher.ask(&question, || ()) {
            Ok((Answered { answer: Answer::Finished { left }, .. }, ())) => Ok(left),
            _ => Err(Lost),
        }
    }

    /// After the launcher was lost: takes down what the kernel leaves, and says what would not go.
    pub(crate) fn sweep(name: &str) -> Vec<String> {
        cofferdam_native::sweep(name)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn gone() -> StartError {
    ConfineError::Reported {
        message: "the launcher of sandboxes is gone".to_owned(),
        remedy: "start this program again, and see the system's log for what ended the launcher"
            .to_owned(),
    }
    .into()
}
