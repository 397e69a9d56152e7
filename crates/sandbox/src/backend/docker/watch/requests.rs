//! What is wanted of the container: by the clock, and by signals to us. All of it goes to the engine, by the
//! container's id, and nobody waits for the answer.

use std::time::Instant;

use cofferdam_native::reserve::Lookout;
use cofferdam_native::signals::stop_self;
use cofferdam_native::supervise::{Cause, Notice};

use super::console::Console;
use super::{
    Call, IMPATIENT, Lost, REAP, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGTSTP, SIGWINCH,
    Watch,
};
use crate::engine::EngineError;

impl Watch<'_> {
    pub(super) fn keep_time(&mut self) -> Result<(), Lost> {
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
        } else if let Some(kept) = self.limits.disk.as_mut().and_then(Lookout::sees_the_end) {
            self.cause = Cause::DiskFull { kept };
            self.stop("disk", SIGKILL)?;
        }
        Ok(())
    }

    /// Asks the command to end and sets the time of the kill.
    pub(super) fn stop(&mut self, reason: &'static str, signal: i32) -> Result<(), Lost> {
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

    pub(super) fn next_signal(&self) -> Result<Option<i32>, Lost> {
        self.signals.next().map_err(|error| Lost(error.to_string()))
    }

    pub(super) fn pass_signals_on(&mut self) -> Result<(), Lost> {
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
    pub(super) fn fit(&mut self) -> Result<(), Lost> {
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
    pub(super) fn signal(&mut self, signal: i32) -> Result<(), Lost> {
        self.call(&format!("/containers/{}/kill?signal={signal}", self.id))
    }

    fn call(&mut self, target: &str) -> Result<(), Lost> {
        let answer = self.engine.await_answer(target)?;
        self.calls.push(Call { answer, deadline: Instant::now() + REAP });
        Ok(())
    }

    /// What was answered is over, whatever the answer: it may have ended meanwhile, and what else is wrong shows
    /// in how it ends.
    pub(super) fn hear_calls(&mut self, ready: &[bool]) -> Result<(), Lost> {
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
}
