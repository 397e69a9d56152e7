//! The first process of a sandbox: waits for its order, starts the command, passes signals on, reaps, and reports the end.
//!
//! It is as confined as the command. When it ends, the kernel ends everything in its pid namespace;
//! nothing inside can end it, for the kernel keeps signals from a namespace's own first process.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::order::{self, Order};
use crate::recipe::Step;
use crate::report::{End, Facts, Failed, Report};
use crate::sys::init::{Image, end_all_others, spawn, wait_for_signal};
use crate::sys::{self, Reaped, SysError};

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

/// Says that the sandbox stands, waits for an order and runs it to its end. Returns only then, or where
/// nobody is left to report to.
pub(crate) fn run(facts: Facts, control: BorrowedFd<'_>) -> io::Result<()> {
    let mut awaited = PASSED_ON.to_vec();
    awaited.push(libc::SIGCHLD);
    sys::block_signals(&awaited).map_err(|e| e.source)?;
    send(&Report::Ready(facts), control)?;
    let Some((order, streams)) = order::receive(control)? else { return Ok(()) };
    // An order may have been sent ahead, before we could be sure to die with whoever sent it.
    if is_abandoned(control)? {
        return Ok(());
    }
    // As the program itself, which may not be let in.
    if let Err(errno) = rustix::process::chdir(&order.workdir) {
        let error = SysError::on("chdir", order.workdir.display(), errno);
        return send(&Report::Failed(Failed::new(Step::Workdir, &error)), control);
    }
    let command = match execute(order, &streams) {
        Ok(pid) => pid,
        Err(NotExecuted { path, errno }) => {
            return send(&Report::NotExecuted { path, errno }, control);
        }
    };
    send(&Report::Started, control)?;
    // From here on the command's streams are its own: they end with the last that uses them.
    drop(streams);
    loop {
        let arrived = wait_for_signal(&awaited).map_err(|e| e.source)?;
        if arrived.signal == libc::SIGCHLD {
            if let Some(reaped) = reap_until(command)? {
                // What it left behind goes with it, and only then is it said to have ended.
                end_all_others().map_err(|e| e.source)?;
                return send(&Report::Ended(end_of(reaped)), control);
            }
        } else if arrived.sender == 0 {
            // From outside. What the command itself sends here is not for us to send back.
            pass_on(arrived.signal, command);
        }
    }
}

/// Whether nobody is left at the far end, whatever is still on its way from there.
fn is_abandoned(control: BorrowedFd<'_>) -> io::Result<bool> {
    let mut fds = [PollFd::from_borrowed_fd(control, PollFlags::empty())];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(!fds[0].revents().is_empty())
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
fn execute(order: Order, streams: &[OwnedFd; 3]) -> Result<i32, NotExecuted> {
    let program = order.argv.first().map(|arg| OsStr::from_bytes(arg.as_bytes()).to_owned());
    let program = program.unwrap_or_default();
    let mut failure = NotExecuted { path: program.display().to_string(), errno: libc::ENOENT };
    let image = Image::new(order.argv, order.env);
    for candidate in candidates(&program, &order.search) {
        let path = OsStr::from_bytes(candidate.as_bytes());
        let answer = match access(Path::new(path), Access::EXEC_OK) {
            Ok(()) => spawn(&candidate, &image, streams)
                .map_err(|e| e.raw_os_error().unwrap_or(libc::EIO)),
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
    fn an_order_that_outlived_its_sender_is_known() {
        use std::os::fd::AsFd as _;
        let (sender, ours) = crate::channel::Channel::pair().unwrap();
        sender.send(b"run this", &[]).unwrap();
        assert!(!is_abandoned(ours.as_fd()).unwrap());
        drop(sender);
        assert!(is_abandoned(ours.as_fd()).unwrap());
    }

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
