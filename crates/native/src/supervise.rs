//! The loop that carries a command's output, keeps its time, passes signals on and sees it end.
//!
//! One thread, one `poll`. Nothing in it may block on somebody else: a reader that is slow, or gone,
//! holds back the program but never the clock.

mod end;
mod stdin;
mod stream;

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use cofferdam_core::receipt::Again;
use cofferdam_core::record::Usage;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_process_group, pidfd_send_signal};

use crate::apart::Stay;
use crate::descendants;
use crate::process::{Parent, Process, Reach};
use crate::reserve::Lookout;
use crate::signals::{Pause, Requests};
use crate::sys::{self, Reaped, SysError, Used};
use crate::terminal::Size;
pub(crate) use end::status_of;
use end::{reported, reported_end};
use stdin::StdinPump;
use stream::Stream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamName {
    Stdout,
    Stderr,
}

/// How long the command may take, and what it must leave of the disk.
#[derive(Debug, Clone, Copy)]
pub struct Patience<'a> {
    pub wall: Duration,
    /// Without a byte of output.
    pub idle: Option<Duration>,
    /// Between the request to stop and the kill.
    pub grace: Duration,
    pub disk: Option<Lookout<'a>>,
}

/// Where the command's streams lead. `None` means they are only kept.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    pub stdout: Option<BorrowedFd<'a>>,
    pub stderr: Option<BorrowedFd<'a>>,
    /// Read only where the command was started with a pipe as its standard input.
    pub stdin: Option<BorrowedFd<'a>>,
}

/// Who is told what happens.
pub trait Watch {
    fn output(&mut self, stream: StreamName, bytes: &[u8]);
    fn notice(&mut self, notice: &Notice);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// It is none of those commands that are over at once: what is worth its while only then may begin.
    Lasting,
    TimedOut {
        limit: Duration,
        idle: bool,
    },
    Stopping {
        reason: &'static str,
        signal: i32,
    },
}

/// Why a command came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Own,
    WallTimeout,
    IdleTimeout,
    /// The disk that it writes to has no more left than is kept free: so many bytes.
    DiskFull {
        kept: u64,
    },
    /// What it printed could not be written any further: this stream, for this reason.
    Unwritable {
        stream: StreamName,
        errno: i32,
    },
    /// We were told to stop by this signal and passed it on.
    Canceled(i32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Exited(i32),
    Signaled(i32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub status: Status,
    pub cause: Cause,
    pub usage: Usage,
    /// Whether the kernel killed something of it for want of memory.
    pub oom: bool,
    /// Descendants that would not end.
    pub left: Vec<u32>,
    /// Whether the sandbox's first process tried the forbidden once more, and what came of it.
    pub again: Again,
}

/// How long output may take to arrive once everything that could write it is dead.
const DRAIN: Duration = Duration::from_secs(2);
/// How long the kernel may take to end what was killed.
const REAP: Duration = Duration::from_secs(5);
/// Commands that are over before this are many, and each is to be over soon.
const LASTING: Duration = Duration::from_millis(20);
/// So many interrupts within this time mean it.
const IMPATIENT: (usize, Duration) = (3, Duration::from_secs(2));

/// Watches over a command until it and all its descendants are gone.
pub fn supervise(
    process: Process,
    passage: Passage<'_>,
    patience: Patience<'_>,
    requests: &dyn Requests,
    watch: &mut dyn Watch,
) -> Result<Ended, SysError> {
    attend(process, passage, patience, requests, watch).map(|(ended, _)| ended)
}

/// What a command of a session left open when it ended: background processes may still write there.
#[derive(Debug, Default)]
pub struct Rest(pub Vec<(StreamName, OwnedFd)>);

/// The same for a command that is one of many: until it is gone itself. What it left behind may live on.
pub fn attend(
    process: Process,
    passage: Passage<'_>,
    patience: Patience<'_>,
    requests: &dyn Requests,
    watch: &mut dyn Watch,
) -> Result<(Ended, Rest), SysError> {
    let Process { pid, pidfd, stdin, stdout, stderr, terminal, reach, stay } = process;
    let now = Instant::now();
    let mut run = Supervisor {
        pid,
        pidfd,
        reach,
        requests,
        patience,
        streams: [
            Stream::new(StreamName::Stdout, Some(stdout), passage.stdout)?,
            Stream::new(StreamName::Stderr, stderr, passage.stderr)?,
        ],
        stdin: stdin.zip(passage.stdin).map(|(to, from)| StdinPump::new(from, to)).transpose()?,
        terminal: terminal.zip(passage.stdin),
        watch,
        started: now,
        last_output: now,
        lasting_at: Some(now + LASTING),
        stay,
        cause: Cause::Own,
        again: Again::NotAsked,
        kill_at: None,
        interrupts: Vec::new(),
        exit: None,
        is_mute: false,
    };
    run.until_exit()?;
    let (left, strays) = match &run.reach {
        Reach::Group { bystanders } => descendants::end_all(bystanders, REAP)?,
        // The first process has ended everybody else before it reported the command's end; or it is dead
        // itself, and then the kernel has.
        Reach::Init { .. } | Reach::Member { .. } => (Vec::new(), Used::default()),
    };
    let (oom, pids_refused) = match &run.reach {
        Reach::Group { .. } => (false, 0),
        Reach::Init { tally, .. } => (tally.kills() > 0, tally.refusals()),
        Reach::Member { since, .. } => (run.was_killed() && since.any_killed(), since.refusals()),
    };
    match &run.reach {
        Reach::Member { .. } => run.drain_what_is_there()?,
        _ => run.drain()?,
    }
    let unknown = (Status::Signaled(libc::SIGKILL), Duration::ZERO, Used::default());
    let (status, wall, used) = run.exit.take().unwrap_or(unknown);
    let usage = used.and(strays).over(wall, pids_refused);
    let ended = Ended { status, cause: run.cause_of(status), usage, oom, left, again: run.again };
    Ok((ended, Rest(run.streams.into_iter().filter_map(Stream::into_rest).collect())))
}

struct Supervisor<'a> {
    pid: rustix::process::Pid,
    pidfd: OwnedFd,
    reach: Reach,
    requests: &'a dyn Requests,
    patience: Patience<'a>,
    streams: [Stream<'a>; 2],
    stdin: Option<StdinPump<'a>>,
    /// The master end of the command's, and the user's own.
    terminal: Option<(OwnedFd, BorrowedFd<'a>)>,
    watch: &'a mut dyn Watch,
    started: Instant,
    last_output: Instant,
    /// When to say that it lasts, until that is said.
    lasting_at: Option<Instant>,
    /// Given up then.
    stay: Option<Stay>,
    cause: Cause,
    again: Again,
    /// Set once the command was asked to stop.
    kill_at: Option<Instant>,
    interrupts: Vec<Instant>,
    /// How the command ended, when, and what it used.
    exit: Option<(Status, Duration, Used)>,
    /// A sandbox's first process that will report no more: its own end is what to wait for.
    is_mute: bool,
}

impl Supervisor<'_> {
    fn until_exit(&mut self) -> Result<(), SysError> {
        while self.exit.is_none() {
            let ready = self.wait(self.next_deadline())?;
            if ready.requests {
                self.pass_signals_on()?;
            }
            self.carry(&ready)?;
            if ready.exited {
                self.collect_exit()?;
            } else if ready.reported {
                self.hear_report()?;
            } else {
                self.keep_time()?;
            }
        }
        Ok(())
    }

    /// Everything is dead: what is still in the pipes is handed on. A reader that is merely slow gets
    /// it all, unless we were told to hurry.
    fn drain(&mut self) -> Result<(), SysError> {
        self.stdin = None;
        let hurry = self.cause != Cause::Own;
        let mut deadline = Instant::now() + DRAIN;
        while self.streams.iter().any(Stream::is_open) {
            let waits_for_reader = self.streams.iter().any(Stream::has_pending);
            if Instant::now() >= deadline && (hurry || !waits_for_reader) {
                break;
            }
            let ready = self.wait(deadline)?;
            if ready.requests && self.requests.next()?.is_some() {
                break;
            }
            self.carry(&ready)?;
            if waits_for_reader && !hurry {
                deadline = Instant::now() + DRAIN;
            }
        }
        Ok(())
    }

    /// The command is dead, and what it wrote is in the pipes. Others may hold them open for ever.
    fn drain_what_is_there(&mut self) -> Result<(), SysError> {
        self.stdin = None;
        let hurry = self.cause != Cause::Own;
        while self.streams.iter().any(Stream::is_open) {
            let waits_for_reader = self.streams.iter().any(Stream::has_pending) && !hurry;
            let now = Instant::now();
            let ready = self.wait(if waits_for_reader { now + DRAIN } else { now })?;
            if ready.requests && self.requests.next()?.is_some() {
                break;
            }
            if !waits_for_reader && ready.streams == [false; 2] {
                break;
            }
            self.carry(&ready)?;
        }
        Ok(())
    }

    fn was_killed(&self) -> bool {
        matches!(self.exit, Some((Status::Signaled(libc::SIGKILL), ..))) && self.cause == Cause::Own
    }

    fn next_deadline(&self) -> Instant {
        if let Some(kill_at) = self.kill_at {
            return kill_at;
        }
        let wall = self.started + self.patience.wall;
        let idle = self.patience.idle.map(|idle| self.last_output + idle);
        let disk = self.patience.disk.as_ref().map(Lookout::next);
        [idle, self.lasting_at, disk].into_iter().flatten().fold(wall, Instant::min)
    }

    fn wait(&self, deadline: Instant) -> Result<Ready, SysError> {
        let mut fds = Vec::with_capacity(8);
        self.requests.interest(&mut fds);
        let requests = fds.len();
        let exit = self.exit.is_none().then(|| PollFd::new(&self.pidfd, PollFlags::IN));
        let exit = push(&mut fds, exit);
        let reports = match &self.reach {
            Reach::Init { reports, .. } if self.exit.is_none() && !self.is_mute => {
                Some(PollFd::new(reports, PollFlags::IN))
            }
            Reach::Member { channel, .. } if self.exit.is_none() && !self.is_mute => {
                Some(PollFd::new(channel, PollFlags::IN))
            }
            _ => None,
        };
        let reports = push(&mut fds, reports);
        let out = [
            push(&mut fds, self.streams[0].interest()),
            push(&mut fds, self.streams[1].interest()),
        ];
        let stdin = push(&mut fds, self.stdin.as_ref().map(StdinPump::interest));
        let left = deadline.saturating_duration_since(Instant::now());
        // A little more than is left, so that the deadline has passed when we wake up.
        let timeout = Timespec::try_from(left + Duration::from_micros(500)).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(SysError::new("poll", errno)),
        }
        let set = |index: Option<usize>| index.is_some_and(|i| !fds[i].revents().is_empty());
        Ok(Ready {
            requests: (0..requests).any(|at| set(Some(at))),
            exited: set(exit),
            reported: set(reports),
            streams: [set(out[0]), set(out[1])],
            stdin: set(stdin),
        })
    }

    fn carry(&mut self, ready: &Ready) -> Result<(), SysError> {
        for (stream, ready) in self.streams.iter_mut().zip(ready.streams) {
            if ready && stream.step(self.watch)? {
                self.last_output = Instant::now();
            }
        }
        if let Some((stream, errno)) = self.streams.iter_mut().find_map(Stream::take_lost)
            && self.cause == Cause::Own
        {
            self.cause = Cause::Unwritable { stream, errno };
            self.stop("output", Signal::KILL)?;
        }
        if let Some(pump) = self.stdin.as_mut().filter(|_| ready.stdin)
            && !pump.step()?
        {
            self.stdin = None;
        }
        Ok(())
    }

    fn keep_time(&mut self) -> Result<(), SysError> {
        let now = Instant::now();
        if self.lasting_at.take_if(|at| now >= *at).is_some() {
            self.stay = None;
            self.watch.notice(&Notice::Lasting);
        }
        if let Some(kill_at) = self.kill_at {
            if now >= kill_at {
                self.signal(Signal::KILL)?;
                // Killed once is enough; what is left of it is the kernel's work.
                self.kill_at = Some(now + REAP);
            }
            return Ok(());
        }
        let idle = self.patience.idle.filter(|idle| now >= self.last_output + *idle);
        let wall = (now >= self.started + self.patience.wall).then_some(self.patience.wall);
        if let Some(limit) = wall.or(idle) {
            self.cause = if wall.is_some() { Cause::WallTimeout } else { Cause::IdleTimeout };
            self.watch.notice(&Notice::TimedOut { limit, idle: wall.is_none() });
            self.stop("timeout", Signal::TERM)?;
        } else if let Some(kept) = self.patience.disk.as_mut().and_then(Lookout::sees_the_end) {
            self.cause = Cause::DiskFull { kept };
            self.stop("disk", Signal::KILL)?;
        }
        Ok(())
    }

    /// Asks the command to end and sets the time of the kill. Only then is it told: whoever fills a disk goes on meanwhile.
    fn stop(&mut self, reason: &'static str, signal: Signal) -> Result<(), SysError> {
        self.signal(signal)?;
        self.watch.notice(&Notice::Stopping { reason, signal: signal.as_raw() });
        // A stopped process acts on no request but this one.
        self.signal(Signal::CONT)?;
        self.kill_at = Some(Instant::now() + self.patience.grace);
        Ok(())
    }

    fn pass_signals_on(&mut self) -> Result<(), SysError> {
        while let Some(number) = self.requests.next()? {
            let Some(signal) = Signal::from_named_raw(number) else { continue };
            match signal {
                Signal::TERM | Signal::HUP if self.kill_at.is_none() => {
                    self.cause = Cause::Canceled(number);
                    self.stop("signal", signal)?;
                }
                // Its terminal is as large as ours; who is in front there is told by the kernel.
                Signal::WINCH => self.resize()?,
                Signal::TSTP => {
                    self.signal(Signal::TSTP)?;
                    if self.requests.pause()? == Pause::Over {
                        self.signal(Signal::CONT)?;
                    }
                }
                Signal::INT if self.is_impatient() => {
                    self.cause = Cause::Canceled(number);
                    self.watch
                        .notice(&Notice::Stopping { reason: "interrupts", signal: libc::SIGKILL });
                    self.signal(Signal::KILL)?;
                }
                other => self.signal(other)?,
            }
        }
        Ok(())
    }

    fn resize(&self) -> Result<(), SysError> {
        let Some((theirs, ours)) = &self.terminal else { return Ok(()) };
        match Size::of(*ours) {
            Some(size) => size.set(theirs.as_fd()),
            None => Ok(()),
        }
    }

    fn is_impatient(&mut self) -> bool {
        let now = Instant::now();
        self.interrupts.push(now);
        self.interrupts.retain(|at| now - *at < IMPATIENT.1);
        self.interrupts.len() >= IMPATIENT.0
    }

    /// To the whole group, and to its leader should it have left the group. One that is gone is no
    /// failure.
    fn signal(&self, signal: Signal) -> Result<(), SysError> {
        if let Reach::Member { channel, .. } = &self.reach {
            return match channel.send(&signal.as_raw().to_le_bytes(), &[]) {
                Err(error) if error.source.kind() != std::io::ErrorKind::BrokenPipe => Err(error),
                _ => Ok(()),
            };
        }
        if let Reach::Init { .. } = self.reach {
            return match pidfd_send_signal(&self.pidfd, signal) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
                Err(errno) => Err(SysError::on("kill", self.pid.as_raw_nonzero(), errno)),
            };
        }
        for answer in [
            kill_process_group(self.pid, signal),
            // Not twice: a handler must not run again for one request.
            if rustix::process::getpgid(Some(self.pid)).is_ok_and(|group| group != self.pid) {
                pidfd_send_signal(&self.pidfd, signal)
            } else {
                Ok(())
            },
        ] {
            match answer {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(errno) => return Err(SysError::on("kill", self.pid.as_raw_nonzero(), errno)),
            }
        }
        Ok(())
    }

    fn collect_exit(&mut self) -> Result<(), SysError> {
        let pid = self.pid.as_raw_nonzero().get();
        let reaped = match &self.reach {
            // Dead, and for its own parent to take away.
            Reach::Init { reports, parent: Parent::Launcher, .. } => {
                reported_end(reports.as_fd(), Reaped::unknown(pid))?
            }
            Reach::Member { channel, .. } => reported_end(channel.as_fd(), Reaped::unknown(pid))?,
            reach => {
                let Some(reaped) = sys::reap(pid)? else { return Ok(()) };
                match reach {
                    Reach::Init { reports, .. } => reported_end(reports.as_fd(), reaped)?,
                    Reach::Group { .. } | Reach::Member { .. } => reaped,
                }
            }
        };
        self.note_end(&reaped);
        Ok(())
    }

    /// The command has ended, and its sandbox is about to: that is taken down while we go on.
    fn hear_report(&mut self) -> Result<(), SysError> {
        let reports = match &self.reach {
            Reach::Group { .. } => return Ok(()),
            Reach::Init { reports, .. } => reports.as_fd(),
            Reach::Member { channel, .. } => channel.as_fd(),
        };
        let pid = self.pid.as_raw_nonzero().get();
        match reported(reports, pid)? {
            Some(reaped) => self.note_end(&reaped),
            None => self.is_mute = true,
        }
        Ok(())
    }

    fn note_end(&mut self, reaped: &Reaped) {
        self.again = reaped.again;
        self.exit = Some((status_of(reaped.status), self.started.elapsed(), reaped.used));
    }

    /// A command that died of the very signal that we passed on was canceled by it.
    fn cause_of(&self, status: Status) -> Cause {
        match (self.cause, status) {
            (Cause::Own, Status::Signaled(libc::SIGINT)) if !self.interrupts.is_empty() => {
                Cause::Canceled(libc::SIGINT)
            }
            (cause, _) => cause,
        }
    }
}

/// Adds a descriptor to the list, if there is one, and says where it stands.
fn push<'f>(fds: &mut Vec<PollFd<'f>>, fd: Option<PollFd<'f>>) -> Option<usize> {
    fds.push(fd?);
    Some(fds.len() - 1)
}

/// What `poll` found.
struct Ready {
    requests: bool,
    exited: bool,
    reported: bool,
    streams: [bool; 2],
    stdin: bool,
}
