//! Networks for sandboxes: empty namespaces, in which a program can reach itself and nobody else.
//!
//! The kernel takes long to make one, so that none is made at the birth of a sandbox, which would wait for it: its maker makes
//! it while the sandbox is at work. A process that makes many sandboxes makes root's next one when it has time.
//!
//! Deliberately absent: any second use. What a program leaves in a network cannot all be seen from outside; see decision 0060.

use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sys::aside::aside;
use crate::sys::init::loopback_up;
use crate::sys::{self, SysError};

/// A new one, with its loopback up.
pub(crate) fn make() -> Result<OwnedFd, SysError> {
    aside(libc::CLONE_NEWNET, "network namespace", furnished)?
}

/// The same for a process of ours that is in a user namespace of its own, so that nobody has privileges in it who has none
/// there.
pub(crate) fn make_for(process: BorrowedFd<'_>) -> Result<OwnedFd, SysError> {
    aside(0, "network namespace", || {
        sys::enter_namespace(process, libc::CLONE_NEWUSER)?;
        sys::leave_namespace(libc::CLONE_NEWNET, "network")?;
        furnished()
    })?
}

/// The one that the calling process is in.
fn furnished() -> Result<OwnedFd, SysError> {
    loopback_up()?;
    let path = "/proc/self/ns/net";
    File::open(path).map(OwnedFd::from).map_err(|e| SysError::on("open", path, e))
}

/// One that nobody was in yet, for the sandbox that comes next.
#[derive(Debug, Default)]
pub(crate) struct NextNetwork(Mutex<Next>);

#[derive(Debug, Default)]
enum Next {
    #[default]
    Missing,
    Ready(OwnedFd),
    /// It could not be made: whoever needs it tries again, and says why not.
    Refused,
}

impl NextNetwork {
    pub(crate) fn take(&self) -> Result<OwnedFd, SysError> {
        match std::mem::take(&mut *self.lock()) {
            Next::Ready(network) => Ok(network),
            Next::Missing | Next::Refused => make(),
        }
    }

    pub(crate) fn is_missing(&self) -> bool {
        matches!(*self.lock(), Next::Missing)
    }

    /// Makes it, in the place of what is there.
    pub(crate) fn make_ready(&self) {
        *self.lock() = make().map_or(Next::Refused, Next::Ready);
    }

    fn lock(&self) -> MutexGuard<'_, Next> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
