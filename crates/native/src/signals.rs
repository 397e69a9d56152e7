//! Signals to us as something that can be waited for, so that they can be passed on.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub use crate::sys::stop_self;
use crate::sys::{self, SignalMask, SysError};

/// While this lives, the listed signals do not end us; they are read from a descriptor.
///
/// Signals that whoever started us had ignored are left alone: a run under `nohup` stays deaf to
/// hang-ups.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    before: SignalMask,
}

const PASSED_ON: [i32; 7] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGTSTP,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

impl Signals {
    /// Takes them over for the calling thread. To be called before the command is started, so that
    /// none is lost in between.
    pub fn take() -> Result<Self, SysError> {
        Self::take_these(&PASSED_ON)
    }

    /// The same for a command with a terminal, which has to hear of a new size.
    pub fn take_with_resizes() -> Result<Self, SysError> {
        Self::take_these(&[&PASSED_ON[..], &[libc::SIGWINCH]].concat())
    }

    fn take_these(signals: &[i32]) -> Result<Self, SysError> {
        let mut wanted = Vec::with_capacity(signals.len());
        for &signal in signals {
            if !sys::is_ignored(signal)? {
                wanted.push(signal);
            }
        }
        let before = sys::block_signals(&wanted)?;
        Ok(Self { fd: sys::signalfd(&wanted)?, before })
    }

    /// A signal that came meanwhile and asks us to end. Others that came are gone.
    pub fn to_end(&self) -> Option<i32> {
        const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
        while let Ok(Some(signal)) = self.next() {
            if ENDING.contains(&signal) {
                return Some(signal);
            }
        }
        None
    }

    /// One that came, if one did.
    pub fn next(&self) -> Result<Option<i32>, SysError> {
        sys::read_signal(self.fd.as_fd())
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // A mask that cannot be put back leaves signals blocked for the short rest of the process.
        sys::restore_signals(&self.before).ok();
    }
}
