//! Standard output. What cannot be written there says so, and is not taken for a disk of ours that is full.

use std::error::Error;
use std::fmt;
use std::io::{self, StdoutLock, Write};

/// Standard output, held.
#[derive(Debug)]
pub(crate) struct Output(StdoutLock<'static>);

/// Why words of ours reached nobody. It is the inner error of an [`io::Error`] of the same kind.
#[derive(Debug)]
pub(crate) struct Unwritten(io::Error);

impl Output {
    pub(crate) fn hold() -> Self {
        Self(io::stdout().lock())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(unwritten)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(unwritten)
    }
}

fn unwritten(error: io::Error) -> io::Error {
    match error.kind() {
        // Is tried again, and no failure.
        io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, Unwritten(error)),
    }
}

impl Unwritten {
    /// Whether this is the cause of an error.
    pub(crate) fn is_in(error: &anyhow::Error) -> bool {
        let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
        causes.any(|cause| cause.get_ref().is_some_and(|inner| inner.is::<Self>()))
    }
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot write to standard output")
    }
}

impl Error for Unwritten {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}
