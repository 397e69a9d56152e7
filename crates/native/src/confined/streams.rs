//! The standard streams of a command: what it gets, and what stays with us.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};

use crate::process::StdinKind;
use crate::sys::SysError;

/// Where there is nothing to read.
pub(super) const NULL: &str = "/dev/null";

/// Our ends.
#[derive(Debug)]
pub(super) struct Streams {
    /// Where the command reads from a pipe.
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// The command's ends.
#[derive(Debug)]
pub(super) struct Theirs {
    stdin: Input,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

#[derive(Debug)]
enum Input {
    Ours,
    Made(OwnedFd),
}

impl Streams {
    pub(super) fn new(kind: StdinKind) -> Result<(Self, Theirs), SysError> {
        let (ours_in, stdin) = match kind {
            StdinKind::Inherit => (None, Input::Ours),
            StdinKind::Pipe => {
                let (theirs, ours) = pipe()?;
                (Some(ours), Input::Made(theirs))
            }
            StdinKind::Empty | StdinKind::Terminal(_) => {
                let null = File::open(NULL).map_err(|e| SysError::on("open", NULL, e))?;
                (None, Input::Made(null.into()))
            }
        };
        Self::around(ours_in, stdin)
    }

    /// With a standard input that somebody else made.
    pub(super) fn given(stdin: OwnedFd) -> Result<(Self, Theirs), SysError> {
        Self::around(None, Input::Made(stdin))
    }

    fn around(ours_in: Option<OwnedFd>, stdin: Input) -> Result<(Self, Theirs), SysError> {
        let ((ours_out, stdout), (ours_err, stderr)) = (pipe()?, pipe()?);
        let ours = Self { stdin: ours_in, stdout: ours_out, stderr: ours_err };
        Ok((ours, Theirs { stdin, stdout, stderr }))
    }
}

impl Theirs {
    pub(super) fn descriptors(&self) -> [BorrowedFd<'_>; 3] {
        let stdin = match &self.stdin {
            Input::Ours => rustix::stdio::stdin(),
            Input::Made(fd) => fd.as_fd(),
        };
        [stdin, self.stdout.as_fd(), self.stderr.as_fd()]
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), SysError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|e| SysError::new("pipe", e))
}
