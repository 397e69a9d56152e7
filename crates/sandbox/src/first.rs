//! The first process of a container that has no image of its own: this very program, shown to it read-only.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use cofferdam_core::outcome::exit_code;
use cofferdam_native::first::{self, Task};
pub use cofferdam_native::first::{Owner, Variables};
use cofferdam_native::process::StartError;
use cofferdam_native::seccomp::{Program, Writes, program};
use cofferdam_native::supervise::Status;

/// The word that makes this program one.
pub const WORD: &str = "first-process";

/// Whether a program needs nothing of the tree that it is started in: an ELF file that names no interpreter. Such a
/// one can be the first process in any image.
pub(crate) fn runs_anywhere(program: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(program).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && is_static(&head)
}

/// Far more than the tables at the beginning take.
const HEAD: u64 = 64 << 10;

/// See elf(5). What cannot be read is not static.
fn is_static(head: &[u8]) -> bool {
    const INTERPRETER: u64 = 3;
    let number = |at: usize, size: usize| {
        let bytes = head.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let is_64_bit_little_endian = head.starts_with(b"\x7fELF\x02\x01");
    let table = number(0x20, 8).zip(number(0x36, 2)).zip(number(0x38, 2));
    let Some(((start, size), count)) = table.filter(|_| is_64_bit_little_endian) else {
        return false;
    };
    let kind = |index: u64| {
        let at = start.checked_add(index.checked_mul(size)?)?;
        number(usize::try_from(at).ok()?, 4)
    };
    count > 0 && (0..count).all(|index| kind(index).is_some_and(|kind| kind != INTERPRETER))
}

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

    fn program(self) -> Option<&'static Program> {
        match self {
            Self::Staged => Some(program(Writes::Staged)),
            Self::OnHost => Some(program(Writes::OnHost)),
            Self::None => None,
        }
    }
}

/// Takes the orders of a session until its owner is gone, or says why it could not.
pub fn serve(filter: Filter) -> Result<(), String> {
    first::serve(filter.program()).map_err(|error| format!("{error}: {}", error.source))
}

/// Runs a command to its end: its exit code as a shell tells it, or why it could not be started.
pub fn run(
    argv: &[OsString],
    filter: Filter,
    variables: Variables,
    owner: Owner,
) -> Result<u8, (u8, String)> {
    match first::run(&Task { argv, filter: filter.program(), variables, owner }) {
        Ok(Status::Exited(code)) => Ok(u8::try_from(code & 0xff).unwrap_or_default()),
        Ok(Status::Signaled(signal)) => {
            Ok(exit_code::SIGNAL_BASE.saturating_add(u8::try_from(signal).unwrap_or_default()))
        }
        Err(error) => {
            let code = match error {
                StartError::NotFound { .. } => exit_code::NOT_FOUND,
                StartError::NotExecutable { .. } | StartError::NoInterpreter { .. } => {
                    exit_code::NOT_EXECUTABLE
                }
                _ => exit_code::NOT_RUN,
            };
            Err((code, crate::backend::local::told_at_once(&error)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_linker_does_not_run_anywhere() {
        assert!(!runs_anywhere(Path::new("/bin/sh")));
        assert!(!runs_anywhere(Path::new("/nonexistent")));
        let mut head = vec![0; 0x40 + 2 * 0x38];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert!(!is_static(&head), "nothing to load");
        (head[0x20], head[0x36], head[0x38]) = (0x40, 0x38, 2);
        (head[0x40], head[0x78]) = (1, 6);
        assert!(is_static(&head));
        head[0x78] = 3;
        assert!(!is_static(&head));
        assert!(!is_static(&head[..0x70]) && !is_static(b"#!/bin/sh"));
    }
}
