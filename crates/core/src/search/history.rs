//! The trials so far, and whether they are enough.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::file::LoopFile;
use super::judge::{Reason, Trial, Verdict};
use crate::quantity::Span;

/// Trials in the order of their numbers, without a gap.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    trials: Vec<Trial>,
}

/// Why a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    Target,
    Iterations,
    WallTime,
    NoProgress,
    /// One after another failed in the sandbox itself.
    SandboxFailed,
}

/// So many failures of the sandbox one after the other are not the candidates' doing.
const FAILURES: usize = 3;

impl History {
    /// Adds the next trial. `false` where it is not the next.
    #[must_use]
    pub fn push(&mut self, trial: Trial) -> bool {
        let is_next = trial.iteration == self.next();
        if is_next {
            self.trials.push(trial);
        }
        is_next
    }

    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The number of the trial that comes next.
    pub fn next(&self) -> u64 {
        self.trials.len() as u64 + 1
    }

    pub fn champion(&self) -> Option<&Trial> {
        self.trials.iter().rev().find(|trial| trial.verdict == Verdict::Champion)
    }

    /// What a trial is told of: all that was decided before the batch that it belongs to. So it makes no
    /// difference which of a batch was done first, or whether somebody was killed between two of them.
    pub fn before_batch_of(&self, iteration: u64, parallel: u64) -> Self {
        let whole = (iteration.saturating_sub(1) / parallel.max(1)) * parallel.max(1);
        let whole = usize::try_from(whole).unwrap_or(usize::MAX).min(self.trials.len());
        Self { trials: self.trials[..whole].to_vec() }
    }

    /// The numbers that are to be tried next, at once: the rest of a batch.
    pub fn next_batch(&self, file: &LoopFile) -> std::ops::RangeInclusive<u64> {
        let (first, parallel) = (self.next(), file.budget.parallel.max(1));
        let last = first.div_ceil(parallel) * parallel;
        first..=last.min(file.budget.iterations)
    }

    /// Whether it is enough. Asked between batches; `elapsed` is the time that was spent so far.
    pub fn stop(&self, file: &LoopFile, elapsed: Span) -> Option<Stop> {
        let budget = &file.budget;
        let done = self.trials.len() as u64;
        // In the middle of a batch nothing is decided: it is finished first.
        if !done.is_multiple_of(budget.parallel.max(1)) && done < budget.iterations {
            return None;
        }
        let champion = self.champion();
        let reached = champion.and_then(|c| c.value).is_some_and(|v| file.objective.is_reached(v));
        let since = done - champion.map_or(0, |champion| champion.iteration);
        let failed = |trial: &Trial| {
            matches!(trial.verdict, Verdict::Rejected { reason: Reason::SandboxFailed, .. })
        };
        let failing =
            done >= FAILURES as u64 && self.trials.iter().rev().take(FAILURES).all(failed);
        if reached {
            Some(Stop::Target)
        } else if done >= budget.iterations {
            Some(Stop::Iterations)
        } else if failing {
            Some(Stop::SandboxFailed)
        } else if budget.no_progress.is_some_and(|most| since >= most) {
            Some(Stop::NoProgress)
        } else if budget.wall_time.is_some_and(|most| elapsed >= most) {
            Some(Stop::WallTime)
        } else {
            None
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Target => "the target is reached",
            Self::Iterations => "all iterations are done",
            Self::WallTime => "the time is up",
            Self::NoProgress => "there is no progress any more",
            Self::SandboxFailed => "the sandbox failed three times in a row",
        })
    }
}
