//! Signals to us as something that can be waited for, so that they can be passed on.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::pipe::{PipeFlags, pipe_with};

pub use crate::sys::stop_self;
use crate::sys::{self, SignalMask, SysError};

/// While this lives, the listed signals do not end us; they are read from a descriptor.
///
/// Signals that whoever started us had ignored are left alone: a run under `nohup` stays deaf to
/// hang-ups.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    /// What to put back; nothing where they come from a [`Relay`].
    before: Option<SignalMask>,
}

/// Hands signals that one thread took for the whole process on to another's [`Signals`].
#[derive(Debug)]
pub struct Relay {
    to: OwnedFd,
}

impl Relay {
    /// Hands one on. One who has ended is not missed.
    pub fn send(&self, signal: i32) {
        let mut words = [0u8; sys::SIGNAL_RECORD];
        words[..4].copy_from_slice(&signal.to_ne_bytes());
        // The far end is gone, or has more signals to read than anybody sends.
        rustix::io::write(&self.to, &words).ok();
    }
}

const PASSED_ON: [i32; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGTSTP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
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
        Ok(Self { fd: sys::signalfd(&wanted)?, before: Some(before) })
    }

    /// Signals for one of many threads: what the relay sends, and nothing of the process's own. The thread
    /// that took those sees to it that they are passed on.
    pub fn relayed() -> Result<(Self, Relay), SysError> {
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (fd, to) = pipe_with(flags)
            .map_err(|errno| SysError::new("pipe2", std::io::Error::from(errno)))?;
        Ok((Self { fd, before: None }, Relay { to }))
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

/// Where a supervisor hears that somebody wants something of its command.
pub trait Requests {
    /// What to wait for.
    fn interest<'a>(&'a self, fds: &mut Vec<PollFd<'a>>);

    /// The next signal to pass on.
    fn next(&self) -> Result<Option<i32>, SysError>;

    /// The command was stopped by a terminal's signal: to stop likewise, and whether that is over now.
    fn pause(&self) -> Result<Pause, SysError>;
}

/// What comes after a command was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// It is to go on.
    Over,
    /// Somebody will say so.
    Lasts,
}

impl Requests for Signals {
    fn interest<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        fds.push(PollFd::new(&self.fd, PollFlags::IN));
    }

    fn next(&self) -> Result<Option<i32>, SysError> {
        Signals::next(self)
    }

    fn pause(&self) -> Result<Pause, SysError> {
        stop_self()?;
        Ok(Pause::Over)
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
        if let Some(before) = &self.before {
            sys::restore_signals(before).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_relayed_is_read_once_and_in_order() {
        let (signals, relay) = Signals::relayed().unwrap();
        assert_eq!(signals.next().unwrap(), None);
        relay.send(libc::SIGUSR1);
        relay.send(libc::SIGTERM);
        assert_eq!(signals.next().unwrap(), Some(libc::SIGUSR1));
        assert_eq!(signals.to_end(), Some(libc::SIGTERM));
        assert_eq!(signals.to_end(), None);
        drop(signals);
        // Nobody is there any more, and that is no matter.
        relay.send(libc::SIGTERM);
    }
}
