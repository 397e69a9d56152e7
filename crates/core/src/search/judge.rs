//! What becomes of one candidate.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::file::LoopFile;
use crate::result::Metrics;

/// One candidate that was tried, as the history has it. Nothing in it depends on when or where that was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// From 1.
    pub iteration: u64,
    pub seed: u64,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The number that the objective is about, where it came so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
    /// BLAKE3 over what the candidate changed: equal for equal candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<String>,
    #[serde(default)]
    pub files: u64,
    #[serde(default)]
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The best so far.
    Champion,
    /// It counts, and another is better.
    Beaten,
    /// It does not count.
    Rejected { reason: Reason, detail: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    GeneratorFailed,
    /// The generator changed nothing.
    NoCandidate,
    /// It changed what is protected.
    Protected,
    /// It changed more than the budget has.
    TooLarge,
    /// The validator objected.
    Check,
    /// What it changed cannot be carried on.
    Unsealed,
    RunFailed,
    ScoreFailed,
    /// The result is missing, too large or no JSON.
    NoResult,
    NoMetric,
    Constraint,
    /// The sandbox failed, which says nothing of the candidate.
    SandboxFailed,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GeneratorFailed => "the generator failed",
            Self::NoCandidate => "no candidate",
            Self::Protected => "protected paths were changed",
            Self::TooLarge => "the change is too large",
            Self::Check => "the validator objects",
            Self::Unsealed => "its changes cannot be carried on",
            Self::RunFailed => "the run failed",
            Self::ScoreFailed => "scoring failed",
            Self::NoResult => "no result",
            Self::NoMetric => "a number is missing",
            Self::Constraint => "a constraint is not met",
            Self::SandboxFailed => "the sandbox failed",
        })
    }
}

/// What is known of a candidate when it has been tried.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// It came to its end, and these are the numbers that were found.
    Ended(Metrics),
    Rejected {
        reason: Reason,
        detail: String,
    },
}

/// Judges a candidate against the best so far, by what was asked for and nothing else.
pub fn judge(file: &LoopFile, best: Option<f64>, measured: &Measured) -> (Verdict, Option<f64>) {
    let metrics = match measured {
        Measured::Ended(metrics) => metrics,
        Measured::Rejected { reason, detail } => {
            return (Verdict::Rejected { reason: *reason, detail: detail.clone() }, None);
        }
    };
    let rejected = |reason, detail: String| Verdict::Rejected { reason, detail };
    let value = metrics.get(&file.objective.metric).copied().filter(|value| value.is_finite());
    let missing = file.metrics.keys().find(|name| !metrics.contains_key(*name));
    if let Some(name) = missing {
        return (rejected(Reason::NoMetric, format!("there is no {name}")), value);
    }
    let Some(value) = value else {
        let detail = format!("there is no {}", file.objective.metric);
        return (rejected(Reason::NoMetric, detail), None);
    };
    if let Some(unmet) = file.constraints.iter().find(|constraint| !constraint.is_met(metrics)) {
        return (rejected(Reason::Constraint, unmet.to_string()), Some(value));
    }
    let wins = best.is_none_or(|best| file.objective.is_better(value, best));
    (if wins { Verdict::Champion } else { Verdict::Beaten }, Some(value))
}
