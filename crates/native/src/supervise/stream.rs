//! One output stream of the command: read from its pipe, kept, and written to our own.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

use super::{StreamName, Watch};
use crate::process::is_null_device;
use crate::sys::SysError;

/// Bytes taken from the pipe at a time, at first: most programs say little, and room costs time.
const FIRST_PIECE: usize = 16 * 1024;
/// And from a program that fills that.
const PIECE: usize = 256 * 1024;
/// What a descriptor that polls as writable is sure to take without blocking.
const SAFE_WRITE: usize = 4096;

pub(super) struct Stream<'a> {
    name: StreamName,
    from: Option<OwnedFd>,
    to: Option<BorrowedFd<'a>>,
    /// Whether the far end may make us wait: a pipe, a socket, a terminal.
    to_may_block: bool,
    buffer: Vec<u8>,
    /// The last piece filled the buffer.
    is_talkative: bool,
    /// The part of `buffer` that still has to be written.
    pending: std::ops::Range<usize>,
    /// Why nothing can be written any more, until that is heard.
    lost: Option<Errno>,
}

impl<'a> Stream<'a> {
    pub(super) fn new(
        name: StreamName,
        from: Option<OwnedFd>,
        to: Option<BorrowedFd<'a>>,
    ) -> Result<Self, SysError> {
        let to_may_block = match to {
            None => false,
            Some(fd) => {
                let stat = fstat(fd).map_err(|e| SysError::new("fstat (output)", e))?;
                let kind = FileType::from_raw_mode(stat.st_mode);
                kind != FileType::RegularFile && !is_null_device(&stat)
            }
        };
        let buffer = vec![0; FIRST_PIECE];
        let is_talkative = false;
        let (pending, lost) = (0..0, None);
        Ok(Self { name, from, to, to_may_block, buffer, is_talkative, pending, lost })
    }

    /// Where more may still come from.
    pub(super) fn into_rest(self) -> Option<(StreamName, OwnedFd)> {
        self.from.map(|from| (self.name, from))
    }

    /// Whether its far end has failed, and by which error.
    pub(super) fn take_lost(&mut self) -> Option<(StreamName, i32)> {
        self.lost.take().map(|errno| (self.name, errno.raw_os_error()))
    }

    pub(super) fn is_open(&self) -> bool {
        self.from.is_some() || self.has_pending()
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// What to wait for: first that the far end takes what we have, then more to read.
    pub(super) fn interest(&self) -> Option<PollFd<'_>> {
        match (self.has_pending(), &self.to, &self.from) {
            (true, Some(to), _) => Some(PollFd::from_borrowed_fd(*to, PollFlags::OUT)),
            (_, _, Some(from)) => Some(PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)),
            _ => None,
        }
    }

    /// Moves one piece on. True where the program wrote something.
    pub(super) fn step(&mut self, watch: &mut dyn Watch) -> Result<bool, SysError> {
        if self.has_pending() {
            self.write_pending()?;
            return Ok(false);
        }
        let Some(from) = &self.from else { return Ok(false) };
        if self.is_talkative && self.buffer.len() < PIECE {
            self.buffer.resize(PIECE, 0);
            // A larger pipe means fewer switches between program and us. Not having it costs only time.
            rustix::pipe::fcntl_setpipe_size(from, 1 << 20).ok();
        }
        match rustix::io::read(from, &mut self.buffer[..]) {
            Ok(0) => {
                self.from = None;
                Ok(false)
            }
            Ok(n) => {
                self.is_talkative = n == self.buffer.len();
                watch.output(self.name, &self.buffer[..n]);
                if self.to.is_some() {
                    self.pending = 0..n;
                    if !self.to_may_block {
                        self.write_pending()?;
                    }
                }
                Ok(true)
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(false),
            // The last who had the terminal open is gone.
            Err(Errno::IO) => {
                self.from = None;
                Ok(false)
            }
            Err(errno) => Err(SysError::new("read (output)", errno)),
        }
    }

    fn write_pending(&mut self) -> Result<(), SysError> {
        let Some(to) = self.to else {
            self.pending = 0..0;
            return Ok(());
        };
        let most = if self.to_may_block { SAFE_WRITE } else { usize::MAX };
        while self.has_pending() {
            let end = self.pending.end.min(self.pending.start.saturating_add(most));
            match rustix::io::write(to, &self.buffer[self.pending.start..end]) {
                Ok(n) => self.pending.start += n,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(()),
                // The reader is gone, as after `| head`. The program learns it the way it would have
                // without us: its own pipe is closed.
                Err(Errno::PIPE) => {
                    self.pending = 0..0;
                    self.from = None;
                    self.to = None;
                }
                // What is still to come is kept, and goes nowhere.
                Err(errno) => {
                    self.pending = 0..0;
                    self.to = None;
                    self.lost = Some(errno);
                }
            }
            if self.to_may_block {
                return Ok(());
            }
        }
        Ok(())
    }
}
