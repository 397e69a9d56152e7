//! How far something long has come, said now and then on standard error: what is printed belongs to its readers.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Between two words about the same thing.
const EVERY: Duration = Duration::from_secs(5);

/// One thing of known length. Many threads may say how far it is.
pub(crate) struct Progress {
    what: String,
    of: usize,
    begun: Instant,
    said: Mutex<Instant>,
}

impl Progress {
    pub(crate) fn new(what: impl Into<String>, of: usize) -> Self {
        let begun = Instant::now();
        Self { what: what.into(), of, begun, said: Mutex::new(begun) }
    }

    /// Says so, unless something was said a moment ago.
    pub(crate) fn at(&self, done: usize) {
        if let Some(line) = self.line(done, Instant::now()) {
            eprintln!("{line}");
        }
    }

    fn line(&self, done: usize, now: Instant) -> Option<String> {
        // Another thread that is saying it just now is enough.
        let mut said = self.said.try_lock().ok()?;
        if now.duration_since(*said) < EVERY {
            return None;
        }
        *said = now;
        let (what, of, seconds) = (&self.what, self.of, now.duration_since(self.begun).as_secs());
        Some(format!("{what}: {done} of {of}, {seconds} s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_now_and_then_and_not_each_time() {
        let progress = Progress::new("soak", 100);
        let after = |seconds| progress.begun + Duration::from_secs(seconds);
        assert_eq!(progress.line(1, after(1)), None);
        assert_eq!(progress.line(7, after(6)).as_deref(), Some("soak: 7 of 100, 6 s"));
        assert_eq!(progress.line(8, after(7)), None);
        assert_eq!(progress.line(20, after(11)).as_deref(), Some("soak: 20 of 100, 11 s"));
    }
}
