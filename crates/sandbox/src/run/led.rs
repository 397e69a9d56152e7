//! A run that somebody with threads has a hand on: it has its name before it begins, can be told to stop, and tells
//! what happens while it happens.
//!
//! For processes that carry out many runs at once, as a runner does. The bare host is not among what they may use.

use std::fmt;
use std::sync::Arc;

use cofferdam_core::backend::Backend;
use cofferdam_core::id::RunId;
use cofferdam_core::record::Record;
use cofferdam_native::signals::{Relay, Signals};
use serde_json::{Map, Value};

use super::{By, Prepared, RunError, perform_with};
use crate::backend::{Starter, Streams};
use crate::clock;
use crate::launcher::Launcher;
use crate::state::{StateDir, StateError};

/// What somebody else decides about a run.
#[derive(Debug, Clone, Copy)]
pub struct Led<'a> {
    /// Its name, by [`new_run`].
    pub run: RunId,
    /// Makes its sandbox, where that is native.
    pub launcher: &'a Launcher,
    pub stop: &'a StopLine,
    pub hearing: &'a Hearing,
}

/// The run's end of a line by which it is told to stop.
#[derive(Debug)]
pub struct StopLine {
    signals: Signals,
}

/// The other end of a [`StopLine`].
#[derive(Debug)]
pub struct Stopper {
    relay: Relay,
}

/// Who is told of the run's events, each as it was written down.
#[derive(Clone)]
pub struct Hearing(Arc<Hear>);

type Hear = dyn Fn(&Map<String, Value>) + Send + Sync;

const TERMINATE: i32 = 15;

/// A name for a run that is about to begin.
pub fn new_run() -> Result<RunId, StateError> {
    clock::new_run_id(clock::now())
}

/// A line, and who pulls it.
pub fn stop_line() -> Result<(StopLine, Stopper), RunError> {
    let (signals, relay) = Signals::relayed().map_err(|source| RunError::Signals { source })?;
    Ok((StopLine { signals }, Stopper { relay }))
}

impl Stopper {
    /// Asks the command to end; what does not is killed after the plan's grace. One that has ended is not missed.
    pub fn stop(&self) {
        self.relay.send(TERMINATE);
    }
}

impl Hearing {
    pub fn new(hear: impl Fn(&Map<String, Value>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    pub(crate) fn hear(&self, event: &Map<String, Value>) {
        (self.0)(event);
    }
}

impl fmt::Debug for Hearing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hearing")
    }
}

/// Carries a plan out as one of many. A plan for the bare host is not carried out.
pub fn perform_led(
    led: Led<'_>,
    state: &StateDir,
    actor: &str,
    prepared: &Prepared,
    streams: Streams<'_>,
) -> Result<Record, RunError> {
    let starter = match prepared.plan.backend {
        Backend::Local => return Err(RunError::BareHost),
        Backend::Native => Starter::Launcher(led.launcher),
        // An engine makes its containers itself.
        Backend::Docker | Backend::Podman => Starter::Here,
    };
    let by = By {
        run: Some(led.run),
        signals: Some(&led.stop.signals),
        hearing: Some(led.hearing),
        ..By::starter(starter)
    };
    perform_with(by, state, actor, prepared, streams)
}
