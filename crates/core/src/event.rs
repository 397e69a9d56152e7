//! What is written down as it happens. One JSON object a line; [`crate::chain`] links them.

use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::id::RunId;
use crate::outcome::OutcomeClass;
use crate::paths::ExactPath;
use crate::receipt::CleanupReceipt;
use crate::record::ChangeSummary;
use crate::refusal::Rule;
use crate::result::Metrics;
use crate::search::Reason;
use crate::stamp::Stamp;

/// An event before it has a place in the chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub ts: Stamp,
    pub run: Option<RunId>,
    pub workspace: Option<ExactPath>,
    /// Who did it: `user:NAME`, `runner:NAME`, `token:NAME`.
    pub actor: String,
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What a run left on disk when it was closed, by its BLAKE3 hashes: a file that is changed later is no
/// longer the one that the log speaks of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Of `record.json` without its anchor, which is written after the event.
    pub record: String,
    /// Of the kept output; absent where the run had none.
    pub stdout: Option<String>,
    pub stderr: Option<String>,
}

impl EventKind {
    /// Every type that an event can have.
    pub const TYPES: [&'static str; 35] = [
        "sandbox.mode_selected",
        "sandbox.rejected",
        "sandbox.image_built",
        "sandbox.started",
        "sandbox.output_truncated",
        "sandbox.timeout",
        "sandbox.oom",
        "sandbox.stopping",
        "sandbox.stopped",
        "sandbox.failed",
        "sandbox.fallback_to_direct",
        "sandbox.override_used",
        "sandbox.violation",
        "sandbox.cleanup",
        "sandbox.orphan_removed",
        "session.exec_started",
        "session.exec_ended",
        "changes.sealed",
        "changes.seal_failed",
        "changes.applied",
        "changes.imported",
        "changes.discarded",
        "changes.undone",
        "changes.conflict",
        "changes.refused",
        "changes.taken_back",
        "loop.started",
        "loop.resumed",
        "loop.candidate",
        "loop.rejected",
        "loop.scored",
        "loop.champion",
        "loop.stopped",
        "run.removed",
        "audit.recovered",
    ];

    pub fn evidence(&self) -> Option<&Evidence> {
        match self {
            Self::Rejected { evidence, .. } | Self::Cleanup { evidence, .. } => evidence.as_ref(),
            _ => None,
        }
    }
}

impl EventKind {
    /// The hash of the run's ledger of changes after this, where it is about that.
    pub fn ledger(&self) -> Option<&str> {
        match self {
            Self::Applied { done } | Self::Discarded { done } | Self::Undone { done, .. } => {
                Some(&done.ledger)
            }
            _ => None,
        }
    }
}

/// What was done with entries of a change set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub manifest: String,
    pub entries: u64,
    /// Its number in the set's ledger.
    #[serde(default)]
    pub operation: u64,
    /// Hash of the ledger after it.
    #[serde(default)]
    pub ledger: String,
    /// Where they are few.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// An iteration of a loop, and the runs it took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopStep {
    pub id: RunId,
    pub iteration: u64,
    /// In their order: generator, run, scorer.
    pub runs: Vec<RunId>,
}

/// State of a sandbox as its start, failure and stop report it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Absent where no container is involved.
    pub container_id: Option<String>,
    pub status: String,
    pub message: Option<String>,
    pub exit_code: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum EventKind {
    #[serde(rename = "sandbox.mode_selected")]
    ModeSelected { asked: String, backend: Backend, passed_over: Vec<String> },
    #[serde(rename = "sandbox.rejected")]
    Rejected { rule: Rule, field: String, message: String, evidence: Option<Evidence> },
    #[serde(rename = "sandbox.image_built")]
    ImageBuilt { image: String, digest: String },
    #[serde(rename = "sandbox.started")]
    Started {
        #[serde(flatten)]
        state: Status,
        backend: Backend,
        command: Vec<String>,
        effective: serde_json::Map<String, serde_json::Value>,
        image_digest: Option<String>,
        /// Names of the variables the program sees.
        env: Vec<String>,
        /// Hash of the receipt as it was when the command began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<String>,
    },
    #[serde(rename = "sandbox.output_truncated")]
    OutputTruncated { stream: String, total_bytes: u64, kept_bytes: u64 },
    #[serde(rename = "sandbox.timeout")]
    Timeout { limit: String, idle: bool },
    #[serde(rename = "sandbox.oom")]
    Oom { memory_limit: String },
    #[serde(rename = "sandbox.stopping")]
    Stopping { reason: String, signal: i32 },
    #[serde(rename = "sandbox.stopped")]
    Stopped {
        #[serde(flatten)]
        state: Status,
        signal: Option<i32>,
    },
    #[serde(rename = "sandbox.failed")]
    Failed {
        #[serde(flatten)]
        state: Status,
    },
    #[serde(rename = "sandbox.fallback_to_direct")]
    FallbackToDirect { asked: String, reasons: Vec<String> },
    #[serde(rename = "sandbox.override_used")]
    OverrideUsed { name: String, reason: String },
    #[serde(rename = "sandbox.violation")]
    Violation { guarantee: String, message: String },
    #[serde(rename = "sandbox.cleanup")]
    Cleanup { receipt: CleanupReceipt, left: Vec<String>, evidence: Option<Evidence> },
    #[serde(rename = "sandbox.orphan_removed")]
    OrphanRemoved { kind: String, name: String },
    /// A command of a session is about to be started.
    #[serde(rename = "session.exec_started")]
    ExecStarted {
        exec: u64,
        name: Option<String>,
        command: Vec<String>,
        workdir: String,
        /// Names of the variables that it has besides the session's.
        env: Vec<String>,
    },
    /// A command of a session has ended. What it left running may go on.
    #[serde(rename = "session.exec_ended")]
    ExecEnded {
        exec: u64,
        status: OutcomeClass,
        exit_code: Option<i32>,
        signal: Option<i32>,
        message: Option<String>,
        wall_ms: u64,
        stdout_bytes: u64,
        stderr_bytes: u64,
    },
    #[serde(rename = "changes.sealed")]
    Sealed {
        #[serde(flatten)]
        changes: ChangeSummary,
    },
    /// What a run changed could not be sealed. It is kept as it was left.
    #[serde(rename = "changes.seal_failed")]
    SealFailed { reason: String },
    #[serde(rename = "changes.applied")]
    Applied {
        #[serde(flatten)]
        done: Done,
    },
    /// Commits that were made inside became a branch on the host.
    #[serde(rename = "changes.imported")]
    Imported { branch: String, commit: String, commits: u64 },
    #[serde(rename = "changes.discarded")]
    Discarded {
        #[serde(flatten)]
        done: Done,
    },
    #[serde(rename = "changes.undone")]
    Undone {
        #[serde(flatten)]
        done: Done,
        /// Number of the apply that was undone.
        #[serde(default)]
        of: u64,
    },
    #[serde(rename = "changes.conflict")]
    Conflict {
        manifest: String,
        paths: Vec<String>,
        #[serde(default)]
        reasons: Vec<String>,
    },
    /// The gate objected, and nothing was applied.
    #[serde(rename = "changes.refused")]
    ApplyRefused { manifest: String, entries: u64, paths: Vec<String>, reasons: Vec<String> },
    /// An apply or undo failed or died on the way, and the workspace was made what it was.
    #[serde(rename = "changes.taken_back")]
    TakenBack { manifest: String, operation: u64, reason: String, left: Vec<String> },
    /// A loop begins: what is to be tried, by the hash of its file.
    #[serde(rename = "loop.started")]
    LoopStarted { id: RunId, file: String, file_hash: String, iterations: u64, backend: Backend },
    /// A loop that was cut short goes on, with that iteration.
    #[serde(rename = "loop.resumed")]
    LoopResumed { id: RunId, iteration: u64 },
    /// A candidate was written, and may be run.
    #[serde(rename = "loop.candidate")]
    LoopCandidate {
        #[serde(flatten)]
        of: LoopStep,
        candidate: Option<String>,
        files: u64,
        bytes: u64,
    },
    /// A candidate does not count.
    #[serde(rename = "loop.rejected")]
    LoopRejected {
        #[serde(flatten)]
        of: LoopStep,
        reason: Reason,
        detail: String,
        metrics: Metrics,
    },
    /// A candidate came to its end, with these numbers.
    #[serde(rename = "loop.scored")]
    LoopScored {
        #[serde(flatten)]
        of: LoopStep,
        metrics: Metrics,
        value: Option<f64>,
        /// The iteration of the best so far, this one included.
        champion: Option<u64>,
    },
    /// A candidate is the best so far.
    #[serde(rename = "loop.champion")]
    LoopChampion {
        #[serde(flatten)]
        of: LoopStep,
        value: f64,
        before: Option<f64>,
    },
    /// A loop ended, or was told to; in the latter case it can go on.
    #[serde(rename = "loop.stopped")]
    LoopStopped {
        id: RunId,
        reason: String,
        iterations: u64,
        champion: Option<u64>,
        value: Option<f64>,
    },
    /// A finished run was removed from disk on purpose.
    #[serde(rename = "run.removed")]
    RunRemoved { finished_at: Option<Stamp> },
    /// A line that was cut off by a crash was taken out of the log before the next was written.
    #[serde(rename = "audit.recovered")]
    AuditRecovered { torn_bytes: u64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_types_is_whole() {
        let unknown = serde_json::json!({ "type": "frob" });
        let said = serde_json::from_value::<EventKind>(unknown).unwrap_err().to_string();
        let known = EventKind::TYPES.map(|name| format!("`{name}`")).join(", ");
        assert_eq!(said, format!("unknown variant `frob`, expected one of {known}"));
    }
}
