//! How far a long work is, on a terminal and nowhere else.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use cofferdam_sandbox::changes::apply::Progress;

/// A line on standard error that counts. Work that is done in a moment never shows it.
#[derive(Debug)]
pub(crate) struct Counter {
    verb: &'static str,
    next: Option<Instant>,
    shown: bool,
}

const FIRST: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(100);

impl Counter {
    pub(crate) fn new(verb: &'static str, quiet: bool) -> Self {
        let wanted = !quiet && io::stderr().is_terminal();
        Self { verb, next: wanted.then(|| Instant::now() + FIRST), shown: false }
    }

    pub(crate) fn count(&mut self, progress: Progress) {
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now < next {
            return;
        }
        self.next = Some(now + EVERY);
        self.shown = true;
        let text = match progress {
            Progress::Staged(entries) => format!("preparing: {entries} entries"),
            Progress::Made(steps) => format!("{}: {steps} steps", self.verb),
        };
        // Nobody needs to know that it could not be shown.
        write!(io::stderr(), "\r\x1b[K{text}").ok();
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        if self.shown {
            write!(io::stderr(), "\r\x1b[K").ok();
        }
    }
}
