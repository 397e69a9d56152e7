//! The first process of a sandbox: waits for orders, starts commands, passes signals on, reaps, and reports
//! each end.
//!
//! It is as confined as the commands. When it ends, the kernel ends everything in its pid namespace;
//! nothing inside can end it, for the kernel keeps signals from a namespace's own first process.
//!
//! One loop serves a sandbox that is made for one command and one that takes many. They differ in the channel
//! of an order: see [`order`].

mod execute;
mod family;

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};

use crate::channel;
use crate::order::{self, Family, Order, Word};
use crate::prove::{self, Ground};
use crate::recipe::Step;
use crate::report::{End, Facts, Failed, Report};
use crate::sys::init::{end_all_others, next_arrived};
use crate::sys::spawn::{Ends, signals_as_at_birth};
use crate::sys::{self, SysError, Used};
use crate::terminal::Size;
use execute::{NotExecuted, execute};

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

/// Says that the sandbox stands, waits for orders and carries them out. Returns when the command that the
/// sandbox is for has ended, or where nobody is left to report to.
pub(crate) fn run(facts: Facts, ground: &Ground, control: BorrowedFd<'_>) -> io::Result<()> {
    let mut awaited = PASSED_ON.to_vec();
    awaited.push(libc::SIGCHLD);
    sys::block_signals(&awaited).map_err(|e| e.source)?;
    let signals = sys::signalfd(&awaited).map_err(|e| e.source)?;
    signals_as_at_birth().map_err(|e| e.source)?;
    send(&Report::Ready(facts), control)?;
    let strays = Used::default();
    let mut first = First { control, signals, commands: Vec::new(), strays, ground };
    while let Life::GoesOn = first.step()? {}
    Ok(())
}

/// Whether there is anything left to live for.
enum Life {
    GoesOn,
    Ends,
}

struct First<'a> {
    control: BorrowedFd<'a>,
    signals: OwnedFd,
    commands: Vec<Command>,
    /// What was used by those who had lost their parent, and were waited for by us.
    strays: Used,
    ground: &'a Ground,
}

/// A command that runs.
struct Command {
    pid: i32,
    /// Where it is one of many: who gave the order, and listens.
    own: Option<(OwnedFd, Family)>,
}

impl First<'_> {
    /// Waits for something to happen, and sees to it.
    fn step(&mut self) -> io::Result<Life> {
        let (control, signals, told) = self.wait()?;
        if signals {
            while let Some(arrived) = next_arrived(self.signals.as_fd()).map_err(|e| e.source)? {
                if arrived.signal == libc::SIGCHLD {
                    if let Life::Ends = self.reap()? {
                        return Ok(Life::Ends);
                    }
                } else if arrived.sender == 0 {
                    // From outside. What a command itself sends here is not for us to send back.
                    self.pass_on(arrived.signal);
                }
            }
        }
        for pid in told {
            self.hear(pid);
        }
        if !control {
            return Ok(Life::GoesOn);
        }
        match order::receive(self.control)? {
            None => Ok(Life::Ends),
            // An order may have been sent ahead, before we could be sure to die with whoever sent it.
            Some(_) if is_abandoned(self.control)? => Ok(Life::Ends),
            Some(Word::Order { order, streams, channel }) => self.begin(order, streams, channel),
            Some(Word::End(family)) => {
                family::end(family);
                Ok(Life::GoesOn)
            }
        }
    }

    /// Whether there is an order, a signal, and which commands somebody has a word for.
    fn wait(&self) -> io::Result<(bool, bool, Vec<i32>)> {
        let listened = || self.commands.iter().filter_map(|c| Some((c.pid, &c.own.as_ref()?.0)));
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.control, PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
        ];
        fds.extend(listened().map(|(_, channel)| PollFd::new(channel, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let ready = |at: usize| !fds[at].revents().is_empty();
        let told = listened().zip(2..).filter(|(_, at)| ready(*at)).map(|((pid, _), _)| pid);
        Ok((ready(0), ready(1), told.collect()))
    }

    fn begin(
        &mut self,
        order: Order,
        streams: Option<[OwnedFd; 3]>,
        channel: Option<OwnedFd>,
    ) -> io::Result<Life> {
        let exec = order.exec.unwrap_or_default();
        let (answer, master) = match &streams {
            Some(streams) => (start(order, Ends::Streams(streams)), None),
            None => start_on_terminal(order),
        };
        let came_along: Vec<_> = master.iter().map(|master| master.as_fd()).collect();
        // From here on the command's streams are its own: they end with the last that uses them.
        drop(streams);
        let pid = if let Report::Started { pid } = answer { Some(pid) } else { None };
        let Some(channel) = channel else {
            channel::send(self.control, &answer.encode(), &came_along)?;
            let Some(pid) = pid else { return Ok(Life::Ends) };
            self.commands.push(Command { pid, own: None });
            return Ok(Life::GoesOn);
        };
        let heard = channel::send(channel.as_fd(), &answer.encode(), &came_along);
        if let Some(leader) = pid {
            let family = Family { leader, exec };
            match heard {
                Ok(()) => {
                    self.commands.push(Command { pid: leader, own: Some((channel, family)) });
                }
                // Whoever asked for it is gone.
                Err(_) => {
                    family::end(family);
                }
            }
        }
        Ok(Life::GoesOn)
    }

    /// Takes away everything that is dead, and reports the commands among them.
    fn reap(&mut self) -> io::Result<Life> {
        while let Some(reaped) = sys::reap(-1).map_err(|e| e.source)? {
            let Some(at) = self.commands.iter().position(|c| c.pid == reaped.pid) else {
                self.strays = self.strays.and(reaped.used);
                continue;
            };
            let mut end = End::of(reaped);
            match self.commands.swap_remove(at).own {
                None => {
                    // What it left behind goes with it, and only then is it said to have ended.
                    let others = end_all_others().map_err(|e| e.source)?;
                    end.used = end.used.and(self.strays).and(others);
                    end.again = prove::again(self.ground);
                    send(&Report::Ended(end), self.control)?;
                    return Ok(Life::Ends);
                }
                // What it left behind lives on. Where nobody listens any more, nobody has to be told.
                Some((channel, _)) => {
                    send(&Report::Ended(end), channel.as_fd()).ok();
                }
            }
        }
        Ok(Life::GoesOn)
    }

    /// A word for one of many: a signal for its group, or the end of all its family.
    fn hear(&mut self, pid: i32) {
        let Some(at) = self.commands.iter().position(|command| command.pid == pid) else { return };
        let Some((channel, family)) = &self.commands[at].own else { return };
        // What cannot be understood comes from nobody who knows us.
        let said = channel::receive(channel.as_fd()).ok().flatten().and_then(|message| {
            let number = <[u8; 4]>::try_from(message.bytes.as_slice()).ok()?;
            Some(i32::from_le_bytes(number))
        });
        match said {
            Some(libc::SIGKILL) => {
                family::end(*family);
            }
            Some(signal) => signal_group(pid, signal),
            // Nobody is left who wants it.
            None => {
                family::end(*family);
                self.commands.swap_remove(at);
            }
        }
    }

    fn pass_on(&self, signal: i32) {
        for command in self.commands.iter().filter(|command| command.own.is_none()) {
            signal_group(command.pid, signal);
        }
    }
}

/// Starts the command of an order, and says that it runs, or why not.
fn start(order: Order, ends: Ends<'_>) -> Report {
    // As the program itself, which may not be let in.
    if let Err(errno) = rustix::process::chdir(&order.workdir) {
        let error = SysError::on("chdir", order.workdir.display(), errno);
        return Report::Failed(Failed::new(Step::Workdir, &error));
    }
    match execute(order, ends) {
        Ok(pid) => Report::Started { pid },
        Err(NotExecuted { path, errno, lack }) => Report::NotExecuted { path, errno, lack },
    }
}

/// The same on a terminal of its own, whose master end is for whoever gave the order.
fn start_on_terminal(order: Order) -> (Report, Option<OwnedFd>) {
    match terminal(order.terminal) {
        Ok((master, path)) => (start(order, Ends::Terminal(&path)), Some(master)),
        Err(errno) => {
            let path = "a terminal".to_owned();
            let errno = errno.raw_os_error();
            (Report::NotExecuted { path, errno, lack: None }, None)
        }
    }
}

fn terminal(size: Option<Size>) -> rustix::io::Result<(OwnedFd, CString)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    unlockpt(&master)?;
    if let Some(size) = size {
        // Where it cannot be set, the program has a terminal of no size, and copes.
        size.set(master.as_fd()).ok();
    }
    let path = ptsname(&master, Vec::new())?;
    Ok((master, path))
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

fn signal_group(leader: i32, signal: i32) {
    if let (Some(group), Some(signal)) = (Pid::from_raw(leader), Signal::from_named_raw(signal)) {
        // A group that is gone has no use for it; that it is gone arrives as its own signal.
        kill_process_group(group, signal).ok();
    }
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
}
