//! `cofferdam serve` from its first step to its last: address, store, first token, answers, end.
//!
//! The address is taken first: who cannot have it has made nothing. Deliberately absent: reading flags and printing,
//! which are the command's.

use std::io;
use std::path::{Path, PathBuf};

use cofferdam_sandbox::state::{StateError, write_atomically};
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::http::{Bound, HttpSettings, ListenError};
use crate::plane::{Plane, PlaneError, PlaneSettings};
use crate::runner::{self, Ending, Near, Setup};
use crate::store::{Database, StoreError};

/// All that a server is told.
#[derive(Debug)]
pub struct Serving {
    pub http: HttpSettings,
    pub database: Database,
    pub plane: PlaneSettings,
    /// Where the first token is kept.
    pub token_file: PathBuf,
    /// The runner inside, where there is to be one.
    pub runner: Option<Setup>,
}

/// A server that answers from now on.
#[derive(Debug, serde::Serialize)]
pub struct Started<'a> {
    pub url: String,
    pub database: String,
    pub token_file: &'a Path,
    /// On the very first start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot make the first token")]
    FirstToken(#[from] PlaneError),
    #[error("the first token could not be kept")]
    KeepToken(#[from] StateError),
    #[error("cannot start")]
    Io(#[from] io::Error),
}

/// Serves until a signal ends it. `ready` is told once it answers.
pub fn serve(
    serving: Serving,
    ready: impl FnOnce(&Started<'_>) -> io::Result<()>,
) -> Result<(), ServeError> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let stop = CancellationToken::new();
        let signals = Signals::take()?;
        let bound = Bound::new(&serving.http).await?;
        let plane = Plane::open(serving.database, serving.plane).await?;
        let token = plane.first_token().await?.map(|made| made.secret);
        if let Some(token) = &token {
            write_atomically(&serving.token_file, format!("{token}\n").as_bytes())?;
        }
        let (url, database) = (bound.url(), plane.database().to_string());
        let leaving = bound.leaving();
        let answering = tokio::spawn(bound.serve(plane.clone(), stop.clone()));
        ready(&Started { url, database, token_file: &serving.token_file, token })?;
        let inside = serving.runner.map(|setup| Inside::start(&plane, setup));
        signals.end(&Told { leaving, stop }, inside, answering).await;
        plane.close().await;
        Ok(())
    })
}

/// The runner in this process.
struct Inside {
    ending: Ending,
    running: tokio::task::JoinHandle<()>,
}

impl Inside {
    fn start(plane: &Plane, setup: Setup) -> Self {
        let (ending, near) = (Ending::default(), Near::new(plane.clone()));
        let told = ending.clone();
        let running = tokio::spawn(async move {
            if let Err(error) = runner::serve(near, setup, told).await {
                let error: &dyn std::error::Error = &error;
                tracing::error!(error, "the runner inside has ended: tasks wait for another");
            }
        });
        Self { ending, running }
    }
}

/// What those who answer are told of the end, in this order.
struct Told {
    leaving: CancellationToken,
    stop: CancellationToken,
}

/// Whether what was begun is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Haste {
    No,
    AtOnce,
}

/// What ends a server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn take() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for one and stops; a second one does not wait for what was begun.
    async fn end(
        mut self,
        told: &Told,
        inside: Option<Inside>,
        mut answering: tokio::task::JoinHandle<()>,
    ) {
        self.next().await;
        tracing::info!("stopping: what was begun is finished");
        // What runs may take a while: meanwhile nobody is told that there is room for more.
        told.leaving.cancel();
        let mut haste = Haste::No;
        if let Some(Inside { ending, mut running }) = inside {
            ending.drain.cancel();
            tokio::select! {
                _ = &mut running => {}
                () = self.next() => {
                    haste = Haste::AtOnce;
                    ending.at_once.cancel();
                    // What it stops is gone and reported before the store is closed.
                    if let Err(error) = running.await {
                        tracing::error!(%error, "the runner inside did not end well");
                    }
                }
            }
        }
        told.stop.cancel();
        if haste == Haste::AtOnce {
            // Who said it twice while the runner ended does not say it again for open requests.
            return answering.abort();
        }
        tokio::select! {
            ended = &mut answering => {
                if let Err(error) = ended {
                    tracing::error!(%error, "the server did not end well");
                }
            }
            () = self.next() => answering.abort(),
        }
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
