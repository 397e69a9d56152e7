//! The user's terminal while a program in a sandbox has it.

use std::io::{self, PipeWriter, Read as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use cofferdam_native::SysError;
use cofferdam_native::terminal::Raw;
pub use cofferdam_native::terminal::{Line, Size, calm, guard, listen};

/// The word that makes this program the guard of a terminal.
pub const WORD: &str = "terminal-guard";

#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("cannot set the terminal")]
    Set(#[from] SysError),
    #[error("cannot start the process that would put the terminal back if this one were killed")]
    Guard { source: io::Error },
}

/// A terminal that is set to pass every key on. Dropped, it is put back; and a process of its own puts it
/// back if we are killed.
#[derive(Debug)]
pub struct Held {
    /// Put back before the guard is told that all is well.
    raw: Option<Raw>,
    life: PipeWriter,
    guard: Child,
}

impl Held {
    /// `program` is this very program.
    pub fn new(program: &Path, terminal: BorrowedFd<'_>) -> Result<Self, TerminalError> {
        let mut held = Self::guarded(program, terminal)?;
        held.raw = Some(Raw::set(terminal)?);
        Ok(held)
    }

    /// One that somebody else sets and puts back, unless we are killed.
    pub fn guarded(program: &Path, terminal: BorrowedFd<'_>) -> Result<Self, TerminalError> {
        let (guard, life) =
            start_guard(program, terminal).map_err(|source| TerminalError::Guard { source })?;
        Ok(Self { raw: None, life, guard })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.raw.take());
        // A guard that is gone guards nothing any more.
        self.life.write_all(b"k").ok();
        self.guard.wait().ok();
    }
}

fn start_guard(program: &Path, terminal: BorrowedFd<'_>) -> io::Result<(Child, PipeWriter)> {
    let (their_life, life) = io::pipe()?;
    let (mut ready, their_ready) = io::pipe()?;
    let mut command = Command::new(program);
    command
        .arg(WORD)
        .env_clear()
        .current_dir("/")
        // Out of the terminal's foreground: what is typed is not for it.
        .process_group(0)
        .stdin(Stdio::from(terminal.try_clone_to_owned()?))
        .stdout(Stdio::from(OwnedFd::from(their_ready)))
        .stderr(Stdio::from(OwnedFd::from(their_life)));
    let guard = command.spawn()?;
    // Our copies of its ends: with them open, its end would not be seen.
    drop(command);
    match ready.read(&mut [0])? {
        0 => Err(io::Error::other("it ended at once")),
        _ => Ok((guard, life)),
    }
}
