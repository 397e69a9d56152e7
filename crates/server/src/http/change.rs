//! What a task changed: looked at, applied, thrown away, taken back. The work is done by the runner that has the run.

use axum::extract::State;
use cofferdam_core::control::id::TaskId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::app::App;
use super::body::{Asked, Id, Json, NoBody};
use super::problem::Answer;
use super::who::Who;
use crate::plane::Apply;

/// List a task's changes
///
/// Entries as `cofferdam diff --json` has them, each with the gate's verdict.
#[utoipa::path(get, path = "/v1/tasks/{id}/changes", tag = "changes", params(("id" = TaskId, Path)),
    responses((status = 200, body = Value)))]
pub(crate) async fn task_changes(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
) -> Answer<Json<Value>> {
    Ok(Json(app.plane().changes(&who.caller, id).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Of {
    /// One path; absent: all.
    path: Option<String>,
}

/// Show a task's diff
///
/// What is left to be decided; where nothing is, all that was changed. Of one path it has a `mark`, where some hunks of that file were applied before: the numbers are those of what is left.
#[utoipa::path(get, path = "/v1/tasks/{id}/diff", tag = "changes", params(("id" = TaskId, Path), Of),
    responses((status = 200, body = Value)))]
pub(crate) async fn task_diff(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    Asked(of): Asked<Of>,
) -> Answer<Json<Value>> {
    Ok(Json(app.plane().diff(&who.caller, id, of.path).await?))
}

/// Apply a task's changes
#[utoipa::path(post, path = "/v1/tasks/{id}/apply", tag = "changes", params(("id" = TaskId, Path)),
    request_body = Apply, responses((status = 200, body = Value)))]
pub(crate) async fn apply_task(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    Json(apply): Json<Apply>,
) -> Answer<Json<Value>> {
    Ok(Json(app.plane().apply(&who.caller, id, apply).await?))
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscardAsk {
    /// Empty: all.
    #[serde(default)]
    paths: Vec<String>,
}

/// Discard a task's changes
#[utoipa::path(post, path = "/v1/tasks/{id}/discard", tag = "changes", params(("id" = TaskId, Path)),
    request_body = DiscardAsk, responses((status = 200, body = Value)))]
pub(crate) async fn discard_task(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    Json(ask): Json<DiscardAsk>,
) -> Answer<Json<Value>> {
    Ok(Json(app.plane().discard(&who.caller, id, ask.paths).await?))
}

/// Undo what was applied last of a task
#[utoipa::path(post, path = "/v1/tasks/{id}/undo", tag = "changes", params(("id" = TaskId, Path)),
    responses((status = 200, body = Value)))]
pub(crate) async fn undo_task(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    _: NoBody,
) -> Answer<Json<Value>> {
    Ok(Json(app.plane().undo(&who.caller, id).await?))
}
