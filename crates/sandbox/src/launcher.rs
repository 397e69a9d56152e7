//! The launcher: a small process with one thread that makes native sandboxes for a process that has
//! many, and keeps some ready.
//!
//! A process with threads must not copy itself, so it starts this one ([`Launcher::spawn`]) and asks it
//! for sandboxes over a socket that only the two have. What it gets is a sandbox that stands and waits;
//! the command, its environment and its streams then go from the asker straight into it. Secrets are
//! none of the launcher's business.
//!
//! With the word that a sandbox is over, the launcher hands out the next of its profile, so that whoever starts one command
//! after the other has it in hand and need not ask.
//!
//! A prepared sandbox is used once, and only for a plan of the very profile it was made for, and only
//! while the host still looks as it did then. Everything else is made when asked for. When the socket
//! closes, by a `kill -9` too, the launcher takes down all that it made, and the kernel does where the
//! launcher cannot.

mod hand;
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
use cofferdam_native::confined::{ConfineError, Confinement, Draft, Running};
use cofferdam_native::process::StartError;
use cofferdam_native::witness::Witness;

use crate::state::{StateDir, StateError};
use hand::{Ahead, Given, Hand};
use place::Place;
pub(crate) use place::{Swept, sweep_dead};
pub use serve::serve;
pub use shelf::{Depth, NotADepth};
pub use trial::{Ended, Rest, TrialError, Trials};
use wire::{Answer, Next, Request};

/// A launcher that runs. Dropping it ends it, and with it everything that it made.
#[derive(Debug)]
pub struct Launcher {
    /// One question at a time, with its answer.
    channel: Mutex<Option<Channel>>,
    /// What it has handed out before anybody asked.
    ahead: Mutex<Hand>,
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
    profile: Box<Profile>,
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
        Ok(Self { channel: Mutex::new(Some(ours)), ahead: Mutex::default(), process })
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
        let Confinement { plan, run_id, stdin, .. } = *confinement;
        let profile = Box::new(Profile::of(plan));
        let draft = || Draft::new(plan, run_id, stdin);
        let (Given { name, received, notes }, draft) = match self.in_hand(&profile, confinement) {
            Some(given) => (given, draft()),
            None => self.take(&profile, confinement, draft)?,
        };
        let lease = Lease { launcher: self, name, profile };
        let started = draft.and_then(|draft| {
            let sent = received.order(draft)?;
            let notes = serde_json::from_slice(&notes).map_err(|_| gone())?;
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

    /// The one that was handed out ahead, where it is as good as a new one. One that is not goes back.
    fn in_hand(&self, profile: &Profile, confinement: &Confinement<'_>) -> Option<Given> {
        let Ahead { place, witness, given, .. } = self.ahead().take(profile)?;
        let (is_alive, run) = (given.received.is_alive(), confinement.state);
        let is_good = Witness::of(profile)
            .is_some_and(|now| place.give_if_good((&witness, &now), is_alive, run, profile.plan()));
        if !is_good {
            // What of it would not go is swept with the launcher.
            self.give_back(&given.name);
        }
        Some(given).filter(|_| is_good)
    }

    /// Asks for one, and does what can be done until it is there.
    fn take<T>(
        &self,
        profile: &Profile,
        confinement: &Confinement<'_>,
        meanwhile: impl FnOnce() -> T,
    ) -> Result<(Given, T), StartError> {
        let Confinement { run_id, state, .. } = *confinement;
        let request = Request::Take { run: run_id.to_owned(), dir: state.to_owned().into() };
        let question = wire::with_below(&request, &wire::bytes(profile));
        let (Answered { answer, below, descriptors }, done) =
            self.ask(&question, meanwhile).map_err(|Lost| gone())?;
        match answer {
            Answer::Handed { name } => match Given::new(name, descriptors, below) {
                Some(given) => Ok((given, done)),
                None => Err(gone()),
            },
            Answer::Refused { message, remedy } => {
                Err(ConfineError::Reported { message, remedy }.into())
            }
            Answer::Violated { violation } => Err(ConfineError::Violated { violation }.into()),
            Answer::Finished { .. } => Err(gone()),
        }
    }

    /// Has a sandbox taken down, and says what of it would not go. The next of its profile is kept in hand.
    fn finish(&self, name: String, profile: Box<Profile>) -> Result<Vec<String>, Lost> {
        let wants_next = !self.ahead().has(&profile);
        let question = wire::bytes(&Request::Finish { name, wants_next });
        let (Answered { answer, below, descriptors }, ()) = self.ask(&question, || ())?;
        let Answer::Finished { left, next } = answer else { return Err(Lost) };
        if let Some(Next { name, dir, witness }) = next.map(|next| *next)
            && let Some(given) = Given::new(name.clone(), descriptors, below)
        {
            let place = Place { name, dir: dir.0 };
            let dropped = self.ahead().keep(Ahead { profile, place, witness, given });
            if let Some(dropped) = dropped {
                self.give_back(&dropped.given.name);
            }
        }
        Ok(left)
    }

    /// One that will not be used.
    fn give_back(&self, name: &str) {
        let question = Request::Finish { name: name.to_owned(), wants_next: false };
        // Where the launcher is lost, so is the sandbox.
        self.ask(&wire::bytes(&question), || ()).ok();
    }

    fn ahead(&self) -> MutexGuard<'_, Hand> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.launcher.finish(self.name, self.profile)
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
