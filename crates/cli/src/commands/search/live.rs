//! How a loop goes, while it goes: a bar on a terminal, a line for each decision elsewhere.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use cofferdam_core::id::RunId;
use cofferdam_core::inert::Inert;
use cofferdam_core::search::{LoopFile, Verdict};
use cofferdam_sandbox::search::{Line, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::asking::say;

#[derive(Debug)]
pub(super) struct Live {
    quiet: bool,
    bar: Option<ProgressBar>,
    metric: String,
    best: Option<(u64, f64)>,
    rejected: u64,
}

const TICK: Duration = Duration::from_millis(120);

impl Live {
    pub(super) fn new(quiet: bool, file: &LoopFile) -> Self {
        let is_shown = !quiet && io::stderr().is_terminal();
        let bar = is_shown.then(|| {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(file.budget.iterations), target);
            // A template that is wrong shows the plain bar.
            if let Ok(style) =
                ProgressStyle::with_template("{spinner} {pos}/{len} {wide_bar} {msg} {elapsed}")
            {
                bar.set_style(style);
            }
            bar.enable_steady_tick(TICK);
            bar
        });
        Self { quiet, bar, metric: file.objective.metric.clone(), best: None, rejected: 0 }
    }

    pub(super) fn begin(&mut self, id: RunId, is_resumed: bool, lines: &[Line]) {
        for line in lines {
            self.count(line);
        }
        let done = lines.len();
        match is_resumed {
            true => self.tell(&format!("loop {} goes on with iteration {}", id.short(), done + 1)),
            false => self.tell(&format!("loop {} begins", id.short())),
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
        }
    }

    pub(super) fn see(&mut self, progress: &Progress<'_>) {
        let Progress::Decided(line) = progress else { return };
        self.count(line);
        match &self.bar {
            None => self.tell(&in_words(line, &self.metric)),
            Some(bar) => {
                bar.set_position(line.trial.iteration);
                let best = self.best.map_or("no champion yet".to_owned(), |(at, value)| {
                    format!("{} {value} (iteration {at})", Inert::line(&self.metric))
                });
                bar.set_message(format!("{best}, {} rejected", self.rejected));
                if line.trial.verdict == Verdict::Champion {
                    bar.suspend(|| say(&in_words(line, &self.metric)));
                }
            }
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn count(&mut self, line: &Line) {
        match (&line.trial.verdict, line.trial.value) {
            (Verdict::Champion, Some(value)) => self.best = Some((line.trial.iteration, value)),
            (Verdict::Rejected { .. }, _) => self.rejected += 1,
            _ => {}
        }
    }

    fn tell(&self, text: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.suspend(|| say(text)),
            None => say(text),
        }
    }
}

/// One decision as a sentence.
fn in_words(line: &Line, metric: &str) -> String {
    let trial = &line.trial;
    let value = trial.value.map(|value| format!("{metric} {value}")).unwrap_or_default();
    match &trial.verdict {
        Verdict::Champion => format!("iteration {}: champion, {value}", trial.iteration),
        Verdict::Beaten => format!("iteration {}: {value}", trial.iteration),
        Verdict::Rejected { reason, detail } => {
            format!("iteration {}: rejected, {reason}: {detail}", trial.iteration)
        }
    }
}
