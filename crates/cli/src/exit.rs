//! Exit codes of every command but `run`, which has the command's own (see `cofferdam_core::outcome`).

use std::process::ExitCode;

/// How a command of ours ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Fine,
    Failed,
    Usage,
    /// Somebody must decide.
    Undecided,
    /// Nothing was run.
    NotRun,
    /// The code of the command that was run.
    Command(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Undecided => 3,
            Exit::NotRun => cofferdam_core::outcome::exit_code::NOT_RUN,
            Exit::Command(code) => code,
        })
    }
}
