//! `/v1/events`: what happened, as pages or as a stream.

use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::response::sse;
use cofferdam_core::control::id::{ProjectId, TaskId, WorkflowRunId};
use cofferdam_core::control::page::Page;
use cofferdam_core::control::timeline::TimelineEvent;
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::body::{Asked, Json};
use super::paged::{counted, paging};
use super::problem::Answer;
use super::stream::{self, Batch, Source, Then};
use super::who::Who;
use crate::plane::{Caller, EventFilter};

/// As many as a stream reads at once.
const BATCH: u32 = 200;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    project: Option<ProjectId>,
    task: Option<TaskId>,
    workflow_run: Option<WorkflowRunId>,
    /// As in `task.created`; with a dot at its end, as in `sandbox.`, all that begin so.
    #[serde(rename = "type")]
    #[param(rename = "type")]
    kind: Option<String>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The number of the last one that is known.
    after: Option<u64>,
}

/// List events, or follow them
///
/// With `Accept: text/event-stream` a stream: each message is an event, with its number as id. A client that was cut off
/// sends the last id it saw as `Last-Event-ID`, and misses nothing. Without `after` and `Last-Event-ID` it begins with the first.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(Which, stream::LastEventId),
    responses((status = 200, content((Page<TimelineEvent> = "application/json"), (String = "text/event-stream")))))]
pub(crate) async fn list_events(
    State(app): State<App>,
    who: Who,
    Asked(which): Asked<Which>,
    headers: HeaderMap,
) -> Answer {
    let filter = EventFilter {
        project: which.project,
        task: which.task,
        workflow_run: which.workflow_run,
        kind: which.kind,
        after: stream::last_event_id(&headers)?.or(counted("after", which.after)?).unwrap_or(0),
    };
    if stream::wanted(&headers) {
        return stream::answer(app, who, Timeline { filter, place: Place::Behind }).await;
    }
    let paging = paging(which.limit, None)?;
    Ok(Json(app.plane().events(&who.caller, &filter, &paging).await?).into_response())
}

/// What was not seen yet of what was asked for.
struct Timeline {
    filter: EventFilter,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// There is more in the store.
    Behind,
    /// Everything up to `after` was given.
    CaughtUp,
}

impl Source for Timeline {
    const REST: Duration = stream::QUIET;

    async fn next(&mut self, app: &App, who: &Who) -> Answer<Batch> {
        if self.place == Place::CaughtUp
            && let Some(told) = app.tail().after(self.filter.after)
        {
            let events = told.iter().filter(|told| self.wants(&told.event, &who.caller));
            let events = events.map(|told| message(told.event.seq).data(&told.json)).collect();
            self.filter.after = told.last().map_or(self.filter.after, |told| told.event.seq);
            return Ok(Batch { events, then: Then::Wait });
        }
        let newest = *app.plane().watch().borrow();
        let page =
            app.plane().events(&who.caller, &self.filter, &paging(Some(BATCH), None)?).await?;
        let events = page
            .items
            .iter()
            .map(|event| message(event.seq).json_data(event).unwrap_or_default())
            .collect();
        self.filter.after = page.items.last().map_or(self.filter.after, |event| event.seq);
        self.place = if page.next.is_some() { Place::Behind } else { Place::CaughtUp };
        if self.place == Place::CaughtUp {
            self.filter.after = self.filter.after.max(newest);
        }
        Ok(Batch { events, then: Then::Wait })
    }
}

impl Timeline {
    /// What the store's own filter says, of an event that is at hand.
    fn wants(&self, event: &TimelineEvent, caller: &Caller) -> bool {
        let EventFilter { project, task, workflow_run, kind, .. } = &self.filter;
        let kind = kind.as_ref().is_none_or(|kind| {
            if kind.ends_with('.') {
                event.kind.starts_with(kind.as_str())
            } else {
                event.kind == *kind
            }
        });
        kind && caller.sees(event.project)
            && project.is_none_or(|project| event.project == Some(project))
            && task.is_none_or(|task| event.task == Some(task))
            && workflow_run.is_none_or(|run| event.workflow_run == Some(run))
    }
}

fn message(seq: u64) -> sse::Event {
    sse::Event::default().id(seq.to_string())
}
