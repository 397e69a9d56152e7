//! Steps that wait for each other: a template, and a run of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::{ProjectId, TaskId, TemplateId, WorkflowRunId};
use super::state::TaskState;
use super::task::NewTask;
use crate::stamp::Stamp;

/// When a step goes on, seen from the steps it depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    #[default]
    AllSucceeded,
    AnyFailed,
    Always,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub name: String,
    #[serde(default)]
    pub depends_on: Vec<String>,
    #[serde(default)]
    pub when: Condition,
    /// Its `project` is that of the run, where it names none.
    pub task: NewTask,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTemplate {
    pub project: ProjectId,
    pub name: String,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Template {
    pub id: TemplateId,
    #[serde(flatten)]
    pub asked: NewTemplate,
    pub version: u64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Stamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWorkflowRun {
    pub template: TemplateId,
    #[serde(default)]
    pub title: Option<String>,
    /// Only these steps and what depends on them; the rest must be over in `of`, and counts as done.
    #[serde(default)]
    pub only: Vec<String>,
    /// The run of which this is a partial repetition.
    #[serde(default)]
    pub of: Option<WorkflowRunId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowState {
    Running,
    /// Nothing of it begins, what is queued neither; what runs goes on.
    Paused,
    Succeeded,
    Failed,
    Aborted,
}

/// What becomes of a step that is sent on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Open,
    /// It waits until the run is resumed.
    Held,
    /// The run has its end, and a step that ran after it would be nobody's.
    Closed,
}

impl WorkflowState {
    pub fn way(self) -> Way {
        match self {
            Self::Running => Way::Open,
            Self::Paused => Way::Held,
            Self::Succeeded | Self::Failed | Self::Aborted => Way::Closed,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// For the steps it depends on.
    Waiting,
    /// Its task says more.
    Started,
    /// Its condition cannot come true any more.
    Skipped,
    /// Taken over from the run that this one repeats.
    Reused,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StepStatus {
    pub name: String,
    pub depends_on: Vec<String>,
    pub when: Condition,
    pub state: StepState,
    pub task: Option<TaskId>,
    /// Its task's.
    pub task_state: Option<TaskState>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowRun {
    pub id: WorkflowRunId,
    pub project: ProjectId,
    pub template: TemplateId,
    pub of: Option<WorkflowRunId>,
    pub title: Option<String>,
    pub state: WorkflowState,
    pub actor: String,
    pub steps: Vec<StepStatus>,
    /// Grows when anything of the run or of its tasks changes.
    pub version: u64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Stamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Stamp>,
}
