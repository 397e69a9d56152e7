//! Events as the API shows them: one chain for the whole server, each entry bound to the one before by its hash.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::{ProjectId, TaskId, WorkflowRunId};
use crate::stamp::Stamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TimelineEvent {
    /// Counts from 1 without gaps; also the id of its SSE message.
    pub seq: u64,
    #[schema(value_type = String, format = DateTime)]
    pub ts: Stamp,
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub workflow_run: Option<WorkflowRunId>,
    pub attempt: Option<u32>,
    /// `token:NAME`, `runner:NAME`, `server`.
    pub actor: String,
    /// `task.created`, `task.queued`, `sandbox.started`, `approval.approved`, …
    #[serde(rename = "type")]
    pub kind: String,
    pub data: serde_json::Value,
    pub prev: String,
    pub hash: String,
}
