//! Brings the image of a run in, and tells on a terminal how far it is.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use cofferdam_core::inert::Inert;
use cofferdam_core::refusal::Refusal;
use cofferdam_sandbox::image::{self, Progress};
use cofferdam_sandbox::run::Prepared;

use super::{RunOptions, say};
use crate::context::Context;

/// Often enough to be seen to move.
const PACE: Duration = Duration::from_millis(100);

pub(super) fn fetch(
    args: &RunOptions,
    context: &Context,
    prepared: &Prepared,
) -> Result<(), Refusal> {
    let is_shown = io::stderr().is_terminal() && !args.quiet;
    let mut last = None::<Instant>;
    let mut begin = |image: &str| {
        if !args.quiet {
            say(&format!("fetching {image}"));
        }
    };
    let fetched = image::fetch(prepared, &context.engines(), &mut begin, &mut |now| {
        if is_shown && last.is_none_or(|last| last.elapsed() >= PACE) {
            last = Some(Instant::now());
            show(&line(now));
        }
    });
    if last.is_some() {
        show("");
    }
    fetched
}

fn line(Progress { done, total }: Progress) -> String {
    const MIB: u64 = 1 << 20;
    Inert::line(&format!("{} of {} MiB", done / MIB, total.div_ceil(MIB))).to_string()
}

/// Over the line that was there before. With standard error gone there is nobody to tell.
fn show(text: &str) {
    io::stderr().write_all(format!("\r\x1b[K{text}").as_bytes()).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_in_whole_mebibytes() {
        assert_eq!(line(Progress { done: 5 << 20, total: (9 << 20) + 1 }), "5 of 10 MiB");
    }
}
