//! The first process of a container that has no image of its own: this very program, shown to it read-only.

use std::ffi::OsString;

use cofferdam_core::outcome::exit_code;
pub use cofferdam_native::first::Variables;
use cofferdam_native::first::{self, Task};
use cofferdam_native::process::StartError;
use cofferdam_native::seccomp::{Writes, program};
use cofferdam_native::supervise::Status;

/// The word that makes this program one.
pub const WORD: &str = "first-process";

/// Which of our own system call filters is put on top of the engine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    Staged,
    OnHost,
    None,
}

impl Filter {
    pub const ALL: [Self; 3] = [Self::Staged, Self::OnHost, Self::None];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::OnHost => "on-host",
            Self::None => "none",
        }
    }
}

/// Runs a command to its end: its exit code as a shell tells it, or why it could not be started.
pub fn run(argv: &[OsString], filter: Filter, variables: Variables) -> Result<u8, (u8, String)> {
    let filter = match filter {
        Filter::Staged => Some(program(Writes::Staged)),
        Filter::OnHost => Some(program(Writes::OnHost)),
        Filter::None => None,
    };
    match first::run(&Task { argv, filter, variables }) {
        Ok(Status::Exited(code)) => Ok(u8::try_from(code & 0xff).unwrap_or_default()),
        Ok(Status::Signaled(signal)) => {
            Ok(exit_code::SIGNAL_BASE.saturating_add(u8::try_from(signal).unwrap_or_default()))
        }
        Err(error) => {
            let code = match error {
                StartError::NotFound { .. } => exit_code::NOT_FOUND,
                StartError::NotExecutable { .. } => exit_code::NOT_EXECUTABLE,
                _ => exit_code::NOT_RUN,
            };
            Err((code, crate::backend::local::told(&error).0))
        }
    }
}
