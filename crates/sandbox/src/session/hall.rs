//! The process that holds a session, at work: hears who knocks, and keeps the sandbox until it is over.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cofferdam_core::event::EventKind;
use cofferdam_core::id::RunId;
use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::paths::Arg;
use cofferdam_core::plan::Plan;
use cofferdam_core::record::{Output, Usage};
use cofferdam_native::channel::{Channel, Message};
use cofferdam_native::confined::Room;
use cofferdam_native::reserve::Lookout;
use cofferdam_native::signals::Signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::door;
use super::exec::{Asked, Given, exec};
use super::job::{Job, Killing, Roster, quiet_pipe};
use super::wire::{Question, Told, bytes};
use crate::backend::bounds::{disk_full, reserve, written_to};
use crate::runs::Scribe;
use crate::state::StateError;

/// How often somebody who waits for the commands to end looks.
const TICK: Duration = Duration::from_millis(5);
const TERM: u8 = 15;
/// So many threads wait for somebody to knock, at most.
const WAITERS: usize = 4;

/// What every thread of the session shares.
pub(super) struct Hall<'a> {
    pub(super) room: &'a Room,
    pub(super) plan: &'a Plan,
    /// The run's id.
    pub(super) run: &'a str,
    pub(super) dir: &'a Path,
    roster: Mutex<Roster>,
    scribe: Mutex<Scribe>,
    is_ending: AtomicBool,
    /// Threads that wait for somebody to knock.
    waiters: AtomicUsize,
    /// After so long without a command it is over.
    idle_stop: Option<Duration>,
    /// The look to begin anew from.
    next: Mutex<Option<RunId>>,
    /// A byte here makes the main loop look again.
    wake: OwnedFd,
    woken: OwnedFd,
}

/// Why it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Asked,
    Idle,
    /// Whoever it was held for is gone.
    Alone,
    Signal(i32),
    /// The sandbox is dead.
    Dead,
    /// The disk has no more left than is kept free: so many bytes.
    DiskFull {
        kept: u64,
    },
}

impl<'a> Hall<'a> {
    pub(super) fn new(
        room: &'a Room,
        plan: &'a Plan,
        run: &'a str,
        dir: &'a Path,
        scribe: Scribe,
    ) -> io::Result<Self> {
        let (woken, wake) = quiet_pipe()?;
        Ok(Self {
            room,
            plan,
            run,
            dir,
            roster: Mutex::new(Roster::new()),
            scribe: Mutex::new(scribe),
            is_ending: AtomicBool::new(false),
            waiters: AtomicUsize::new(0),
            idle_stop: None,
            next: Mutex::new(None),
            wake,
            woken,
        })
    }

    pub(super) fn ending_after(self, idle_stop: Option<Duration>) -> Self {
        Self { idle_stop, ..self }
    }

    /// Serves until the session is over, and ends the sandbox.
    pub(super) fn keep(
        &self,
        listener: &UnixListener,
        signals: &Signals,
        tether: Option<BorrowedFd<'_>>,
    ) -> io::Result<Over> {
        std::thread::scope(|scope| {
            self.waiters.store(1, Ordering::Release);
            scope.spawn(move || self.receive(scope, listener));
            let over = self.wait(signals, tether);
            self.is_ending.store(true, Ordering::Release);
            // Nobody waits there any more, whatever becomes of the rest.
            door::close(listener);
            // What writes must not go on writing while it is asked.
            if !matches!(over, Ok(Over::Dead | Over::DiskFull { .. })) {
                self.wind_down();
            }
            // With it ends all that still runs, and so all who watch it.
            self.room.end().map_err(|error| error.source)?;
            over
        })
    }

    /// Waits for somebody to knock, and answers. Where nobody else waits, another thread does from then on: so a
    /// command is seen to by the very thread that was woken for it, and that was there already.
    fn receive<'scope>(
        &'scope self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        listener: &'scope UnixListener,
    ) {
        while !self.is_ending.load(Ordering::Acquire) {
            let client = match door::accept(listener) {
                Ok(client) => client,
                Err(_) if self.is_ending.load(Ordering::Acquire) => return,
                // One who hangs up while knocking, or too many at once, is no reason to stop.
                Err(_) => {
                    std::thread::sleep(TICK);
                    continue;
                }
            };
            let Some(client) = client else { continue };
            if self.waiters.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.waiters.fetch_add(1, Ordering::AcqRel);
                scope.spawn(move || self.receive(scope, listener));
            }
            self.answer(client);
            if self.waiters.fetch_add(1, Ordering::AcqRel) >= WAITERS {
                self.waiters.fetch_sub(1, Ordering::AcqRel);
                return;
            }
        }
    }

    /// Waits for the end.
    fn wait(&self, signals: &Signals, tether: Option<BorrowedFd<'_>>) -> io::Result<Over> {
        // Here, and not beside each command: what commands leave running writes, too.
        let mut disk = Lookout::over(reserve(self.plan, written_to(self.plan, self.dir)));
        loop {
            let quiet = self.roster().quiet();
            let left = self.idle_stop.zip(quiet).map(|(most, quiet)| most.saturating_sub(quiet));
            if left == Some(Duration::ZERO) {
                return Ok(Over::Idle);
            }
            if let Some(kept) = disk.as_mut().and_then(Lookout::sees_the_end) {
                return Ok(Over::DiskFull { kept });
            }
            let look = disk.map(|disk| disk.next().saturating_duration_since(Instant::now()));
            let left = [left, look].into_iter().flatten().min();
            let mut fds = vec![
                PollFd::new(signals, PollFlags::IN),
                PollFd::new(&self.woken, PollFlags::IN),
                PollFd::from_borrowed_fd(self.room.death(), PollFlags::IN),
            ];
            fds.extend(tether.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut fds, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            if ready[2] {
                return Ok(Over::Dead);
            }
            if let (true, Some(signal)) = (ready[0], signals.next().map_err(|e| e.source)?) {
                return Ok(Over::Signal(signal));
            }
            if ready.get(3) == Some(&true) {
                return Ok(Over::Alone);
            }
            if self.is_ending.load(Ordering::Acquire) {
                return Ok(Over::Asked);
            }
            if ready[1] {
                // Woken because a command ended, perhaps the last.
                rustix::io::read(&self.woken, &mut [0; 64]).ok();
            }
        }
    }

    /// Asks all that run to end, and waits as long as they are given for it.
    fn wind_down(&self) {
        self.roster().signal_all(TERM);
        let deadline = Instant::now() + self.plan.limits.stop_grace.duration();
        while !self.roster().is_idle() && Instant::now() < deadline {
            std::thread::sleep(TICK);
        }
    }

    fn answer(&self, client: Channel) {
        // Who says nothing, or what is not understood, is not answered.
        let Ok(Some(Message { bytes: text, descriptors })) = client.receive() else { return };
        let Ok(question) = serde_json::from_slice::<Question>(&text) else { return };
        let told = match question {
            Question::Exec { spec, name, given, stay } => match Given::new(&given, descriptors) {
                Some(streams) => {
                    return exec(self, Asked { spec: *spec, name, stay, streams }, client);
                }
                None => Told::Failed("the program can only be given a pipe to read from".into()),
            },
            Question::Jobs => Told::Jobs(self.roster().jobs()),
            Question::Kill { job, signal } => self.kill(&job, signal),
            Question::Stop => self.begin_to_end(None),
            Question::Rollback { look } => self.begin_to_end(Some(look)),
        };
        client.send(&bytes(&told), &[]).ok();
    }

    fn begin_to_end(&self, next: Option<RunId>) -> Told {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = next;
        self.is_ending.store(true, Ordering::Release);
        self.wake_up();
        Told::Done
    }

    /// The look to begin anew from, where that was asked for.
    pub(super) fn next(&self) -> Option<RunId> {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kill(&self, job: &str, signal: i32) -> Told {
        let Some(number) = u8::try_from(signal).ok().filter(|n| (1..=31).contains(n)) else {
            return Told::Failed(format!("{signal} is not the number of a signal"));
        };
        let killing = self.roster().signal(job, number);
        match killing {
            Killing::Passed | Killing::Nothing => Told::Done,
            Killing::EndFamily { leader, exec } => match self.room.end_family(leader, exec) {
                Ok(()) => Told::Done,
                Err(error) => Told::Failed(format!("{error}: {}", error.source)),
            },
            Killing::Unknown => {
                Told::Failed(format!("there is no command {job:?} in this session"))
            }
        }
    }

    pub(super) fn begin(
        &self,
        command: Vec<Arg>,
        name: Option<String>,
    ) -> Result<(u64, OwnedFd), String> {
        if self.is_ending.load(Ordering::Acquire) {
            return Err("the session is ending".to_owned());
        }
        let mut roster = self.roster();
        if let Some(name) = name.as_deref().filter(|name| roster.is_taken(name)) {
            return Err(format!("a command that runs is called {name:?} already"));
        }
        roster.begin(command, name).map_err(|error| error.to_string())
    }

    pub(super) fn end(
        &self,
        exec: u64,
        leader: Option<i32>,
        end: (Outcome, Option<Usage>, Output),
    ) -> Option<Job> {
        let job = self.roster().end(exec, leader, end);
        // Only who counts the time without commands has to know.
        if self.idle_stop.is_some() {
            self.wake_up();
        }
        job
    }

    pub(super) fn amend(&self, exec: u64, output: &Output) {
        self.roster().amend(exec, output);
    }

    pub(super) fn write_down(&self, event: EventKind) -> Result<(), StateError> {
        self.scribe.lock().unwrap_or_else(PoisonError::into_inner).event(event)
    }

    /// For what has happened already: a log that is full must not hide it from the client.
    pub(super) fn note(&self, event: EventKind) {
        self.write_down(event).ok();
    }

    fn wake_up(&self) {
        // A full pipe wakes as well.
        rustix::io::write(self.wake.as_fd(), &[0]).ok();
    }

    fn roster(&self) -> MutexGuard<'_, Roster> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Over {
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Asked => Outcome::exited(0),
            Self::Idle => Outcome::exited(0).with_message("nothing was run for so long"),
            Self::Alone => Outcome::exited(0).with_message("whoever it was held for is gone"),
            Self::Signal(signal) => {
                let message = format!("stopped by signal {signal}");
                Outcome::ended(OutcomeClass::Canceled, Some(signal), message)
            }
            Self::DiskFull { kept } => {
                Outcome::ended(OutcomeClass::Canceled, None, disk_full(kept))
            }
            Self::Dead => {
                let message = "the sandbox's first process died";
                Outcome::ended(OutcomeClass::SandboxFailure, None, message)
            }
        }
    }
}
