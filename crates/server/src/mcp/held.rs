//! The session of a connection: started with it, ended with it, begun anew on `reset`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cofferdam_core::id::RunId;
use cofferdam_core::record::Record;
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::session::Client;
use cofferdam_sandbox::state::StateDir;

use super::{McpError, Setting};

/// Shared by all calls of one connection.
#[derive(Debug, Clone)]
pub(super) struct Held {
    setting: Arc<Setting>,
    store: Store,
    current: Arc<Mutex<Current>>,
}

#[derive(Debug)]
struct Current {
    run: RunId,
    /// The session ends when this is closed, however that comes about.
    tether: Option<ChildStdin>,
}

impl Held {
    pub(super) fn start(setting: &Setting) -> Result<Self, McpError> {
        let store = Store::new(&StateDir::open(&setting.state)?);
        let (run, tether) = begin(setting)?;
        let current = Arc::new(Mutex::new(Current { run, tether: Some(tether) }));
        Ok(Self { setting: Arc::new(setting.clone()), store, current })
    }

    pub(super) fn run(&self) -> RunId {
        self.lock().run
    }

    pub(super) fn client(&self) -> Client {
        Client::new(&self.store.dir(self.run()))
    }

    pub(super) fn record(&self) -> Result<Record, McpError> {
        Ok(self.store.record(self.run())?)
    }

    pub(super) fn program(&self) -> &Path {
        &self.setting.program
    }

    /// Ends the session and begins another in its place, without its changes.
    pub(super) fn reset(&self) -> Result<RunId, McpError> {
        let (run, tether) = begin(&self.setting)?;
        let mut current = self.lock();
        let before = std::mem::replace(&mut *current, Current { run, tether: Some(tether) });
        drop(before);
        Ok(run)
    }

    pub(super) fn end(&self) {
        self.lock().tether = None;
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn begin(setting: &Setting) -> Result<(RunId, ChildStdin), McpError> {
    let mut starter = Command::new(&setting.program)
        .args(["session", "start", "--tether", "--json"])
        .args(&setting.options)
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
    run.zip(tether).ok_or(McpError::NoSession)
}
