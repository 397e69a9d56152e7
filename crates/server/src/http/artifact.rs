//! `/v1/artifacts`: what tasks left for others, and the bytes of it.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse as _;
use cofferdam_core::control::artifact::Artifact;
use cofferdam_core::control::id::{ArtifactId, ProjectId, TaskId};
use cofferdam_core::control::page::Page;
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::body::{Asked, Id};
use super::paged::paging;
use super::problem::Answer;
use super::who::Who;
use crate::plane::ArtifactFilter;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// Only of tasks of this one.
    project: Option<ProjectId>,
    /// Only of this one.
    task: Option<TaskId>,
    /// Only of this name.
    name: Option<String>,
    /// How many at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// What the page before said was next.
    after: Option<String>,
}

/// List artifacts
///
/// Of all tasks that the caller may see, the newest first.
#[utoipa::path(get, path = "/v1/artifacts", tag = "tasks", params(Wanted),
    responses((status = 200, body = Page<Artifact>)))]
pub(crate) async fn list_artifacts(
    State(app): State<App>,
    who: Who,
    Asked(wanted): Asked<Wanted>,
) -> Answer<Json<Page<Artifact>>> {
    let Wanted { project, task, name, limit, after } = wanted;
    let filter = ArtifactFilter { project, task, name };
    let page = app.plane().all_artifacts(&who.caller, &filter, &paging(limit, after)?).await?;
    Ok(Json(page))
}

/// Get an artifact
///
/// Always as a download and never under the type that its maker gave it: a sandboxed program wrote it, and a browser must
/// not take it for a page of ours.
#[utoipa::path(get, path = "/v1/artifacts/{id}", tag = "tasks", params(("id" = ArtifactId, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream")))]
pub(crate) async fn get_artifact(
    State(app): State<App>,
    who: Who,
    Id(id): Id<ArtifactId>,
) -> Answer {
    let (_, bytes) = app.plane().artifact(&who.caller, id).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
    ];
    Ok((headers, bytes).into_response())
}
