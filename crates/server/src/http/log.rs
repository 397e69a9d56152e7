//! `/v1/tasks/{id}/logs`: what a task's command wrote, as pages or as a stream.

use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::response::sse;
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::report::LogPiece;
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::body::{Asked, Id, Json};
use super::paged::{counted, paging};
use super::problem::Answer;
use super::stream::{self, Batch, Source, Then};
use super::who::Who;

const BATCH: u32 = 64;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// Absent: the last one.
    attempt: Option<u32>,
    /// The number of the last piece that is known.
    after: Option<u64>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Show a task's output, or follow it
///
/// With `Accept: text/event-stream` a stream: each message is a piece, with its number as id, to be sent as
/// `Last-Event-ID` by who was cut off. It ends when the attempt has ended and all is said.
#[utoipa::path(get, path = "/v1/tasks/{id}/logs", tag = "tasks", params(("id" = TaskId, Path), Which, stream::LastEventId),
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
        let after = stream::last_event_id(&headers)?.or(after);
        return stream::answer(app, who, Output { task, attempt: which.attempt, after }).await;
    }
    let limit = paging(which.limit, None)?.limit;
    Ok(Json(app.plane().logs(&who.caller, task, which.attempt, after, limit).await?)
        .into_response())
}

struct Output {
    task: TaskId,
    attempt: Option<u32>,
    after: Option<u64>,
}

impl Source for Output {
    /// Nobody rings a bell for a piece of output.
    const REST: Duration = Duration::from_millis(250);

    async fn next(&mut self, app: &App, who: &Who) -> Answer<Batch> {
        // Asked for before the output: what is written after this answer is read by the next.
        let task = app.plane().task(&who.caller, self.task).await?;
        let attempt = *self.attempt.get_or_insert(task.attempt.max(1));
        let page =
            app.plane().logs(&who.caller, self.task, Some(attempt), self.after, BATCH).await?;
        let mut events: Vec<sse::Event> = page
            .items
            .iter()
            .map(|piece| {
                let message = sse::Event::default().id(piece.seq.to_string());
                message.json_data(piece).unwrap_or_default()
            })
            .collect();
        self.after = page.items.last().map_or(self.after, |piece| Some(piece.seq));
        let over = events.is_empty() && (task.state.is_terminal() || task.attempt > attempt);
        if over {
            events.push(sse::Event::default().comment("end"));
        }
        Ok(Batch { events, then: if over { Then::End } else { Then::Wait } })
    }
}
