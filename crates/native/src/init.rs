//! The first process of a sandbox: starts the command, passes signals on, reaps, and reports the end.
//!
//! It is as confined as the command. When it ends, the kernel ends everything in its pid namespace;
//! nothing inside can end it, for the kernel keeps signals from a namespace's own first process.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::report::{End, Facts, Report};
use crate::sys::init::{Image, spawn, wait_for_signal};
use crate::sys::{self, Reaped};

/// What to execute, and where to look for it.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) program: std::ffi::OsString,
    /// Directories to search for a name without a slash.
    pub(crate) search: std::ffi::OsString,
    pub(crate) image: Image,
}

/// What the supervisor sends to be passed on.
const PASSED_ON: [i32; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// Runs the command to its end. Returns only then, or where nothing can be reported any more.
pub(crate) fn run(facts: Facts, order: &Order, report: BorrowedFd<'_>) -> io::Result<()> {
    let mut awaited = PASSED_ON.to_vec();
    awaited.push(libc::SIGCHLD);
    sys::block_signals(&awaited).map_err(|e| e.source)?;
    let command = match execute(order) {
        Ok(pid) => pid,
        Err(NotExecuted { path, errno }) => {
            return send(&Report::NotExecuted { path, errno }, report);
        }
    };
    send(&Report::Started(facts), report)?;
    loop {
        let arrived = wait_for_signal(&awaited).map_err(|e| e.source)?;
        if arrived.signal == libc::SIGCHLD {
            if let Some(reaped) = reap_until(command)? {
                return send(&Report::Ended(end_of(reaped)), report);
            }
        } else if arrived.sender == 0 {
            // From outside. What the command itself sends here is not for us to send back.
            pass_on(arrived.signal, command);
        }
    }
}

pub(crate) fn send(report: &Report, to: BorrowedFd<'_>) -> io::Result<()> {
    report.send(Pipe(to))
}

/// A borrowed descriptor to write to.
struct Pipe<'a>(BorrowedFd<'a>);

impl io::Write for Pipe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes away everything that is dead; the command's own end is the answer.
fn reap_until(command: i32) -> io::Result<Option<Reaped>> {
    while let Some(reaped) = sys::reap(-1).map_err(|e| e.source)? {
        if reaped.pid == command {
            return Ok(Some(reaped));
        }
    }
    Ok(None)
}

fn end_of(reaped: Reaped) -> End {
    End {
        status: reaped.status,
        user_micros: reaped.user_micros,
        system_micros: reaped.system_micros,
        max_rss_bytes: reaped.max_rss_bytes,
    }
}

fn pass_on(signal: i32, command: i32) {
    if let (Some(group), Some(signal)) = (Pid::from_raw(command), Signal::from_named_raw(signal)) {
        // A group that is gone has no use for it; that it is gone arrives as its own signal.
        kill_process_group(group, signal).ok();
    }
}

struct NotExecuted {
    path: String,
    errno: i32,
}

/// Starts the program, found as a shell finds it: what exists and may not be executed is passed over,
/// but remembered.
fn execute(order: &Order) -> Result<i32, NotExecuted> {
    let mut failure =
        NotExecuted { path: order.program.display().to_string(), errno: libc::ENOENT };
    for candidate in candidates(&order.program, &order.search) {
        let path = OsStr::from_bytes(candidate.as_bytes());
        let answer = match access(Path::new(path), Access::EXEC_OK) {
            Ok(()) => {
                spawn(&candidate, &order.image).map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))
            }
            Err(errno) => Err(errno.raw_os_error()),
        };
        match answer {
            Ok(pid) => return Ok(pid),
            Err(libc::ENOENT | libc::ENOTDIR) => {}
            Err(errno) => {
                failure = NotExecuted { path: path.display().to_string(), errno };
                if errno != libc::EACCES {
                    break;
                }
            }
        }
    }
    Err(failure)
}

/// Where a program may be: itself where it has a slash, else below each directory of the search path.
fn candidates(program: &OsStr, search: &OsStr) -> Vec<CString> {
    let program = program.as_bytes();
    if program.contains(&b'/') {
        return CString::new(program).into_iter().collect();
    }
    search
        .as_bytes()
        .split(|byte| *byte == b':')
        // An empty entry means the current directory by old custom; here it means nothing.
        .filter(|dir| !dir.is_empty() && !program.is_empty())
        .filter_map(|dir| CString::new([dir, b"/", program].concat()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_searched_for_and_a_path_is_not() {
        let found = |program: &str, search: &str| -> Vec<String> {
            candidates(OsStr::new(program), OsStr::new(search))
                .into_iter()
                .map(|c| c.into_string().unwrap())
                .collect()
        };
        assert_eq!(found("sh", "/usr/bin::/bin"), ["/usr/bin/sh", "/bin/sh"]);
        assert_eq!(found("./sh", "/usr/bin"), ["./sh"]);
        assert_eq!(found("/bin/sh", ""), ["/bin/sh"]);
        assert!(found("", "/bin").is_empty());
    }
}
