//! The attempts that a runner has hold of, and how each is told to stop.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::report::Held;
use cofferdam_sandbox::run::Stopper;
use tokio::sync::Notify;

type Name = (TaskId, u32);

/// All of them.
#[derive(Debug, Default)]
pub(super) struct HeldAttempts {
    all: Mutex<BTreeMap<Name, Arc<Hold>>>,
    changed: Notify,
}

/// One of them, while it is held.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) name: Held,
    /// Whether another may work on the same files once the lease is over.
    pub(super) bound: BoundTo,
    stopper: Stopper,
    inner: Mutex<Inner>,
    told: Notify,
}

#[derive(Debug)]
struct Inner {
    cause: Option<Cause>,
    has_begun: bool,
}

/// What an attempt that outlives its lease could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundTo {
    /// Nothing: what it changes is kept apart.
    Nothing,
    /// Write where another was given the lock meanwhile.
    Lease,
}

/// Why an attempt is told to stop. The first word counts, but that it is no longer ours overrules all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Somebody asked for it.
    Canceled,
    /// It is no longer ours: nothing is reported.
    Dropped,
    /// The runner ends.
    Drained,
}

/// What a word about an attempt was to whoever holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    Known,
    New,
}

impl Hold {
    pub(super) fn new(name: Held, bound: BoundTo, stopper: Stopper) -> Self {
        let inner = Mutex::new(Inner { cause: None, has_begun: false });
        Self { name, bound, stopper, inner, told: Notify::new() }
    }

    /// Why it is to stop, if it is.
    pub(super) fn cause(&self) -> Option<Cause> {
        self.lock().cause
    }

    /// It starts now, unless it was told to stop before.
    pub(super) fn begin(&self) -> Result<(), Cause> {
        let mut inner = self.lock();
        match inner.cause {
            Some(cause) => Err(cause),
            None => {
                inner.has_begun = true;
                Ok(())
            }
        }
    }

    /// Says whether that was news. The run is asked to end once, however often we are told: whatever is asked again
    /// after its command has ended would end the sealing of what that changed.
    pub(super) fn stop(&self, cause: Cause) -> Told {
        let mut inner = self.lock();
        let before = inner.cause;
        if before.is_none() || cause == Cause::Dropped {
            inner.cause = Some(cause);
        }
        let is_new = inner.cause != before;
        drop(inner);
        if before.is_none() {
            self.stopper.stop();
        }
        if is_new {
            self.told.notify_waiters();
        }
        if is_new { Told::New } else { Told::Known }
    }

    /// Waits until it is told to stop.
    pub(super) async fn stopped(&self) -> Cause {
        loop {
            let told = self.told.notified();
            if let Some(cause) = self.cause() {
                return cause;
            }
            told.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldAttempts {
    pub(super) fn add(&self, hold: Arc<Hold>) {
        self.lock().insert((hold.name.task, hold.name.attempt), hold);
        self.changed.notify_waiters();
    }

    pub(super) fn remove(&self, name: Held) {
        self.lock().remove(&(name.task, name.attempt));
        self.changed.notify_waiters();
    }

    pub(super) fn names(&self) -> Vec<Held> {
        self.lock().values().map(|hold| hold.name).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Says whether that was news for one of them.
    pub(super) fn stop(&self, names: &[Held], cause: Cause) -> Told {
        let found: Vec<_> = {
            let all = self.lock();
            names.iter().filter_map(|name| all.get(&(name.task, name.attempt)).cloned()).collect()
        };
        found.iter().map(|hold| hold.stop(cause)).max().unwrap_or(Told::Known)
    }

    pub(super) fn stop_all(&self, cause: Cause) {
        let all: Vec<_> = self.lock().values().cloned().collect();
        for hold in all {
            hold.stop(cause);
        }
    }

    /// Of those that have not begun.
    pub(super) fn give_back(&self) {
        let all: Vec<_> = self.lock().values().cloned().collect();
        for hold in all.iter().filter(|hold| !hold.lock().has_begun) {
            hold.stop(Cause::Drained);
        }
    }

    /// Stops those that must not outlive their lease, which is over since `until`.
    pub(super) fn expire(&self, until: Instant) {
        if Instant::now() < until {
            return;
        }
        let all: Vec<_> = self.lock().values().cloned().collect();
        for hold in all.iter().filter(|hold| hold.bound == BoundTo::Lease) {
            hold.stop(Cause::Dropped);
        }
    }

    /// Waits until their number changes.
    pub(super) async fn change(&self, seen: usize) {
        loop {
            let changed = self.changed.notified();
            if self.len() != seen {
                return;
            }
            changed.await;
        }
    }

    /// Waits until there are none.
    pub(super) async fn none(&self) {
        loop {
            let changed = self.changed.notified();
            if self.len() == 0 {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Arc<Hold>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
