//! What can be proved of a task: the links from what was asked for to what reached the host.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::TaskId;
use crate::stamp::Stamp;

/// The links, in their order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AuditStep {
    /// What was asked for; the value is its hash.
    Request,
    /// What policy said of it; the value is the hash of the rules that it was judged by.
    Policy,
    /// What was run; the value is the hash of command and effective settings.
    Command,
    /// What it changed; the value is the hash of the sealed manifest.
    ChangeSet,
    /// Who decided what about it; the value is what it was decided about.
    Decision,
    /// What reached the host; the value is the hash of what stands there after it, wherever the changes speak of it.
    Applied,
    /// What had reached the host was taken back; the value as with `applied`.
    Undone,
    /// What is not to reach the host was thrown away; the value as with `applied`, though nothing of it was touched.
    Discarded,
    /// What was decided was not done; the value says why.
    Refused,
    /// What was decided was done, and there was nothing to do; the value as with `applied`.
    Untouched,
}

/// What somebody decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditAct {
    /// That it may run.
    Approve,
    /// That it may not.
    Reject,
    Apply,
    Undo,
    Discard,
}

/// What came of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    Done,
    /// It was done, and there was nothing to do.
    Nothing,
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditLink {
    pub step: AuditStep,
    /// What was decided, of a decision and of what came of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<AuditAct>,
    /// About these paths; about all that was changed where none are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// What came of a decision about changes, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<AuditOutcome>,
    pub value: String,
    pub attempt: Option<u32>,
    pub actor: String,
    #[schema(value_type = String, format = DateTime)]
    pub ts: Stamp,
    /// The event that says so, and its hash in the chain.
    pub seq: u64,
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskAudit {
    pub task: TaskId,
    pub links: Vec<AuditLink>,
    pub container_id: Option<String>,
    pub exit_code: Option<i32>,
    /// Why it failed, where it did.
    pub error: Option<String>,
}

/// What the chain of all events says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainVerdict {
    pub holds: bool,
    /// How many events were looked at.
    pub events: u64,
    /// Of the last one: kept elsewhere, it tells later whether the end was cut off.
    pub head: String,
    /// The first event that is wrong, and what is wrong with it.
    pub broken: Option<String>,
    pub broken_seq: Option<u64>,
}
