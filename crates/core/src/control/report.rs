//! What a runner and the server say to each other. Every message of a runner names the attempt it speaks for: one that
//! is no longer its own changes nothing.

mod said;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::said::Said;
use super::id::{ApprovalId, RunnerId, TaskId};
use super::project::Project;
use super::role::Role;
use super::task::{AttemptResult, Task};
use crate::stamp::Stamp;

/// `POST /v1/runner/register`: also what a restarted runner says first. Answers with [`Registered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// The same name again is the same runner.
    pub name: String,
    #[serde(default)]
    pub labels: Vec<String>,
    pub capacity: u32,
    #[serde(default)]
    pub host: Option<serde_json::Value>,
    /// Attempts that it still has hold of; the server declares its others lost.
    #[serde(default)]
    pub holding: Vec<Held>,
    /// What it found of lives before this one, whose owners are dead, and removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<Removed>,
}

impl Registration {
    /// Attempts that it may say it holds.
    pub const MOST_HELD: usize = 4096;
    /// Things that it may say it removed.
    pub const MOST_REMOVED: usize = 500;
}

/// Something that outlived its owner, as the runner's own log has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Removed {
    /// `container`, `process`, `sandbox`, …
    pub kind: String,
    pub name: String,
    /// Of this one, in the runner's store.
    #[serde(default)]
    pub run: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Held {
    pub task: TaskId,
    pub attempt: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Registered {
    pub runner: RunnerId,
    pub lease_ms: u64,
    pub heartbeat_ms: u64,
    /// What it said it holds and must stop, because it is no longer its own.
    pub drop: Vec<Held>,
}

/// `POST /v1/runner/claim`: waits up to `wait_ms` for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimAsk {
    pub runner: RunnerId,
    /// How many it can take.
    pub room: u32,
    pub wait_ms: u64,
}

/// A task to be run, with all that policy needs to be judged again by the runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Claim {
    pub task: Task,
    pub attempt: u32,
    /// Fences this attempt: every report carries it.
    pub fence: String,
    pub project: Option<Project>,
    pub role: Option<Role>,
    /// The yes that it goes with, where it needed one.
    #[serde(default)]
    pub approval: Option<ApprovalId>,
    #[schema(value_type = String, format = DateTime)]
    pub lease_until: Stamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Claims {
    pub claims: Vec<Claim>,
}

/// `POST /v1/runner/heartbeat`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    pub runner: RunnerId,
    pub holding: Vec<Held>,
    #[serde(default)]
    pub draining: bool,
    /// It holds nothing, and this is its last word: it is offline from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaving: bool,
    /// How long the answer may wait for news: a cancel is answered at once.
    #[serde(default)]
    pub wait_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Beat {
    #[schema(value_type = String, format = DateTime)]
    pub lease_until: Stamp,
    /// To be stopped; confirmed by a status `canceled`.
    pub cancel: Vec<Held>,
    /// No longer its own: to be stopped and not reported.
    pub drop: Vec<Held>,
    /// Work on changes that the server wants done where they lie.
    #[serde(default)]
    pub errands: Vec<Errand>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportedStatus {
    Running,
    Succeeded,
    Failed,
    TimedOut,
    Canceled,
    /// Given back unstarted.
    Released,
}

/// `POST /v1/runner/tasks/{id}/status`. What is said in it must be known: see `Said`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Said")]
pub struct StatusReport {
    pub attempt: u32,
    pub fence: String,
    /// Counts up within the attempt; a number that was seen changes nothing.
    pub seq: u64,
    pub status: ReportedStatus,
    #[serde(flatten)]
    pub result: AttemptResult,
    /// Events of the run since the last report, as its own log has them.
    pub events: Vec<serde_json::Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// It changed the task.
    Accepted,
    /// Known already; nothing changed, and it is in the timeline once.
    Repeated,
    /// Of an attempt that is over or not this runner's, or illegal now; nothing changed, and it is in the timeline.
    Stale,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusAnswer {
    pub taken: Taken,
    /// Somebody asked for its end meanwhile.
    pub cancel: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// `POST /v1/runner/tasks/{id}/logs`. Bytes are base64: output is whatever the program wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogChunk {
    pub attempt: u32,
    pub fence: String,
    /// Counts from 0 within the attempt, over both streams.
    pub seq: u64,
    pub stream: Stream,
    pub data: String,
}

/// A piece of log as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogPiece {
    pub attempt: u32,
    pub seq: u64,
    pub stream: Stream,
    /// Text, with what is not UTF-8 replaced.
    pub text: String,
    /// The exact bytes, base64, where they are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// Something to be done with the changes of a finished attempt, where they lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Errand {
    pub id: String,
    pub task: TaskId,
    pub attempt: u32,
    /// The run in the runner's store.
    pub run: String,
    pub actor: String,
    pub what: ErrandKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ErrandKind {
    /// Entries as `diff --json` has them, with the gate's verdict.
    Changes,
    /// The unified diff of one path, or of all.
    Diff {
        path: Option<String>,
    },
    Apply {
        paths: Vec<String>,
        /// Of these files only these hunks, as the diff numbers them from 1.
        #[serde(default)]
        #[schema(value_type = serde_json::Value)]
        hunks: std::collections::BTreeMap<String, Vec<u32>>,
        /// Which diff has the numbers, for those files of which some hunks were applied before.
        #[serde(default)]
        #[schema(value_type = serde_json::Value)]
        marks: std::collections::BTreeMap<String, String>,
        reviewed: bool,
        #[schema(value_type = serde_json::Value)]
        answers: std::collections::BTreeMap<String, String>,
    },
    Discard {
        paths: Vec<String>,
    },
    Undo,
}

/// `POST /v1/runner/errands/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrandAnswer {
    pub runner: RunnerId,
    /// What the same command of the CLI prints with `--json`.
    pub result: Option<serde_json::Value>,
    pub problem: Option<super::problem::Problem>,
}
