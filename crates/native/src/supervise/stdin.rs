//! Carries a terminal's input to the command through a pipe.
//!
//! The command is not the terminal's foreground group and would be stopped if it read from it.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use crate::sys::SysError;

pub(super) struct StdinPump<'a> {
    from: BorrowedFd<'a>,
    to: OwnedFd,
    buffer: [u8; 4096],
    pending: std::ops::Range<usize>,
}

impl<'a> StdinPump<'a> {
    pub(super) fn new(from: BorrowedFd<'a>, to: OwnedFd) -> Result<Self, SysError> {
        let flags = rustix::fs::fcntl_getfl(&to).map_err(|e| SysError::new("fcntl (stdin)", e))?;
        rustix::fs::fcntl_setfl(&to, flags | rustix::fs::OFlags::NONBLOCK)
            .map_err(|e| SysError::new("fcntl (stdin)", e))?;
        Ok(Self { from, to, buffer: [0; 4096], pending: 0..0 })
    }

    pub(super) fn interest(&self) -> PollFd<'_> {
        if self.pending.is_empty() {
            PollFd::from_borrowed_fd(self.from, PollFlags::IN)
        } else {
            PollFd::from_borrowed_fd(self.to.as_fd(), PollFlags::OUT)
        }
    }

    /// Moves one piece on; false at the end of the input or when the command does not read any more.
    pub(super) fn step(&mut self) -> Result<bool, SysError> {
        if self.pending.is_empty() {
            match rustix::io::read(self.from, &mut self.buffer) {
                Ok(0) => return Ok(false),
                Ok(n) => self.pending = 0..n,
                Err(Errno::INTR | Errno::AGAIN) => return Ok(true),
                // The terminal went away: for the command that is the end of its input.
                Err(_) => return Ok(false),
            }
        }
        match rustix::io::write(&self.to, &self.buffer[self.pending.clone()]) {
            Ok(n) => {
                self.pending.start += n;
                Ok(true)
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(true),
            Err(Errno::PIPE) => Ok(false),
            Err(errno) => Err(SysError::new("write (stdin)", errno)),
        }
    }
}
