//! A question that a person answers before something is taken or done.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::{ApprovalId, ProjectId, TaskId};
use crate::stamp::Stamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Approved,
    Rejected,
    /// The task was canceled before anybody answered.
    Withdrawn,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    pub id: ApprovalId,
    pub task: TaskId,
    pub project: Option<ProjectId>,
    /// What is asked, in words.
    pub question: String,
    pub state: ApprovalState,
    /// Hash of what was asked for: a yes holds for that and nothing else.
    pub subject: String,
    pub actor: Option<String>,
    pub comment: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Stamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub decided_at: Option<Stamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    #[serde(default)]
    pub comment: Option<String>,
}
