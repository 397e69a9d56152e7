//! `/v1/workflow-runs`: templates at work.

use axum::extract::State;
use axum::http::HeaderMap;
use cofferdam_core::control::id::{ProjectId, WorkflowRunId};
use cofferdam_core::control::page::Page;
use cofferdam_core::control::workflow::{NewWorkflowRun, WorkflowRun, WorkflowState};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::app::App;
use super::body::{Asked, Id, Json, NoBody};
use super::conditions::{self, Repeatable, Versioned};
use super::paged::paging;
use super::problem::Answer;
use super::who::Who;
use crate::plane::WorkflowFilter;

impl Versioned for WorkflowRun {
    fn version(&self) -> u64 {
        self.version
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    project: Option<ProjectId>,
    state: Option<WorkflowState>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    after: Option<String>,
}

/// List workflow runs
#[utoipa::path(get, path = "/v1/workflow-runs", tag = "workflow-runs", params(Which),
    responses((status = 200, body = Page<WorkflowRun>)))]
pub(crate) async fn list_workflow_runs(
    State(app): State<App>,
    who: Who,
    Asked(which): Asked<Which>,
) -> Answer<Json<Page<WorkflowRun>>> {
    let filter = WorkflowFilter { project: which.project, state: which.state };
    let paging = paging(which.limit, which.after)?;
    Ok(Json(app.plane().workflow_runs(&who.caller, &filter, &paging).await?))
}

/// Start a workflow run
#[utoipa::path(post, path = "/v1/workflow-runs", tag = "workflow-runs", params(Repeatable), request_body = NewWorkflowRun,
    responses((status = 201, body = WorkflowRun)))]
pub(crate) async fn create_workflow_run(
    State(app): State<App>,
    who: Who,
    key: Repeatable,
    Json(new): Json<NewWorkflowRun>,
) -> Answer {
    let run = app.plane().create_workflow_run(&who.caller, new, key.0).await?;
    Ok(conditions::created(&run, &format!("/v1/workflow-runs/{}", run.id)))
}

/// Show a workflow run
#[utoipa::path(get, path = "/v1/workflow-runs/{id}", tag = "workflow-runs", params(("id" = WorkflowRunId, Path)),
    responses((status = 200, body = WorkflowRun), (status = 304)))]
pub(crate) async fn show_workflow_run(
    State(app): State<App>,
    who: Who,
    Id(id): Id<WorkflowRunId>,
    headers: HeaderMap,
) -> Answer {
    Ok(conditions::show(&app.plane().workflow_run(&who.caller, id).await?, &headers))
}

/// Pause a workflow run
///
/// No further step is queued; what runs goes on.
#[utoipa::path(post, path = "/v1/workflow-runs/{id}/pause", tag = "workflow-runs", params(("id" = WorkflowRunId, Path)),
    responses((status = 200, body = WorkflowRun)))]
pub(crate) async fn pause_workflow_run(
    State(app): State<App>,
    who: Who,
    Id(id): Id<WorkflowRunId>,
    _: NoBody,
) -> Answer<Json<WorkflowRun>> {
    Ok(Json(app.plane().pause(&who.caller, id).await?))
}

/// Resume a workflow run
#[utoipa::path(post, path = "/v1/workflow-runs/{id}/resume", tag = "workflow-runs", params(("id" = WorkflowRunId, Path)),
    responses((status = 200, body = WorkflowRun)))]
pub(crate) async fn resume_workflow_run(
    State(app): State<App>,
    who: Who,
    Id(id): Id<WorkflowRunId>,
    _: NoBody,
) -> Answer<Json<WorkflowRun>> {
    Ok(Json(app.plane().resume(&who.caller, id).await?))
}

/// Abort a workflow run
///
/// What runs is canceled, what waits is not started.
#[utoipa::path(post, path = "/v1/workflow-runs/{id}/abort", tag = "workflow-runs", params(("id" = WorkflowRunId, Path)),
    responses((status = 200, body = WorkflowRun)))]
pub(crate) async fn abort_workflow_run(
    State(app): State<App>,
    who: Who,
    Id(id): Id<WorkflowRunId>,
    _: NoBody,
) -> Answer<Json<WorkflowRun>> {
    Ok(Json(app.plane().abort(&who.caller, id).await?))
}

/// Which steps are done once more, with what depends on them.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rerun {
    only: Vec<String>,
    #[serde(default)]
    title: Option<String>,
}

/// Repeat part of a workflow run
///
/// Makes a new run of the same template; the steps that are not repeated count as done.
/// Refused (409) while one of those is not over.
#[utoipa::path(post, path = "/v1/workflow-runs/{id}/rerun", tag = "workflow-runs",
    params(("id" = WorkflowRunId, Path), Repeatable), request_body = Rerun, responses((status = 201, body = WorkflowRun)))]
pub(crate) async fn rerun_workflow_run(
    State(app): State<App>,
    who: Who,
    Id(id): Id<WorkflowRunId>,
    key: Repeatable,
    Json(rerun): Json<Rerun>,
) -> Answer {
    let of = app.plane().workflow_run(&who.caller, id).await?;
    let new = NewWorkflowRun {
        template: of.template,
        title: rerun.title,
        only: rerun.only,
        of: Some(id),
    };
    let run = app.plane().create_workflow_run(&who.caller, new, key.0).await?;
    Ok(conditions::created(&run, &format!("/v1/workflow-runs/{}", run.id)))
}
