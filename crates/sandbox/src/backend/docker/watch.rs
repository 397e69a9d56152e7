//! The loop that carries a container's streams, keeps its time, passes signals on and hears of its end.
//!
//! One thread, one `poll`, as for a native sandbox. Signals and kills go to the engine by the container's id;
//! an engine that does not answer, or breaks off, ends the watch with [`Lost`], never with an end of the
//! command's own.

mod carry;
mod console;
mod requests;
mod sink;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use cofferdam_core::spec::Terminal;
use cofferdam_native::SysError;
use cofferdam_native::reserve::Lookout;
use cofferdam_native::signals::Signals;
use cofferdam_native::supervise::{Cause, Passage, Patience as Limits};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::tally::Counters;
use crate::backend::Observer;
use crate::engine::http::{Pending, Upgraded};
use crate::engine::{Engine, EngineError, Frames, Stream};
use console::Console;
use sink::Sink;

/// A container that was started, with its streams and the question how it ends.
#[derive(Debug)]
pub(super) struct Running<'a> {
    pub(super) engine: &'a Engine,
    pub(super) id: &'a str,
    pub(super) attached: Upgraded,
    pub(super) end: Pending,
    pub(super) started: Instant,
    pub(super) terminal: Terminal,
    pub(super) counters: Counters,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Watched {
    pub(super) cause: Cause,
    /// Whether the kernel is seen to have killed something for want of memory.
    pub(super) ran_out: bool,
}

/// The engine, or the connection to it, is gone: what became of the command is not known.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Lost(String);

impl From<SysError> for Lost {
    fn from(error: SysError) -> Self {
        Self(format!("{error}: {}", error.source))
    }
}

impl From<EngineError> for Lost {
    fn from(error: EngineError) -> Self {
        Self(error.to_string())
    }
}

/// How long output may take to arrive once the container has ended.
const DRAIN: Duration = Duration::from_secs(2);
/// How long a killed container may take to end.
const REAP: Duration = Duration::from_secs(15);
/// So many interrupts within this time mean it.
const IMPATIENT: (usize, Duration) = (3, Duration::from_secs(2));

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGPIPE: i32 = 13;
const SIGTERM: i32 = 15;
const SIGCONT: i32 = 18;
const SIGTSTP: i32 = 20;
const SIGWINCH: i32 = 28;

/// Watches over a container until it has ended, and says why it did.
pub(super) fn watch(
    running: Running<'_>,
    passage: Passage<'_>,
    limits: Limits<'_>,
    signals: &Signals,
    observer: &mut dyn Observer,
) -> Result<Watched, Lost> {
    let Running { engine, id, attached, end, started, terminal, counters } = running;
    let io = |error: io::Error| Lost(format!("the container's streams: {error}"));
    attached.stream.set_nonblocking(true).map_err(io)?;
    let console = match terminal {
        Terminal::Streams => None,
        Terminal::Tty => Some(Console::new(passage.stdin, passage.stdout)?),
    };
    let mut watch = Watch {
        engine,
        id,
        stream: Some(attached.stream),
        end,
        frames: Frames::default(),
        console,
        sinks: [Sink::new(passage.stdout).map_err(io)?, Sink::new(passage.stderr).map_err(io)?],
        stdin: passage.stdin,
        input: Vec::new(),
        limits,
        signals,
        observer,
        started,
        last_output: started,
        cause: Cause::Own,
        kill_at: None,
        is_killed: false,
        interrupts: Vec::new(),
        has_ended: false,
        calls: Vec::new(),
        counters,
        ran_out: false,
    };
    if watch.stdin.is_none() && watch.console.is_none() {
        watch.end_input();
    }
    watch.fit()?;
    watch.take(&attached.early)?;
    watch.until_end()?;
    watch.drain()?;
    Ok(Watched { cause: watch.cause, ran_out: watch.ran_out })
}

struct Watch<'a> {
    engine: &'a Engine,
    id: &'a str,
    /// Gone once the engine has closed it.
    stream: Option<Stream>,
    end: Pending,
    frames: Frames,
    /// Where the container has a terminal: what comes from it is one stream, without frames.
    console: Option<Console<'a>>,
    sinks: [Sink<'a>; 2],
    /// Gone at the end of the input.
    stdin: Option<BorrowedFd<'a>>,
    /// Input that the container has not taken yet.
    input: Vec<u8>,
    limits: Limits<'a>,
    signals: &'a Signals,
    observer: &'a mut dyn Observer,
    started: Instant,
    last_output: Instant,
    cause: Cause,
    /// Set once the command was asked to stop.
    kill_at: Option<Instant>,
    is_killed: bool,
    interrupts: Vec<Instant>,
    has_ended: bool,
    /// Signals and sizes that the engine has yet to say something about. It may say so only after the container's last
    /// output was taken, so that nobody may wait for it.
    calls: Vec<Call>,
    counters: Counters,
    ran_out: bool,
}

struct Call {
    answer: Pending,
    deadline: Instant,
}

/// What can be gone on with.
#[derive(Debug)]
struct Ready {
    signals: bool,
    end: bool,
    stream: bool,
    stdin: bool,
    sinks: [bool; 2],
    calls: Vec<bool>,
}

impl Watch<'_> {
    fn until_end(&mut self) -> Result<(), Lost> {
        while !self.has_ended {
            let ready = self.wait(self.next_deadline())?;
            if ready.signals {
                self.pass_signals_on()?;
            }
            self.carry(&ready)?;
            if ready.end && self.heard_end()? {
                self.has_ended = true;
            } else {
                self.keep_time()?;
            }
        }
        Ok(())
    }

    /// The container is over: what it said last is handed on. A reader that is merely slow gets it all,
    /// unless we were told to hurry.
    fn drain(&mut self) -> Result<(), Lost> {
        self.stdin = None;
        self.input.clear();
        let hurry = self.cause != Cause::Own;
        let mut deadline = Instant::now() + DRAIN;
        while self.stream.is_some() || self.has_pending() {
            let waits_for_reader = self.has_pending();
            if Instant::now() >= deadline && (hurry || !waits_for_reader) {
                break;
            }
            let ready = self.wait(deadline)?;
            if ready.signals && self.next_signal()?.is_some() {
                break;
            }
            self.carry(&ready)?;
            if waits_for_reader && !hurry {
                deadline = Instant::now() + DRAIN;
            }
        }
        Ok(())
    }

    fn has_pending(&self) -> bool {
        self.sinks.iter().any(Sink::has_pending)
    }

    fn next_deadline(&self) -> Instant {
        let wall = self.started + self.limits.wall;
        let idle = self.limits.idle.map(|idle| self.last_output + idle);
        let disk = self.limits.disk.as_ref().map(Lookout::next);
        let next = self
            .kill_at
            .unwrap_or_else(|| [idle, disk].into_iter().flatten().fold(wall, Instant::min));
        self.calls.iter().map(|call| call.deadline).fold(next, Instant::min)
    }

    fn wait(&self, deadline: Instant) -> Result<Ready, Lost> {
        let mut fds = vec![PollFd::new(self.signals, PollFlags::IN)];
        let end = (!self.has_ended).then(|| PollFd::new(&self.end, PollFlags::IN));
        // Nothing more is taken from the container while somebody has yet to take what we have.
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, !self.has_pending());
        wanted.set(PollFlags::OUT, !self.input.is_empty());
        let stream = self.stream.as_ref().filter(|_| !wanted.is_empty());
        let stream = stream.map(|stream| PollFd::new(&**stream, wanted));
        let stdin = self.stdin.filter(|_| self.input.is_empty());
        let stdin = stdin.map(|stdin| PollFd::from_borrowed_fd(stdin, PollFlags::IN));
        let sinks = self.sinks.each_ref().map(Sink::interest);
        let calls = self.calls.iter().map(|call| Some(PollFd::new(&call.answer, PollFlags::IN)));
        let index = [end, stream, stdin].into_iter().chain(sinks).chain(calls).map(|fd| {
            fds.extend(fd.clone());
            fd.map(|_| fds.len() - 1)
        });
        let index: Vec<Option<usize>> = index.collect();
        let left = deadline.saturating_duration_since(Instant::now());
        // A little more than is left, so that the deadline has passed when we wake up.
        let timeout = Timespec::try_from(left + Duration::from_micros(500)).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Lost(format!("poll: {errno}"))),
        }
        let set = |slot: usize| index[slot].is_some_and(|i| !fds[i].revents().is_empty());
        Ok(Ready {
            signals: !fds[0].revents().is_empty(),
            end: set(0),
            stream: set(1),
            stdin: set(2),
            sinks: [set(3), set(4)],
            calls: (0..self.calls.len()).map(|call| set(5 + call)).collect(),
        })
    }

    fn heard_end(&mut self) -> Result<bool, Lost> {
        match self.end.step() {
            Ok(None) => Ok(false),
            Ok(Some(response)) if response.status == 200 => Ok(true),
            Ok(Some(response)) => {
                Err(EngineError::said("the wait for the end".to_owned(), &response).into())
            }
            Err(trouble) => {
                Err(EngineError::trouble("the wait for the end".to_owned(), trouble).into())
            }
        }
    }
}
