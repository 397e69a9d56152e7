//! Whether whoever asked for a long piece of work wants it to end before it is done.

use std::io::{self, Read};
use std::sync::atomic::{AtomicI32, Ordering};

use cofferdam_native::signals::Signals;

/// Asked between two steps of the work, and while large files are read. Once told, it stays told.
#[derive(Debug)]
pub struct Halt<'a> {
    signals: Option<&'a Signals>,
    /// The signal that told it, or 0.
    told: AtomicI32,
}

/// The error of work that ended because it was told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it was canceled before it was done")]
pub struct Halted {
    pub signal: i32,
}

impl<'a> Halt<'a> {
    /// For work that goes on to its end.
    pub fn never() -> Self {
        Self { signals: None, told: AtomicI32::new(0) }
    }

    /// Told by a signal that asks this process to end.
    pub fn by(signals: &'a Signals) -> Self {
        Self { signals: Some(signals), ..Self::never() }
    }

    pub fn check(&self) -> Result<(), Halted> {
        let told = match self.told.load(Ordering::Relaxed) {
            0 => self.signals.and_then(Signals::to_end).unwrap_or(0),
            signal => signal,
        };
        if told == 0 {
            return Ok(());
        }
        self.told.store(told, Ordering::Relaxed);
        Err(Halted { signal: told })
    }

    /// Reads from `from` until told.
    pub(crate) fn reader<R: Read>(&self, from: R) -> impl Read {
        Reader { from, halt: self }
    }
}

/// Whether an error of reading is that of having been told.
pub(crate) fn halted(error: &io::Error) -> Option<Halted> {
    error.get_ref()?.downcast_ref().copied()
}

struct Reader<'a, R> {
    from: R,
    halt: &'a Halt<'a>,
}

impl<R: Read> Read for Reader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.halt.check().map_err(io::Error::other)?;
        self.from.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_told_nothing_more_is_read() {
        let halt = Halt::never();
        assert_eq!(io::read_to_string(halt.reader(&b"all"[..])).unwrap(), "all");
        halt.told.store(15, Ordering::Relaxed);
        let error = io::read_to_string(halt.reader(&b"all"[..])).unwrap_err();
        assert_eq!(halted(&error), Some(Halted { signal: 15 }));
        assert_eq!(halted(&io::Error::other("x")), None);
        assert_eq!(halt.check(), Err(Halted { signal: 15 }));
    }
}
