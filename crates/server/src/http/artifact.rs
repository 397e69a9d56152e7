//! `/v1/artifacts/{id}`: the bytes of what a task left for others.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse as _;
use cofferdam_core::control::id::ArtifactId;

use super::app::App;
use super::body::Id;
use super::problem::Answer;
use super::who::Who;

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
