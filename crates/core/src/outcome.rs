//! How a run ended, and the exit code that says so.

use serde::{Deserialize, Serialize};

/// The end of a run. A failing sandbox never looks like a failing command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub class: OutcomeClass,
    /// Of the command itself; absent where it did not exit by itself.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeClass {
    Exited,
    Signaled,
    TimedOut,
    Oom,
    Canceled,
    Refused,
    SandboxFailure,
}

/// Exit codes of `run` that are ours and not the command's.
pub mod exit_code {
    pub const TIMED_OUT: u8 = 124;
    /// Nothing ran.
    pub const NOT_RUN: u8 = 125;
    pub const NOT_EXECUTABLE: u8 = 126;
    pub const NOT_FOUND: u8 = 127;
    pub const SIGNAL_BASE: u8 = 128;
    pub const OOM: u8 = 137;
}

impl Outcome {
    pub fn exited(code: i32) -> Self {
        Self { class: OutcomeClass::Exited, exit_code: Some(code), signal: None, message: None }
    }

    pub fn signaled(signal: i32) -> Self {
        Self { class: OutcomeClass::Signaled, exit_code: None, signal: Some(signal), message: None }
    }

    /// An end that was not the command's own doing.
    pub fn ended(class: OutcomeClass, signal: Option<i32>, message: impl Into<String>) -> Self {
        Self { class, exit_code: None, signal, message: Some(message.into()) }
    }

    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// What `cofferdam run` exits with.
    pub fn process_exit_code(&self) -> u8 {
        let killed = self.signal.and_then(|s| u8::try_from(s).ok()).filter(|s| *s < 128);
        // A command's code is a byte on every system that runs it.
        let own = self.exit_code.and_then(|code| u8::try_from(code & 0xff).ok());
        let by_signal = killed.map_or(exit_code::SIGNAL_BASE + 15, |s| exit_code::SIGNAL_BASE + s);
        match self.class {
            OutcomeClass::Exited => own.unwrap_or_default(),
            OutcomeClass::Signaled => by_signal,
            // One that cleaned up when it was asked to stop has something to say.
            OutcomeClass::Canceled => own.unwrap_or(by_signal),
            OutcomeClass::TimedOut => exit_code::TIMED_OUT,
            OutcomeClass::Oom => exit_code::OOM,
            OutcomeClass::Refused | OutcomeClass::SandboxFailure => exit_code::NOT_RUN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_the_documented_ones() {
        let code = |o: Outcome| o.process_exit_code();
        assert_eq!(code(Outcome::exited(7)), 7);
        assert_eq!(code(Outcome::signaled(9)), 137);
        assert_eq!(code(Outcome::ended(OutcomeClass::TimedOut, Some(15), "")), 124);
        assert_eq!(code(Outcome::ended(OutcomeClass::Oom, Some(9), "")), 137);
        assert_eq!(code(Outcome::ended(OutcomeClass::Canceled, Some(2), "")), 130);
        let tidy =
            Outcome { exit_code: Some(42), ..Outcome::ended(OutcomeClass::Canceled, None, "") };
        assert_eq!(code(tidy), 42);
        assert_eq!(code(Outcome::ended(OutcomeClass::Refused, None, "")), 125);
        assert_eq!(code(Outcome::ended(OutcomeClass::SandboxFailure, None, "")), 125);
    }
}
