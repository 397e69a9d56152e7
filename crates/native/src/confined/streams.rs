//! The standard streams of a command: what it gets, and what stays with us.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};

use crate::process::StdinKind;
use crate::sys::SysError;

/// Our ends.
pub(super) struct Streams {
    /// Where the command reads from a pipe.
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// The command's ends.
pub(super) struct Theirs {
    stdin: Input,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

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
                let null =
                    File::open("/dev/null").map_err(|e| SysError::on("open", "/dev/null", e))?;
                (None, Input::Made(null.into()))
            }
        };
        let ((ours_out, stdout), (ours_err, stderr)) = (pipe()?, pipe()?);
        let ours = Self { stdin: ours_in, stdout: ours_out, stderr: ours_err };
        Ok((ours, Theirs { stdin, stdout, stderr }))
    }
}

impl Streams {
    /// With a standard input that somebody else made; without one, there is nothing to read.
    pub(super) fn given(stdin: Option<OwnedFd>) -> Result<(Self, Theirs), SysError> {
        let (ours, theirs) = Self::new(StdinKind::Empty)?;
        let Theirs { stdin: empty, stdout, stderr } = theirs;
        Ok((ours, Theirs { stdin: stdin.map_or(empty, Input::Made), stdout, stderr }))
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
