//! The session of a connection: begun with it or with its first call, ended with it, begun anew on `reset`.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cofferdam_core::id::RunId;
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::{Touched, touched};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::session::Client;
use cofferdam_sandbox::state::StateDir;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::answer::Shown;
use super::run::blocking;
use super::{McpError, Setting};
use crate::own::{Said, Work, hear};

/// Bytes of a diff that are read: enough to show some of it.
const MOST_READ: usize = 1 << 20;

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

    /// What a command of our own says about the session, up to so many bytes.
    pub(super) async fn own(
        &self,
        work: Work,
        words: &[&str],
        paths: &[String],
        most: usize,
    ) -> Result<Said, String> {
        let record = self.record().await?;
        let mut command = Command::new(&self.setting.program);
        command.args(words).args(["--session", &record.run.to_string()]).args(paths);
        command.current_dir(&record.workspace);
        let said = blocking(move || hear(&mut command, work, most)).await?;
        said.map_err(|error| format!("`cofferdam {}`: {error}", words[0]))
    }

    /// What the session has changed, as text. Not all of it is read.
    pub(super) async fn diff(&self, paths: &[String]) -> Result<Shown, String> {
        let said = self.own(Work::Look, &["diff"], paths, MOST_READ).await?;
        match said.is_cut() {
            true => Ok(Shown::beginning(&said.stdout)),
            false => Ok(Shown::bytes(complete(&said)?)),
        }
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

/// Its output, or why there is none.
pub(super) fn complete(said: &Said) -> Result<&[u8], String> {
    match (said.is_cut(), said.success()) {
        (false, true) => Ok(&said.stdout),
        (false, false) => Err(String::from_utf8_lossy(&said.stderr).into_owned()),
        (true, _) => Err("it is too much to be told".to_owned()),
    }
}
