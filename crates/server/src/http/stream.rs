//! Server-sent events: what happens, as it happens.
//!
//! Nothing is buffered for a reader: a stream reads the next page from the store when the last one is written out, so a
//! slow reader costs a page, and one that stops reading is given up ([`super::patience`]). Before each page the token is
//! looked up anew. A reader that was cut off comes back with `Last-Event-ID` and misses nothing, because what it has
//! seen is its own to say.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use utoipa::IntoParams;

use super::app::App;
use super::problem::{Answer, Refused};
use super::who::Who;

/// A quiet stream says so this often, so that nobody between takes it for dead; a token that was revoked is noticed at
/// the latest then.
pub(crate) const QUIET: Duration = Duration::from_secs(10);

/// What a stream is read from.
pub(crate) trait Source: Send + 'static {
    /// How long it may be left unread when no event says that there is something.
    const REST: Duration;

    /// The next messages after those that were given, and whether there will be more. Empty: none yet.
    fn next(&mut self, app: &App, who: &Who) -> impl Future<Output = Answer<Batch>> + Send;
}

#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) events: Vec<Event>,
    pub(crate) then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// When there is news.
    Wait,
    /// Nothing will come after these.
    End,
}

struct Reading<S> {
    app: App,
    who: Who,
    source: S,
    news: watch::Receiver<u64>,
    ready: VecDeque<Event>,
    then: Then,
    /// When it last said something.
    spoken: Instant,
    _counted: Counted,
}

/// Whether the caller wants a stream instead of a page.
pub(crate) fn wanted(headers: &HeaderMap) -> bool {
    // Said in one line or in several is the same.
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    let mut kinds = accepted.flat_map(|accept| accept.split(','));
    kinds.any(|kind| kind.trim().starts_with("text/event-stream"))
}

/// For the description of routes that stream.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by `last_event_id`, described here")]
pub(crate) struct LastEventId {
    /// Of a stream: the id of the last message that was seen.
    #[param(rename = "Last-Event-ID")]
    last_event_id: Option<u64>,
}

/// The number after which a stream goes on, where the reader brings one.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Answer<Option<u64>> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    let number = number.filter(|number| i64::try_from(*number).is_ok());
    number.map(Some).ok_or_else(|| {
        Refused::new(StatusCode::BAD_REQUEST, "bad-event-id", "this is no id of an event")
            .field("Last-Event-ID")
    })
}

/// Answers with a stream. The first page is read before, so that what may not be seen is refused and not a stream.
pub(crate) async fn answer<S: Source>(app: App, who: Who, mut source: S) -> Answer {
    let mut news = app.tail().watch();
    news.mark_unchanged();
    let Batch { events, then } = source.next(&app, &who).await?;
    let counted = Counted::new(&app);
    let reading = Reading {
        app,
        who,
        source,
        news,
        ready: events.into(),
        then,
        spoken: Instant::now(),
        _counted: counted,
    };
    let events = unfold(reading, |mut reading| async move {
        let event = reading.event().await?;
        Some((Ok::<_, Infallible>(event), reading))
    });
    let mut response: Response = Sse::new(events).into_response();
    // For whoever passes it on: not to be collected first.
    response.headers_mut().insert("x-accel-buffering", header::HeaderValue::from_static("no"));
    Ok(response)
}

impl<S: Source> Reading<S> {
    /// The next one to be written; `None`: it is over.
    async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.spoken = Instant::now();
                return Some(event);
            }
            if self.then == Then::End || self.app.stop().is_cancelled() {
                return None;
            }
            self.news.mark_unchanged();
            self.who = self.who.again(&self.app)?;
            let Batch { events, then } = self.source.next(&self.app, &self.who).await.ok()?;
            (self.ready, self.then) = (events.into(), then);
            if !self.ready.is_empty() || self.then == Then::End {
                continue;
            }
            let stop = self.app.stop().clone();
            tokio::select! {
                () = stop.cancelled() => return None,
                () = sleep(S::REST) => {}
                changed = self.news.changed() => changed.ok()?,
            }
            if self.spoken.elapsed() >= QUIET {
                self.ready.push_back(Event::default().comment("quiet"));
            }
        }
    }
}

struct Counted(App);

impl Counted {
    fn new(app: &App) -> Self {
        app.tally().streams.fetch_add(1, Ordering::Relaxed);
        Self(app.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.tally().streams.fetch_sub(1, Ordering::Relaxed);
    }
}
