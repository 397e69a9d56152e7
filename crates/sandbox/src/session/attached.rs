//! Waits for a command of a session as if it were our own: our streams are its streams, and signals to us are
//! passed on to it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use cofferdam_core::plan::ExecSpec;
use cofferdam_native::process::StdinKind;
use cofferdam_native::signals::{Signals, stop_self};
use rustix::event::{PollFd, PollFlags, poll};

use super::client::{Client, ClientError, Given, Watched};
use super::job::Job;
use crate::backend::Streams;
use crate::backend::native::stdin_kind;

const STOP: i32 = 20;
const GO_ON: i32 = 18;

/// Runs a command to its end.
pub fn run_attached(
    client: &Client,
    spec: &ExecSpec,
    name: Option<&str>,
    streams: Streams<'_>,
) -> Result<Job, ClientError> {
    let signals = Signals::take()?;
    let stdin = Input::of(streams.stdin)?;
    let given = Given { stdin: stdin.descriptor(), stdout: streams.stdout, stderr: streams.stderr };
    let watched = client.exec(spec, name, given)?;
    // Held open here, it would never end for the command.
    stdin.carry(streams.stdin);
    loop {
        let mut fds = [PollFd::new(&watched, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(ClientError::Io { action: "wait", source: errno.into() }),
        }
        if !fds[0].revents().is_empty() {
            return watched.wait();
        }
        while let Some(signal) = signals.next()? {
            pass_on(&watched, signal)?;
        }
    }
}

fn pass_on(watched: &Watched, signal: i32) -> Result<(), ClientError> {
    watched.signal(signal)?;
    if signal == STOP {
        stop_self()?;
        watched.signal(GO_ON)?;
    }
    Ok(())
}

/// What the command reads. The program is given no file of the host: what is not a pipe is carried into one.
enum Input<'a> {
    Nothing,
    Theirs(BorrowedFd<'a>),
    Carried { reader: OwnedFd, writer: OwnedFd },
}

impl<'a> Input<'a> {
    fn of(stdin: Option<BorrowedFd<'a>>) -> Result<Self, ClientError> {
        Ok(match (stdin, stdin_kind(stdin)) {
            (Some(fd), StdinKind::Inherit) => Self::Theirs(fd),
            (Some(_), StdinKind::Pipe) => {
                let (reader, writer) = io::pipe()
                    .map_err(|source| ClientError::Io { action: "make a pipe", source })?;
                Self::Carried { reader: reader.into(), writer: writer.into() }
            }
            _ => Self::Nothing,
        })
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Nothing => None,
            Self::Theirs(fd) => Some(*fd),
            Self::Carried { reader, .. } => Some(reader.as_fd()),
        }
    }

    /// Carries on in a thread of its own, which ends with the input, with the command, or with us.
    fn carry(self, from: Option<BorrowedFd<'_>>) {
        let Self::Carried { reader, writer } = self else { return };
        drop(reader);
        let Some(Ok(from)) = from.map(|fd| fd.try_clone_to_owned()) else { return };
        std::thread::spawn(move || io::copy(&mut File::from(from), &mut File::from(writer)));
    }
}
