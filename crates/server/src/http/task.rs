//! `/v1/tasks`: commands to be run, and how that went.

use axum::extract::State;
use axum::http::HeaderMap;
use cofferdam_core::control::artifact::Artifact;
use cofferdam_core::control::audit::TaskAudit;
use cofferdam_core::control::id::{ProjectId, TaskId, WorkflowRunId};
use cofferdam_core::control::page::Page;
use cofferdam_core::control::state::TaskState;
use cofferdam_core::control::task::{Attempt, ExecutionMode, NewTask, Task};
use cofferdam_core::control::timeline::TimelineEvent;
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::body::{Asked, Id, Json, NoBody};
use super::conditions::{self, Repeatable, Versioned};
use super::paged::{Paged, paging};
use super::problem::Answer;
use super::who::Who;
use crate::plane::{EventFilter, TaskFilter};

impl Versioned for Task {
    fn version(&self) -> u64 {
        self.version
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    project: Option<ProjectId>,
    state: Option<TaskState>,
    workflow_run: Option<WorkflowRunId>,
    execution_mode: Option<ExecutionMode>,
    /// Somewhere in the title or the command.
    text: Option<String>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    after: Option<String>,
}

/// List tasks
#[utoipa::path(get, path = "/v1/tasks", tag = "tasks", params(Which), responses((status = 200, body = Page<Task>)))]
pub(crate) async fn list_tasks(
    State(app): State<App>,
    who: Who,
    Asked(which): Asked<Which>,
) -> Answer<Json<Page<Task>>> {
    let filter = TaskFilter {
        project: which.project,
        state: which.state,
        workflow_run: which.workflow_run,
        execution_mode: which.execution_mode,
        text: which.text,
    };
    Ok(Json(app.plane().tasks(&who.caller, &filter, &paging(which.limit, which.after)?).await?))
}

/// Make a task
///
/// It is checked here and now: what policy forbids is 422, with the rule, and leaves an event.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", params(Repeatable), request_body = NewTask,
    responses((status = 201, body = Task)))]
pub(crate) async fn create_task(
    State(app): State<App>,
    who: Who,
    key: Repeatable,
    Json(new): Json<NewTask>,
) -> Answer {
    let task = app.plane().create_task(&who.caller, new, key.0).await?;
    Ok(conditions::created(&task, &format!("/v1/tasks/{}", task.id)))
}

/// Show a task
#[utoipa::path(get, path = "/v1/tasks/{id}", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, body = Task), (status = 304)))]
pub(crate) async fn show_task(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    headers: HeaderMap,
) -> Answer {
    Ok(conditions::show(&app.plane().task(&who.caller, id).await?, &headers))
}

/// Dispatch a task
#[utoipa::path(post, path = "/v1/tasks/{id}/dispatch", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, body = Task)))]
pub(crate) async fn dispatch_task(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    _: NoBody,
) -> Answer<Json<Task>> {
    Ok(Json(app.plane().dispatch(&who.caller, id).await?))
}

/// Cancel a task
///
/// One that runs is `cancel_requested` until its runner has confirmed that it is gone.
#[utoipa::path(post, path = "/v1/tasks/{id}/cancel", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, body = Task)))]
pub(crate) async fn cancel_task(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    _: NoBody,
) -> Answer<Json<Task>> {
    Ok(Json(app.plane().cancel(&who.caller, id).await?))
}

/// Try a task again
#[utoipa::path(post, path = "/v1/tasks/{id}/retry", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, body = Task)))]
pub(crate) async fn retry_task(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    _: NoBody,
) -> Answer<Json<Task>> {
    Ok(Json(app.plane().retry(&who.caller, id).await?))
}

/// List a task's attempts
#[utoipa::path(get, path = "/v1/tasks/{id}/attempts", tag = "tasks", params(("id" = TaskId, Path), Paged),
    responses((status = 200, body = Page<Attempt>)))]
pub(crate) async fn task_attempts(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    Asked(paged): Asked<Paged>,
) -> Answer<Json<Page<Attempt>>> {
    Ok(Json(app.plane().attempts(&who.caller, id, &paged.paging()?).await?))
}

/// Show a task's audit
///
/// From the request through policy, command and changes to the decision about them.
#[utoipa::path(get, path = "/v1/tasks/{id}/audit", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, body = TaskAudit)))]
pub(crate) async fn task_audit(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
) -> Answer<Json<TaskAudit>> {
    Ok(Json(app.plane().audit(&who.caller, id).await?))
}

/// List a task's events
#[utoipa::path(get, path = "/v1/tasks/{id}/events", tag = "tasks", params(("id" = TaskId, Path), Paged),
    responses((status = 200, body = Page<TimelineEvent>)))]
pub(crate) async fn task_events(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    Asked(paged): Asked<Paged>,
) -> Answer<Json<Page<TimelineEvent>>> {
    app.plane().task(&who.caller, id).await?;
    let filter = EventFilter { task: Some(id), ..EventFilter::default() };
    Ok(Json(app.plane().events(&who.caller, &filter, &paged.paging()?).await?))
}

/// List a task's artifacts
#[utoipa::path(get, path = "/v1/tasks/{id}/artifacts", tag = "tasks", params(("id" = TaskId, Path), Paged),
    responses((status = 200, body = Page<Artifact>)))]
pub(crate) async fn task_artifacts(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    Asked(paged): Asked<Paged>,
) -> Answer<Json<Page<Artifact>>> {
    Ok(Json(app.plane().artifacts(&who.caller, id, &paged.paging()?).await?))
}
