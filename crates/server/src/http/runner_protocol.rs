//! `/v1/runner/…`: what runners say. Each message is checked by the plane against the attempt that it speaks for.
//!
//! A long poll is asked for in slices, so that a server that stops lets go of its runners at once, and never in the
//! middle of a claim.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use cofferdam_core::control::artifact::Artifact;
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::report::{
    Beat, ClaimAsk, Claims, ErrandAnswer, Heartbeat, LogChunk, Registered, Registration,
    StatusAnswer, StatusReport, Taken,
};
use cofferdam_core::control::token::Scope;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};

use super::admit::UPLOAD_LIMIT;
use super::app::App;
use super::body::{self, Asked, Id, Json};
use super::paged::counted;
use super::problem::Answer;
use super::who::Who;
use crate::plane::NewArtifact;
use crate::runner::MOST_ANSWER;

/// The longest that a poll waits without looking up.
const SLICE: Duration = Duration::from_secs(1);
/// The longest that an answer waits at all.
const LONGEST: Duration = Duration::from_secs(60);

/// Register a runner
#[utoipa::path(post, path = "/v1/runner/register", tag = "runner", request_body = Registration,
    responses((status = 200, body = Registered)))]
pub(crate) async fn register(
    State(app): State<App>,
    who: Who,
    Json(registration): Json<Registration>,
) -> Answer<Json<Registered>> {
    Ok(Json(app.plane().register(&who.caller, registration).await?))
}

/// Claim work
///
/// Waits up to `wait_ms` for some.
#[utoipa::path(post, path = "/v1/runner/claim", tag = "runner", request_body = ClaimAsk,
    responses((status = 200, body = Claims)))]
pub(crate) async fn claim(
    State(app): State<App>,
    who: Who,
    Json(ask): Json<ClaimAsk>,
) -> Answer<Json<Claims>> {
    let until = Instant::now() + Duration::from_millis(ask.wait_ms).min(LONGEST);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let slice = if app.stop().is_cancelled() { Duration::ZERO } else { left.min(SLICE) };
        let wait_ms = u64::try_from(slice.as_millis()).unwrap_or(0);
        let claims = app.plane().claim(&who.caller, ClaimAsk { wait_ms, ..ask }).await?;
        if !claims.claims.is_empty() || left <= slice || app.stop().is_cancelled() {
            return Ok(Json(claims));
        }
    }
}

/// Say that a runner lives
///
/// Waits up to `wait_ms` for news: a cancel is answered at once.
#[utoipa::path(post, path = "/v1/runner/heartbeat", tag = "runner", request_body = Heartbeat,
    responses((status = 200, body = Beat)))]
pub(crate) async fn heartbeat(
    State(app): State<App>,
    who: Who,
    Json(heartbeat): Json<Heartbeat>,
) -> Answer<Json<Beat>> {
    let until = Instant::now() + Duration::from_millis(heartbeat.wait_ms).min(LONGEST);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let slice = if app.stop().is_cancelled() { Duration::ZERO } else { left.min(SLICE) };
        let wait_ms = u64::try_from(slice.as_millis()).unwrap_or(0);
        let beat =
            app.plane().heartbeat(&who.caller, Heartbeat { wait_ms, ..heartbeat.clone() }).await?;
        let news = !(beat.cancel.is_empty() && beat.drop.is_empty() && beat.errands.is_empty());
        if news || left <= slice || app.stop().is_cancelled() {
            return Ok(Json(beat));
        }
    }
}

/// Report on a task
#[utoipa::path(post, path = "/v1/runner/tasks/{id}/status", tag = "runner", params(("id" = TaskId, Path)),
    request_body = StatusReport, responses((status = 200, body = StatusAnswer)))]
pub(crate) async fn report_status(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    Json(report): Json<StatusReport>,
) -> Answer<Json<StatusAnswer>> {
    counted("seq", Some(report.seq))?;
    Ok(Json(app.plane().report(&who.caller, id, report).await?))
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LogAnswer {
    taken: Taken,
}

/// Send a piece of a task's output
#[utoipa::path(post, path = "/v1/runner/tasks/{id}/logs", tag = "runner", params(("id" = TaskId, Path)),
    request_body = LogChunk, responses((status = 200, body = LogAnswer)))]
pub(crate) async fn send_log(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    Json(chunk): Json<LogChunk>,
) -> Answer<Json<LogAnswer>> {
    counted("seq", Some(chunk.seq))?;
    let taken = app.plane().log(&who.caller, id, chunk).await?;
    Ok(Json(LogAnswer { taken }))
}

/// Answer an errand
#[utoipa::path(post, path = "/v1/runner/errands/{id}", tag = "runner", params(("id" = String, Path)),
    request_body = ErrandAnswer, responses((status = 204)))]
pub(crate) async fn answer_errand(
    State(app): State<App>,
    who: Who,
    Id(id): Id<String>,
    request: Request,
) -> Answer<StatusCode> {
    who.caller.needs(Scope::Runner)?;
    let Json(answer): Json<ErrandAnswer> = body::json(request.into_body(), MOST_ANSWER).await?;
    app.plane().errand_done(&who.caller, &id, answer).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Upload {
    attempt: u32,
    /// Its name, for who looks for it.
    name: String,
    media_type: String,
}

/// Keep a file that a task left
#[utoipa::path(post, path = "/v1/runner/tasks/{id}/artifacts", tag = "runner",
    params(("id" = TaskId, Path), Upload, ("Cofferdam-Fence" = String, Header, description = "The attempt's fence.")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 201, body = Artifact)))]
pub(crate) async fn send_artifact(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TaskId>,
    Asked(upload): Asked<Upload>,
    request: Request,
) -> Answer {
    let fence = request.headers().get("cofferdam-fence").and_then(|fence| fence.to_str().ok());
    let fence = fence.unwrap_or_default().to_owned();
    let bytes = body::read(request.into_body(), UPLOAD_LIMIT).await?;
    let Upload { attempt, name, media_type } = upload;
    let new = NewArtifact { attempt, fence, name, media_type, bytes };
    let kept = app.plane().put_artifact(&who.caller, id, new).await?;
    Ok((StatusCode::CREATED, Json(kept)).into_response())
}
