//! The session of a connection: begun with it or with its first call, ended with it, begun anew on `reset`.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStdin, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cofferdam_core::id::RunId;
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::{Touched, touched};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::session::Client;
use cofferdam_sandbox::state::StateDir;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::run::blocking;
use super::{McpError, Setting};

/// Shared by all calls of one connection. With the last of them goes the session.
#[derive(Debug, Clone)]
pub(super) struct Held {
    setting: Arc<Setting>,
    store: Store,
    seats: Arc<Semaphore>,
    current: Arc<Mutex<Option<Current>>>,
}

#[derive(Debug)]
struct Current {
    run: RunId,
    /// The session ends when this is closed, however that comes about.
    _tether: ChildStdin,
    _seat: OwnedSemaphorePermit,
}

impl Held {
    /// Of one connection among others, which take the same seats. Its session begins when it is needed.
    pub(super) fn new(setting: &Arc<Setting>, seats: &Arc<Semaphore>) -> Result<Self, McpError> {
        let store = Store::new(&StateDir::open(&setting.state)?);
        let (setting, seats) = (Arc::clone(setting), Arc::clone(seats));
        Ok(Self { setting, store, seats, current: Arc::default() })
    }

    pub(super) fn setting(&self) -> &Setting {
        &self.setting
    }

    /// The session, begun now if it was not before. Blocks.
    pub(super) fn run(&self) -> Result<RunId, McpError> {
        let mut current = self.lock();
        if let Some(current) = &*current {
            return Ok(current.run);
        }
        let begun = self.begin()?;
        Ok(current.insert(begun).run)
    }

    pub(super) async fn client(&self) -> Result<Client, String> {
        let held = self.clone();
        let run = blocking(move || held.run()).await?.map_err(|error| error.to_string())?;
        Ok(Client::new(&self.store.dir(run)))
    }

    pub(super) async fn record(&self) -> Result<Record, String> {
        let held = self.clone();
        let found = blocking(move || Ok::<_, McpError>(held.store.record(held.run()?)?)).await?;
        found.map_err(|error| error.to_string())
    }

    /// Ends the session and begins another in its place, without its changes.
    pub(super) fn reset(&self) -> Result<RunId, McpError> {
        let mut current = self.lock();
        // Its seat is needed for the next.
        *current = None;
        let begun = self.begin()?;
        Ok(current.insert(begun).run)
    }

    pub(super) fn end(&self) {
        *self.lock() = None;
    }

    /// What a command of our own says about the session.
    pub(super) async fn own(&self, words: &[&str], paths: &[String]) -> Result<Said, String> {
        let record = self.record().await?;
        let mut command = Command::new(&self.setting.program);
        command.args(words).args(["--session", &record.run.to_string()]).args(paths);
        command.current_dir(&record.workspace).stdin(Stdio::null());
        let output = blocking(move || command.output()).await?;
        Ok(Said(output.map_err(|error| error.to_string())?))
    }

    /// How much the session has changed so far; nothing where that cannot be said cheaply.
    pub(super) async fn touched(&self) -> Option<Touched> {
        let held = self.clone();
        let count = move || {
            let run = held.run().ok()?;
            let workspace = held.store.record(run).ok()?.workspace;
            touched(&held.store.dir(run), &workspace).ok().flatten()
        };
        blocking(count).await.ok().flatten()
    }

    fn begin(&self) -> Result<Current, McpError> {
        let seat = Arc::clone(&self.seats).try_acquire_owned().map_err(|_| McpError::TooMany)?;
        let mut starter = Command::new(&self.setting.program)
            .args(["session", "start", "--tether", "--json"])
            .args(&self.setting.options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (tether, stdout) = (starter.stdin.take(), starter.stdout.take());
        let mut line = String::new();
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        starter.wait()?;
        let run = serde_json::from_str::<serde_json::Value>(&line)
            .ok()
            .and_then(|said| said["run"].as_str()?.parse().ok());
        let (run, tether) = run.zip(tether).ok_or(McpError::NoSession)?;
        Ok(Current { run, _tether: tether, _seat: seat })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a command of our own said, and how it ended.
#[derive(Debug)]
pub(super) struct Said(Output);

impl Said {
    pub(super) fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    pub(super) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    /// Its output, or why there is none.
    pub(super) fn success(&self) -> Result<String, String> {
        match self.0.status.success() {
            true => Ok(self.stdout()),
            false => Err(String::from_utf8_lossy(&self.0.stderr).into_owned()),
        }
    }
}
