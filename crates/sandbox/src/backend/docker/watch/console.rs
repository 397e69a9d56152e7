//! The caller's terminal while the container has one of its own: raw, and the container's kept to its size.

use std::os::fd::BorrowedFd;

use cofferdam_native::SysError;
use cofferdam_native::signals::stop_self;
use cofferdam_native::terminal::{Raw, Size};

/// What a terminal is sent when there is no more input: the key that says so.
pub(super) const END_OF_INPUT: u8 = 4;

#[derive(Debug)]
pub(super) struct Console<'a> {
    stdin: Option<BorrowedFd<'a>>,
    stdout: Option<BorrowedFd<'a>>,
    raw: Option<Raw>,
}

impl<'a> Console<'a> {
    pub(super) fn new(
        stdin: Option<BorrowedFd<'a>>,
        stdout: Option<BorrowedFd<'a>>,
    ) -> Result<Self, SysError> {
        let mut console = Self { stdin, stdout, raw: None };
        console.take()?;
        Ok(console)
    }

    fn take(&mut self) -> Result<(), SysError> {
        self.raw = self.stdin.map(Raw::enter).transpose()?.flatten();
        Ok(())
    }

    /// Stops us as a shell's job, with the terminal as the shell left it.
    pub(super) fn stop_self(&mut self) -> Result<(), SysError> {
        self.raw = None;
        stop_self()?;
        self.take()
    }

    /// The size of the terminal that the output goes to, else of the one that keys come from.
    pub(super) fn size(&self) -> Option<Size> {
        [self.stdout, self.stdin].into_iter().flatten().find_map(Size::of)
    }
}
