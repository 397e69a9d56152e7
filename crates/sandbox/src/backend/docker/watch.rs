//! The loop that carries a container's streams, keeps its time, passes signals on and hears of its end.
//!
//! One thread, one `poll`, as for a native sandbox. Signals and kills go to the engine by the container's id;
//! an engine that does not answer, or breaks off, ends the watch with [`Lost`], never with an end of the
//! command's own.

mod console;
mod sink;

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use cofferdam_core::spec::Terminal;
use cofferdam_native::SysError;
use cofferdam_native::signals::{Signals, stop_self};
use cofferdam_native::supervise::{Cause, Notice, Passage, Patience as Limits, StreamName};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::memory::Counter;
use crate::backend::Observer;
use crate::engine::http::{Pending, Upgraded};
use crate::engine::{Engine, EngineError, Frames};
use console::{Console, END_OF_INPUT};
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
    pub(super) killed: Option<Counter>,
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
    limits: Limits,
    signals: &Signals,
    observer: &mut dyn Observer,
) -> Result<Watched, Lost> {
    let Running { engine, id, attached, end, started, terminal, killed } = running;
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
        killed,
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
    stream: Option<UnixStream>,
    end: Pending,
    frames: Frames,
    /// Where the container has a terminal: what comes from it is one stream, without frames.
    console: Option<Console<'a>>,
    sinks: [Sink<'a>; 2],
    /// Gone at the end of the input.
    stdin: Option<BorrowedFd<'a>>,
    /// Input that the container has not taken yet.
    input: Vec<u8>,
    limits: Limits,
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
    killed: Option<Counter>,
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
        let next = match (self.kill_at, self.limits.idle) {
            (Some(kill_at), _) => kill_at,
            (None, Some(idle)) => wall.min(self.last_output + idle),
            (None, None) => wall,
        };
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
        let stream = stream.map(|stream| PollFd::new(stream, wanted));
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

    fn carry(&mut self, ready: &Ready) -> Result<(), Lost> {
        for (sink, ready) in self.sinks.iter_mut().zip(ready.sinks) {
            if ready {
                sink.write();
            }
        }
        self.hear_calls(&ready.calls)?;
        if ready.stdin {
            self.read_input();
        }
        if ready.stream {
            self.write_input();
            if !self.has_pending() {
                self.read_output()?;
            }
        }
        if self.sinks.iter_mut().any(Sink::lost_reader) && !self.has_ended {
            // The program learns it as it would have without us, as after `| head`.
            self.signal(SIGPIPE)?;
        }
        Ok(())
    }

    fn read_output(&mut self) -> Result<(), Lost> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let mut buffer = vec![0; 64 * 1024];
        match stream.read(&mut buffer) {
            Ok(0) => {
                self.stream = None;
                self.count_kills();
            }
            Ok(got) => {
                self.last_output = Instant::now();
                self.take(&buffer[..got])?;
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) => {}
            // The question how it ends says what became of the engine.
            Err(_) => self.stream = None,
        }
        Ok(())
    }

    /// The last moment at which its control group is sure to be there.
    fn count_kills(&mut self) {
        let kills = self.killed.as_ref().and_then(Counter::kills);
        self.ran_out |= kills.is_some_and(|kills| kills > 0);
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        let Self { frames, sinks, observer, .. } = self;
        if self.console.is_some() {
            observer.output(StreamName::Stdout, bytes);
            sinks[0].add(bytes);
            return Ok(());
        }
        let taken = frames.take(bytes, &mut |stream, piece| {
            observer.output(stream, piece);
            match stream {
                StreamName::Stdout => sinks[0].add(piece),
                StreamName::Stderr => sinks[1].add(piece),
            }
        });
        taken.map_err(|error| Lost(format!("the engine sent {error}")))
    }

    fn read_input(&mut self) {
        let Some(stdin) = self.stdin else { return };
        let mut buffer = [0; 16 * 1024];
        match rustix::io::read(stdin, &mut buffer) {
            Ok(got) if got > 0 => {
                self.input.extend_from_slice(&buffer[..got]);
                self.write_input();
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            // Its end, or a terminal that went away, which to the command is the same.
            _ => {
                self.stdin = None;
                self.end_input();
            }
        }
    }

    fn write_input(&mut self) {
        let Some(stream) = self.stream.as_mut().filter(|_| !self.input.is_empty()) else { return };
        match stream.write(&self.input) {
            Ok(taken) => {
                self.input.drain(..taken);
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) => {}
            // The command does not read any more.
            Err(_) => {
                self.input.clear();
                self.stdin = None;
            }
        }
    }

    fn end_input(&mut self) {
        if self.console.is_some() {
            // An engine that hears no more from us says no more either, where there is a terminal.
            self.input.push(END_OF_INPUT);
            self.write_input();
        } else if let Some(stream) = &self.stream {
            // One that is closed already has no more input either.
            stream.shutdown(Shutdown::Write).ok();
        }
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

    /// What was answered is over, whatever the answer: it may have ended meanwhile, and what else is wrong shows
    /// in how it ends.
    fn hear_calls(&mut self, ready: &[bool]) -> Result<(), Lost> {
        let mut left = Vec::new();
        for (at, mut call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            let answer = match ready.get(at) {
                Some(true) => call.answer.step().map_err(|trouble| {
                    Lost::from(EngineError::trouble("a signal".to_owned(), trouble))
                })?,
                _ => None,
            };
            if answer.is_none() {
                left.push(call);
            }
        }
        self.calls = left;
        Ok(())
    }

    fn keep_time(&mut self) -> Result<(), Lost> {
        let now = Instant::now();
        if self.calls.iter().any(|call| now >= call.deadline) {
            return Err(EngineError::Hung { call: "a signal".to_owned() }.into());
        }
        if let Some(kill_at) = self.kill_at {
            if now >= kill_at {
                if self.is_killed {
                    return Err(Lost(format!("killed {} s ago, and no end", REAP.as_secs())));
                }
                self.kill()?;
            }
            return Ok(());
        }
        let idle = self.limits.idle.filter(|idle| now >= self.last_output + *idle);
        let wall = (now >= self.started + self.limits.wall).then_some(self.limits.wall);
        if let Some(limit) = wall.or(idle) {
            self.cause = if wall.is_some() { Cause::WallTimeout } else { Cause::IdleTimeout };
            self.observer.notice(&Notice::TimedOut { limit, idle: wall.is_none() });
            self.stop("timeout", SIGTERM)?;
        }
        Ok(())
    }

    /// Asks the command to end and sets the time of the kill.
    fn stop(&mut self, reason: &'static str, signal: i32) -> Result<(), Lost> {
        self.observer.notice(&Notice::Stopping { reason, signal });
        self.signal(signal)?;
        // A stopped process acts on no request but this one.
        self.signal(SIGCONT)?;
        self.kill_at = Some(Instant::now() + self.limits.grace);
        Ok(())
    }

    fn kill(&mut self) -> Result<(), Lost> {
        self.is_killed = true;
        self.kill_at = Some(Instant::now() + REAP);
        self.signal(SIGKILL)
    }

    fn next_signal(&self) -> Result<Option<i32>, Lost> {
        self.signals.next().map_err(|error| Lost(error.to_string()))
    }

    fn pass_signals_on(&mut self) -> Result<(), Lost> {
        while let Some(number) = self.next_signal()? {
            match number {
                SIGTERM | SIGHUP if self.kill_at.is_none() => {
                    self.cause = Cause::Canceled(number);
                    self.stop("signal", number)?;
                }
                SIGTSTP => {
                    self.signal(SIGTSTP)?;
                    match &mut self.console {
                        Some(console) => console.stop_self()?,
                        None => stop_self()?,
                    }
                    self.signal(SIGCONT)?;
                }
                SIGINT => {
                    self.cause = Cause::Canceled(number);
                    if self.is_impatient() {
                        let notice = Notice::Stopping { reason: "interrupts", signal: SIGKILL };
                        self.observer.notice(&notice);
                        self.kill()?;
                    } else {
                        self.signal(number)?;
                    }
                }
                SIGWINCH => self.fit()?,
                other => self.signal(other)?,
            }
        }
        Ok(())
    }

    /// Gives the container's terminal the size of ours.
    fn fit(&mut self) -> Result<(), Lost> {
        let Some(size) = self.console.as_ref().and_then(Console::size) else { return Ok(()) };
        let (rows, columns) = (size.rows, size.columns);
        self.call(&format!("/containers/{}/resize?h={rows}&w={columns}", self.id))
    }

    fn is_impatient(&mut self) -> bool {
        let now = Instant::now();
        self.interrupts.push(now);
        self.interrupts.retain(|at| now - *at < IMPATIENT.1);
        self.interrupts.len() >= IMPATIENT.0
    }

    /// To the container's first process, which passes it on. One that has ended is no failure.
    fn signal(&mut self, signal: i32) -> Result<(), Lost> {
        self.call(&format!("/containers/{}/kill?signal={signal}", self.id))
    }

    fn call(&mut self, target: &str) -> Result<(), Lost> {
        let answer = self.engine.await_answer(target)?;
        self.calls.push(Call { answer, deadline: Instant::now() + REAP });
        Ok(())
    }
}
