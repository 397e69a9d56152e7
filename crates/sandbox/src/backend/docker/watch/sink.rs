//! One of our own output streams, to which a container's output goes.

use std::io;
use std::os::fd::BorrowedFd;

use cofferdam_native::process::is_null_device;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

/// What a descriptor that polls as writable is sure to take without blocking.
const SAFE_WRITE: usize = 4096;

#[derive(Debug)]
pub(super) struct Sink<'a> {
    to: Option<BorrowedFd<'a>>,
    /// Whether the far end may make us wait: a pipe, a socket, a terminal.
    may_block: bool,
    pending: Vec<u8>,
    written: usize,
    /// Why nothing can be written any more, and nobody was told yet.
    lost: Option<Errno>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(to: Option<BorrowedFd<'a>>) -> io::Result<Self> {
        let may_block = match to {
            None => false,
            Some(fd) => {
                let stat = fstat(fd)?;
                let kind = FileType::from_raw_mode(stat.st_mode);
                kind != FileType::RegularFile && !is_null_device(&stat)
            }
        };
        Ok(Self { to, may_block, pending: Vec::new(), written: 0, lost: None })
    }

    pub(super) fn has_pending(&self) -> bool {
        self.written < self.pending.len()
    }

    pub(super) fn interest(&self) -> Option<PollFd<'a>> {
        self.to
            .filter(|_| self.has_pending())
            .map(|to| PollFd::from_borrowed_fd(to, PollFlags::OUT))
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        if self.to.is_none() {
            return;
        }
        self.pending.extend_from_slice(bytes);
        if !self.may_block {
            self.write();
        }
    }

    /// Once, after it came to nothing to write any further.
    pub(super) fn take_lost(&mut self) -> Option<Errno> {
        self.lost.take()
    }

    /// Writes what can be written without waiting.
    pub(super) fn write(&mut self) {
        let most = if self.may_block { SAFE_WRITE } else { usize::MAX };
        while let Some(to) = self.to.filter(|_| self.has_pending()) {
            let end = self.pending.len().min(self.written.saturating_add(most));
            match rustix::io::write(to, &self.pending[self.written..end]) {
                Ok(n) => self.written += n,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                // Gone, or full for good: the record has the output all the same.
                Err(errno) => {
                    self.lost = Some(errno);
                    self.to = None;
                }
            }
            if self.may_block {
                break;
            }
        }
        if !self.has_pending() || self.to.is_none() {
            self.pending.clear();
            self.written = 0;
        }
    }
}
