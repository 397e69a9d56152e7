//! `/v1/tasks/{id}/logs`: what a task's command wrote, as pages or as a stream.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::response::sse;
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::log_place::LogPlace;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::report::LogPiece;
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::body::{Asked, Id, Json};
use super::paged::{counted, paging};
use super::problem::{Answer, Refused};
use super::stream::{self, Batch, Source, Then};
use super::who::Who;

const BATCH: u32 = 64;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// Absent: the last one; of a stream, and those that come after it.
    attempt: Option<u32>,
    /// The number of the last piece that is known, in that attempt.
    after: Option<u64>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Show a task's output, or follow it
///
/// With `Accept: text/event-stream` a stream: each message is a piece, with its attempt and number as id (`2.17`), to be sent as
/// `Last-Event-ID` by who was cut off; a number alone is one of the last attempt. It goes on with the next attempt where
/// none was asked for, and ends when the task, or the attempt, has ended and all is said.
#[utoipa::path(get, path = "/v1/tasks/{id}/logs", tag = "tasks", params(("id" = TaskId, Path), Which, LastPiece),
    responses((status = 200, content((Page<LogPiece> = "application/json"), (String = "text/event-stream")))))]
pub(crate) async fn task_logs(
    State(app): State<App>,
    who: Who,
    Id(task): Id<TaskId>,
    Asked(which): Asked<Which>,
    headers: HeaderMap,
) -> Answer {
    let after = counted("after", which.after)?;
    if stream::wanted(&headers) {
        let output = Output::new(task, which.attempt, after, last_piece(&headers)?)?;
        return stream::answer(app, who, output).await;
    }
    let limit = paging(which.limit, None)?.limit;
    Ok(Json(app.plane().logs(&who.caller, task, which.attempt, after, limit).await?)
        .into_response())
}

/// For the description.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by `last_piece`, described here")]
pub(crate) struct LastPiece {
    /// Of a stream: the id of the last message that was seen.
    #[param(rename = "Last-Event-ID", pattern = r"^([0-9]+\.)?[0-9]+$")]
    last_event_id: Option<String>,
}

/// The last piece that a reader has seen.
enum Last {
    At(LogPlace),
    /// Of whichever attempt is the last one.
    Number(u64),
}

fn last_piece(headers: &HeaderMap) -> Answer<Option<Last>> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    match value.to_str().ok().and_then(|text| text.parse().ok()) {
        Some(place) => Ok(Some(Last::At(place))),
        None => Ok(stream::last_event_id(headers)?.map(Last::Number)),
    }
}

struct Output {
    task: TaskId,
    span: Span,
    /// The attempt that is read; none until it is known which that is.
    attempt: Option<u32>,
    after: Option<u64>,
}

/// How far a stream goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Attempt,
    Task,
}

impl Output {
    fn new(
        task: TaskId,
        attempt: Option<u32>,
        after: Option<u64>,
        last: Option<Last>,
    ) -> Answer<Self> {
        let span = if attempt.is_some() { Span::Attempt } else { Span::Task };
        let (attempt, after) = match (last, attempt) {
            (Some(Last::At(place)), Some(asked)) if place.attempt != asked => {
                let detail = "this is the id of a piece of another attempt than the one asked for";
                return Err(Refused::new(StatusCode::BAD_REQUEST, "bad-event-id", detail)
                    .field("Last-Event-ID")
                    .remedy("leave `attempt` out to read on from there"));
            }
            (Some(Last::At(place)), _) => (Some(place.attempt), Some(place.seq)),
            (Some(Last::Number(seq)), _) => (attempt, Some(seq)),
            (None, _) => (attempt, after),
        };
        Ok(Self { task, span, attempt, after })
    }
}

impl Source for Output {
    /// Nobody rings a bell for a piece of output.
    const REST: Duration = Duration::from_millis(250);

    async fn next(&mut self, app: &App, who: &Who) -> Answer<Batch> {
        // Asked for before the output: what is written after this answer is read by the next.
        let task = app.plane().task(&who.caller, self.task).await?;
        let mut attempt = *self.attempt.get_or_insert(task.attempt.max(1));
        let pieces = loop {
            let logs = app.plane().logs(&who.caller, self.task, Some(attempt), self.after, BATCH);
            let pieces = logs.await?.items;
            // An attempt that another has followed says nothing more.
            let goes_on = self.span == Span::Task && task.attempt > attempt;
            if !pieces.is_empty() || !goes_on {
                break pieces;
            }
            attempt += 1;
            (self.attempt, self.after) = (Some(attempt), None);
        };
        let mut events: Vec<sse::Event> = pieces
            .iter()
            .map(|piece| {
                let message = sse::Event::default().id(piece.place().to_string());
                message.json_data(piece).unwrap_or_default()
            })
            .collect();
        self.after = pieces.last().map_or(self.after, |piece| Some(piece.seq));
        let over = events.is_empty() && (task.state.is_terminal() || task.attempt > attempt);
        if over {
            events.push(sse::Event::default().comment("end"));
        }
        Ok(Batch { events, then: if over { Then::End } else { Then::Wait } })
    }
}
