//! The record of one run: `record.json`, `--report`, `show --json`.

use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::changes::{Change, ChangePath};
use crate::id::RunId;
use crate::outcome::Outcome;
use crate::paths::{Arg, ExactPath};
use crate::plan::Plan;
use crate::receipt::{Cleanup, Holding};
use crate::result::ResultReport;
use crate::stamp::Stamp;

/// Version of the on-disk format. Readers refuse a newer one instead of guessing.
pub const RECORD_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub version: u32,
    pub run: RunId,
    pub command: Vec<Arg>,
    pub workspace: ExactPath,
    pub actor: String,
    /// Absent where the run was refused before one was chosen.
    pub backend: Option<Backend>,
    /// Absent while the run goes on.
    pub outcome: Option<Outcome>,
    pub plan: Option<Plan>,
    /// Settings as read back from kernel or engine.
    pub effective: serde_json::Map<String, serde_json::Value>,
    pub receipt: Vec<Holding>,
    pub usage: Option<Usage>,
    pub output: Output,
    pub changes: Option<ChangeSummary>,
    /// What it handed over, where it was asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultReport>,
    /// Why what it changed is not sealed yet. It is kept as it was left, and clean-up seals it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsealed: Option<Unsealed>,
    pub started_at: Stamp,
    pub finished_at: Option<Stamp>,
    pub cleanup: Option<Cleanup>,
    /// Which process ran it.
    pub owner: Owner,
    /// Hash of the run's latest event in the audit chain: a chain cut short is missed here.
    pub anchor: Option<Anchor>,
}

impl Record {
    /// A run of which nothing is known yet but who began it, and what is to be run where.
    pub fn begun(
        run: RunId,
        command: Vec<Arg>,
        workspace: ExactPath,
        actor: String,
        owner: Owner,
        started_at: Stamp,
    ) -> Self {
        Self {
            version: RECORD_VERSION,
            run,
            command,
            workspace,
            actor,
            backend: None,
            outcome: None,
            plan: None,
            effective: serde_json::Map::new(),
            receipt: Vec::new(),
            usage: None,
            output: Output::default(),
            changes: None,
            result: None,
            unsealed: None,
            started_at,
            finished_at: None,
            cleanup: None,
            owner,
            anchor: None,
        }
    }
}

/// A process, named so that a recycled pid is not mistaken for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    /// Start time in clock ticks since boot, as in `/proc/PID/stat`.
    pub start_ticks: u64,
    pub boot_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    pub seq: u64,
    pub hash: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub wall_ms: u64,
    pub user_ms: u64,
    pub system_ms: u64,
    pub max_rss_bytes: u64,
    /// Processes and threads that were not started, because there were as many as may be. The command may have
    /// coped, so that it says nothing of the outcome.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pids_refused: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// What the program wrote, kept or not.
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub truncated: bool,
    pub stdout: KeptStream,
    pub stderr: KeptStream,
}

/// What stands on disk of one stream: the first `head` bytes, then the last `tail` bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptStream {
    pub head: u64,
    pub tail: u64,
    pub dropped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSummary {
    pub created: u64,
    pub modified: u64,
    pub deleted: u64,
    pub retyped: u64,
    /// Hash of the sealed manifest.
    pub manifest: String,
    /// The same for the repository, where that lies outside the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Paths that are too long to be named in a manifest. They are no part of the set.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// The first entries, for whoever has just sealed them. They stand in the manifest, not here.
    #[serde(skip)]
    pub first: Option<Vec<Glimpse>>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What happened to a path, in brief.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glimpse {
    pub change: Change,
    pub path: ChangePath,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsealed {
    pub reason: String,
    /// Whether trying again can help; then whoever cleans up does.
    pub is_tried_again: bool,
    /// The signal that canceled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}
