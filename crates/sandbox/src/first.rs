//! The first process of a container that has no image of its own: this very program, shown to it read-only.

use std::ffi::OsString;

use cofferdam_core::outcome::exit_code;
use cofferdam_native::first;
use cofferdam_native::process::StartError;
use cofferdam_native::supervise::Status;

/// The word that makes this program one.
pub const WORD: &str = "first-process";

/// Runs a command to its end: its exit code as a shell tells it, or why it could not be started.
pub fn run(argv: &[OsString]) -> Result<u8, (u8, String)> {
    match first::run(argv) {
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
