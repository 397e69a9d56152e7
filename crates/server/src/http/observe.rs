//! One log line and one count for each request, with its id.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument as _;

use super::app::App;
use super::request_id::RequestId;
use super::who::Actor;

/// The route of whatever has none.
const NO_ROUTE: &str = "none";

pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let id = request.extensions().get::<RequestId>().map(ToString::to_string).unwrap_or_default();
    let span = tracing::info_span!("request", request = id);
    let response = next.run(request).instrument(span.clone()).await;
    let (took, status) = (begun.elapsed(), response.status().as_u16());
    let route = response.extensions().get::<MatchedPath>().map_or(NO_ROUTE, MatchedPath::as_str);
    app.tally().count(&method, route, status, took);
    let actor = response.extensions().get::<Actor>().map_or("", |actor| actor.0.as_str());
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    span.in_scope(|| tracing::info!(method = method.as_str(), path, status, ms, actor, "request"));
    response
}

/// Keeps the route for [`observe`], which stands outside of the router and does not see it.
pub(crate) async fn keep_route(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Some(route) = route {
        response.extensions_mut().insert(route);
    }
    response
}
