//! `/v1/approvals`: questions that somebody answers.

use axum::extract::State;
use cofferdam_core::control::approval::{Approval, ApprovalState, Decision};
use cofferdam_core::control::id::{ApprovalId, ProjectId, TaskId};
use cofferdam_core::control::page::Page;
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::body::{Asked, Id, Json};
use super::paged::paging;
use super::problem::Answer;
use super::who::Who;
use crate::plane::ApprovalFilter;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    project: Option<ProjectId>,
    task: Option<TaskId>,
    state: Option<ApprovalState>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    after: Option<String>,
}

/// List approvals
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals", params(Which),
    responses((status = 200, body = Page<Approval>)))]
pub(crate) async fn list_approvals(
    State(app): State<App>,
    who: Who,
    Asked(which): Asked<Which>,
) -> Answer<Json<Page<Approval>>> {
    let filter = ApprovalFilter { project: which.project, task: which.task, state: which.state };
    Ok(Json(app.plane().approvals(&who.caller, &filter, &paging(which.limit, which.after)?).await?))
}

/// Show an approval
#[utoipa::path(get, path = "/v1/approvals/{id}", tag = "approvals", params(("id" = ApprovalId, Path)),
    responses((status = 200, body = Approval)))]
pub(crate) async fn show_approval(
    State(app): State<App>,
    who: Who,
    Id(id): Id<ApprovalId>,
) -> Answer<Json<Approval>> {
    Ok(Json(app.plane().approval(&who.caller, id).await?))
}

/// Approve
///
/// The yes holds for what was asked, and for nothing else.
#[utoipa::path(post, path = "/v1/approvals/{id}/approve", tag = "approvals", params(("id" = ApprovalId, Path)),
    request_body = Decision, responses((status = 200, body = Approval)))]
pub(crate) async fn approve(
    State(app): State<App>,
    who: Who,
    Id(id): Id<ApprovalId>,
    Json(decision): Json<Decision>,
) -> Answer<Json<Approval>> {
    Ok(Json(app.plane().approve(&who.caller, id, decision).await?))
}

/// Reject
#[utoipa::path(post, path = "/v1/approvals/{id}/reject", tag = "approvals", params(("id" = ApprovalId, Path)),
    request_body = Decision, responses((status = 200, body = Approval)))]
pub(crate) async fn reject(
    State(app): State<App>,
    who: Who,
    Id(id): Id<ApprovalId>,
    Json(decision): Json<Decision>,
) -> Answer<Json<Approval>> {
    Ok(Json(app.plane().reject(&who.caller, id, decision).await?))
}
