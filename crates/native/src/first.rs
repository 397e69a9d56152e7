//! The first process of a container: starts the command, passes signals on, takes away what dies, and ends as the
//! command ended.
//!
//! A command that is itself the first process of a namespace is deaf to most signals, and nobody takes away
//! what its children leave. It knows of nothing but the command; the engine confined it already.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd as _;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::stdio::stdin;
use rustix::termios::isatty;

use crate::process::StartError;
use crate::supervise::Status;
use crate::sys::{self, SysError};

const HEARD: [i32; 12] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGWINCH,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGCHLD,
];

/// Runs `argv` to its end. To be called by a process that does nothing else.
pub fn run(argv: &[OsString]) -> Result<Status, StartError> {
    let name = || argv.first().map(|p| p.display().to_string()).unwrap_or_default();
    let Some((program, args)) = argv.split_first() else {
        return Err(StartError::NotFound { program: name() });
    };
    sys::block_signals(&HEARD)?;
    for signal in HEARD {
        sys::stop_ignoring(signal)?;
    }
    let signals = sys::signalfd(&HEARD)?;
    let mut command = Command::new(program);
    command.args(args);
    // Keys that mean a signal are for the command alone: we would pass them on a second time.
    if isatty(stdin()) {
        sys::lead_the_terminal(&mut command);
    }
    // It hears every signal that we hold back.
    sys::die_with_parent(&mut command);
    let child = command.spawn().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => StartError::NotFound { program: name() },
        io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory => {
            StartError::NotExecutable { program: name(), source }
        }
        _ if source.raw_os_error() == Some(libc::ENOEXEC) => {
            StartError::NotExecutable { program: name(), source }
        }
        _ => StartError::Spawn { program: name(), source },
    })?;
    let pid = Pid::from_child(&child);
    loop {
        if let Some(status) = take_dead(pid)? {
            return Ok(status);
        }
        let mut fds = [PollFd::new(&signals, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(SysError::new("poll", errno).into()),
        }
        while let Some(number) = sys::read_signal(signals.as_fd())? {
            if let Some(signal) = Signal::from_named_raw(number).filter(|s| *s != Signal::CHILD) {
                // One that is dead already needs no signal.
                kill_process(pid, signal).ok();
            }
        }
    }
}

/// Takes away everything that is dead; how the command ended, if it did.
fn take_dead(command: Pid) -> Result<Option<Status>, SysError> {
    let mut ended = None;
    loop {
        let reaped = match sys::reap(-1) {
            Ok(Some(reaped)) => reaped,
            Ok(None) => return Ok(ended),
            Err(error) if error.source.raw_os_error() == Some(libc::ECHILD) => return Ok(ended),
            Err(error) => return Err(error),
        };
        if reaped.pid == command.as_raw_nonzero().get() {
            ended = Some(if libc::WIFEXITED(reaped.status) {
                Status::Exited(libc::WEXITSTATUS(reaped.status))
            } else {
                Status::Signaled(libc::WTERMSIG(reaped.status))
            });
        }
    }
}
