//! One command to be run for a project, and how that went.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::{ProjectId, RunnerId, TaskId, WorkflowRunId};
use super::state::TaskState;
use crate::spec::Mode;
use crate::stamp::Stamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionMode {
    /// In an empty workspace.
    NoWorkspace,
    /// On the project's tree itself, with locks on the paths it names.
    SharedWorkspace,
    /// In a git worktree of its own.
    IsolatedWorktree,
    /// Staged, in a container; needs a `sandbox` block.
    DockerSandbox,
}

impl ExecutionMode {
    /// How a task of this mode writes to its project's tree: a mount is no other way.
    pub fn writes(self) -> Mode {
        match self {
            Self::SharedWorkspace => Mode::Direct,
            Self::NoWorkspace | Self::IsolatedWorktree | Self::DockerSandbox => Mode::Stage,
        }
    }
}

/// What a container is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxBlock {
    pub image: String,
    /// Program and arguments; never a shell line.
    pub command: Vec<String>,
    #[serde(default)]
    pub workdir: Option<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Host variables of the runner that are passed through, by name.
    #[serde(default)]
    pub pass_env: Vec<String>,
    #[serde(default)]
    pub mounts: Vec<MountBlock>,
    #[serde(default)]
    pub network: Option<String>,
    #[serde(default)]
    pub memory: Option<String>,
    #[serde(default)]
    pub cpus: Option<String>,
    #[serde(default)]
    pub pids: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MountBlock {
    pub source: String,
    pub target: String,
    #[serde(default)]
    pub writable: bool,
}

/// A setting beyond what the role gives, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// A configuration key.
    pub setting: String,
    pub value: serde_json::Value,
    pub reason: String,
}

/// Why an attempt ended as it did, as far as a retry policy cares.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RetryCause {
    /// The command ended with another code than 0.
    Failed,
    TimedOut,
    Oom,
    /// The sandbox could not be made or kept.
    SandboxFailure,
    Lost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryPolicy {
    /// The first one included.
    pub max_attempts: u32,
    /// Causes after which there is another attempt.
    #[serde(default)]
    pub on: Vec<RetryCause>,
    /// Before the second attempt; doubled before each further one.
    #[serde(default)]
    pub backoff_ms: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: 1, on: Vec::new(), backoff_ms: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    /// Needed by every mode but `no-workspace`.
    #[serde(default)]
    pub project: Option<ProjectId>,
    #[serde(default)]
    pub title: Option<String>,
    pub execution_mode: ExecutionMode,
    /// Program and arguments, in every mode but `docker-sandbox`, which has them in its block.
    #[serde(default)]
    pub command: Vec<String>,
    /// In mode `docker-sandbox`, and only there.
    #[serde(default)]
    pub sandbox: Option<SandboxBlock>,
    #[serde(default)]
    pub role: Option<String>,
    /// Settings by configuration key, under the role's and the host's ceiling.
    #[serde(default)]
    pub settings: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    pub overrides: Vec<Override>,
    /// In mode `shared-workspace`: what it works on, relative to the root. Empty: everything.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Files of the workspace that are kept for others when the command is over, whichever way that was: relative to the
    /// workspace, of what the command wrote. Not in mode `shared-workspace`, where it writes into the project itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub artifacts: Vec<String>,
    /// Whether the command hands over a result: the JSON file that `COFFERDAM_RESULT` names inside, kept as the artifact
    /// `result.json`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub result: bool,
    /// The greater goes first, within its project.
    #[serde(default)]
    pub priority: i32,
    #[serde(default)]
    pub retry: RetryPolicy,
    #[serde(default)]
    pub requires_approval: bool,
    #[serde(default)]
    pub timeout: Option<String>,
    /// Not started any more after this moment.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deadline: Option<Stamp>,
    /// Labels that a runner must have.
    #[serde(default)]
    pub labels: Vec<String>,
    /// `false`: it stays `created` until it is dispatched.
    #[serde(default = "yes")]
    pub dispatch: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    pub id: TaskId,
    #[serde(flatten)]
    pub asked: NewTask,
    pub workflow_run: Option<WorkflowRunId>,
    /// Its name in the workflow.
    pub step: Option<String>,
    pub state: TaskState,
    /// Who asked for it: `token:NAME`.
    pub actor: String,
    /// Counts from 1; 0 before the first.
    pub attempt: u32,
    pub runner: Option<RunnerId>,
    /// Of the attempt that is or was the last.
    #[serde(flatten)]
    pub result: AttemptResult,
    pub version: u64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Stamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub queued_at: Option<Stamp>,
}

/// What is known of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptResult {
    /// The run in the runner's own store.
    pub run: Option<String>,
    pub backend: Option<String>,
    pub container_id: Option<String>,
    pub exit_code: Option<i32>,
    /// Why it failed, in words.
    pub message: Option<String>,
    /// Class of the outcome, as in a run's record: `exited`, `timed_out`, `oom`, …
    pub outcome: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Stamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Stamp>,
    pub output_tail: Option<String>,
    /// How much the command wrote, kept or not.
    pub output: Option<OutputCounts>,
    pub changes: Option<ChangeCounts>,
    /// What was planned: backend, network, limits.
    pub plan: Option<serde_json::Value>,
    /// Settings as read back and the receipt, as the run's record has them.
    pub effective: Option<serde_json::Value>,
    pub receipt: Option<serde_json::Value>,
    pub usage: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutputCounts {
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangeCounts {
    pub created: u64,
    pub modified: u64,
    pub deleted: u64,
    pub retyped: u64,
    /// Hash of the sealed manifest.
    pub manifest: Option<String>,
}

/// One try at a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    pub task: TaskId,
    pub number: u32,
    pub runner: RunnerId,
    pub state: TaskState,
    #[schema(value_type = String, format = DateTime)]
    pub claimed_at: Stamp,
    #[serde(flatten)]
    pub result: AttemptResult,
}
