//! The host runner: takes tasks from a server, runs each in a sandbox of this host, and says how it went.
//!
//! [`serve`] is the whole life of one. It reaches its server by a [`Link`]: over HTTP, or as a call in the same
//! process. What a task may do is judged here once more, by the settings of this host ([`Desk`]), right before it starts.
//! `attempt` is one task's way, `telling` what is said of it, in `parcels` that a server takes, `pulse` keeps the lease and hears
//! of cancels, `errand` is work on changes that lie here, `journal` is what survives a `kill -9`.
//!
//! Deliberately absent: any decision about what runs next, and the bare host.

mod artifacts;
mod attempt;
mod backoff;
mod claims;
mod errand;
mod ground;
mod held;
mod journal;
mod link;
mod logs;
mod order;
mod outcome;
mod parcels;
mod pulse;
mod recover;
mod telling;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cofferdam_core::control::id::RunnerId;
use cofferdam_core::control::report::{Registration, Removed};
use cofferdam_sandbox::engine::Surroundings;
use cofferdam_sandbox::launcher::{Launcher, LauncherError};
use cofferdam_sandbox::reconcile::{reconcile, sweep_engines};
use cofferdam_sandbox::state::{StateDir, StateError};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use backoff::Backoff;
pub use errand::ACTOR;
pub(crate) use errand::MOST_ANSWER;
use held::HeldAttempts;
use journal::Journal;
pub use journal::JournalError;
pub use link::{Link, LinkError, Near};
pub use order::{Desk, Order};

/// What a runner is told by whoever starts it.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The same name again is the same runner.
    pub name: String,
    pub labels: Vec<String>,
    /// How many tasks it runs at once.
    pub capacity: u32,
    /// What its host can enforce, for whoever looks.
    pub host: Option<serde_json::Value>,
    /// How long what runs may go on once it was told to end.
    pub grace: Duration,
    /// Where runs are kept.
    pub state: PathBuf,
    /// Where workspaces are made for tasks that bring none.
    pub work: PathBuf,
    /// This very program.
    pub program: PathBuf,
    pub around: Surroundings,
    pub desk: Arc<dyn Desk>,
}

/// How a runner is told to end.
#[derive(Debug, Clone, Default)]
pub struct Ending {
    /// Nothing new is taken, what has not started is given back, what runs has its grace.
    pub drain: CancellationToken,
    /// The grace is over.
    pub at_once: CancellationToken,
}

#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    #[error("the server refuses this runner")]
    Refused(#[source] LinkError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Launcher(#[from] LauncherError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("cannot prepare {path}")]
    Work { path: PathBuf, source: std::io::Error },
    #[error("a part of the runner broke down: {0}")]
    Broken(String),
}

/// What all parts of a runner share.
#[derive(Debug)]
struct Runner<L> {
    link: L,
    setup: Setup,
    actor: String,
    state: StateDir,
    id: Mutex<RunnerId>,
    lease: Duration,
    beat: Duration,
    held: HeldAttempts,
    journal: Journal,
    /// Replaced where it dies.
    launcher: Mutex<Arc<Launcher>>,
    ending: Ending,
}

/// Takes tasks and runs them until it is told to end.
pub async fn serve<L: Link>(link: L, setup: Setup, ending: Ending) -> Result<(), RunnerError> {
    ground::make_private(&setup.work)?;
    let journal = Journal::open(&setup.state, &setup.name)?;
    let actor = format!("runner:{}", setup.name);
    let Begun { state, found, removed, launcher } = {
        let (setup, journal, actor) = (setup.clone(), journal.clone(), actor.clone());
        blocking(move || begin(&setup, &journal, &actor)).await??
    };
    let registration = Registration {
        name: setup.name.clone(),
        labels: setup.labels.clone(),
        capacity: setup.capacity,
        host: setup.host.clone(),
        holding: found.holding(),
        removed,
    };
    let Some(registered) = register(&link, &registration, &ending).await? else { return Ok(()) };
    let runner = Arc::new(Runner {
        link,
        actor,
        state,
        id: Mutex::new(registered.runner),
        lease: Duration::from_millis(registered.lease_ms),
        beat: Duration::from_millis(registered.heartbeat_ms.max(10)),
        held: HeldAttempts::default(),
        journal,
        launcher: Mutex::new(Arc::new(launcher)),
        ending,
        setup,
    });
    recover::report(&runner, found, &registered.drop).await;
    let pulse = tokio::spawn(pulse::beat(Arc::clone(&runner)));
    claims::take_until_drained(&runner).await;
    runner.drain().await;
    pulse.abort();
    pulse::leave(&runner).await;
    Ok(())
}

/// A host that was cleaned up.
struct Begun {
    state: StateDir,
    /// What of a life before this one is known.
    found: recover::Found,
    /// What was left of it, or of others.
    removed: Vec<Removed>,
    launcher: Launcher,
}

/// Cleans up after a life before this one.
fn begin(setup: &Setup, journal: &Journal, actor: &str) -> Result<Begun, RunnerError> {
    let state = StateDir::open(&setup.state)?;
    // What had ended before is told from what ended with us; so this comes first.
    let found = recover::look(journal, &state)?;
    let mut done = reconcile(&state, actor)?;
    done.extend(sweep_engines(&state, actor, &setup.around)?);
    // A server takes no more at once; all of it is in this host's own log.
    let most = Registration::MOST_REMOVED;
    let removed = done.iter().flat_map(recover::removed).take(most).collect();
    let launcher = Launcher::spawn(&setup.program, &state)?;
    Ok(Begun { state, found, removed, launcher })
}

/// Asks until there is an answer; a no is one. Nothing where it was told to end before.
async fn register<L: Link>(
    link: &L,
    registration: &Registration,
    ending: &Ending,
) -> Result<Option<cofferdam_core::control::report::Registered>, RunnerError> {
    let mut backoff = Backoff::default();
    loop {
        match link.register(registration).await {
            Ok(registered) => return Ok(Some(registered)),
            Err(error) if error.is_passing() && !error.is_untrusted() => {}
            Err(error) => return Err(RunnerError::Refused(error)),
        }
        tokio::select! {
            () = backoff.wait() => {}
            () = ending.drain.cancelled() => return Ok(None),
        }
    }
}

impl<L: Link> Runner<L> {
    fn id(&self) -> RunnerId {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Introduces it again, to a server that does not know it any more.
    async fn register_again(&self) -> Result<(), LinkError> {
        let registration = Registration {
            name: self.setup.name.clone(),
            labels: self.setup.labels.clone(),
            capacity: self.setup.capacity,
            host: self.setup.host.clone(),
            holding: self.held.names(),
            // That was told when it began.
            removed: Vec::new(),
        };
        let registered = self.link.register(&registration).await?;
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = registered.runner;
        self.held.stop(&registered.drop, held::Cause::Dropped);
        Ok(())
    }

    /// The launcher, a new one where the last has died.
    fn launcher(&self) -> Result<Arc<Launcher>, LauncherError> {
        let mut launcher = self.launcher.lock().unwrap_or_else(PoisonError::into_inner);
        if launcher.is_gone() {
            *launcher = Arc::new(Launcher::spawn(&self.setup.program, &self.state)?);
        }
        Ok(Arc::clone(&launcher))
    }

    /// Waits for what runs; what takes longer than the grace is stopped.
    async fn drain(&self) {
        self.held.give_back();
        tokio::select! {
            () = self.held.none() => return,
            () = tokio::time::sleep(self.setup.grace) => {}
            () = self.ending.at_once.cancelled() => {}
        }
        self.held.stop_all(held::Cause::Drained);
        self.held.none().await;
    }
}

/// Does what may block on a thread that may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RunnerError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| RunnerError::Broken(error.to_string()))
}

/// The same as a process of its own, which ends by signals: the first drains it, the second ends it at once.
pub fn run<L: Link>(
    connect: impl FnOnce() -> L,
    setup: Setup,
    ready: impl FnOnce(),
) -> Result<(), RunnerError> {
    let broken = |error: std::io::Error| RunnerError::Broken(error.to_string());
    let threads = usize::try_from(setup.capacity).unwrap_or(usize::MAX).saturating_add(SPARE);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(threads)
        .enable_all()
        .build()
        .map_err(broken)?;
    let served = runtime.block_on(async {
        let ending = Ending::default();
        let mut terminate = signal(SignalKind::terminate()).map_err(broken)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(broken)?;
        let told = ending.clone();
        tokio::spawn(async move {
            for token in [told.drain, told.at_once] {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                token.cancel();
            }
        });
        ready();
        serve(connect(), setup, ending).await
    });
    // A question that nobody will answer must not keep us.
    runtime.shutdown_background();
    served
}

/// Threads beside those of what runs: for errands and for looking things up.
const SPARE: usize = 16;
