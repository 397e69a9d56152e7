//! What is no longer begun once the server is to end.
//!
//! From then on until the last answer it finishes what runs, and can be watched and told about that: only what would
//! make more work for it is refused. A request whose head came before is finished as if nothing had happened.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::app::App;
use super::problem::Refused;

/// Where things are made, by `POST`.
const MAKING: [&str; 6] = [
    "/v1/projects",
    "/v1/roles",
    "/v1/tasks",
    "/v1/tokens",
    "/v1/workflow-runs",
    "/v1/workflow-templates",
];

/// Refuses to make anything for a server that will not be there for it.
pub(crate) async fn refuse(State(app): State<App>, request: Request, next: Next) -> Response {
    if app.is_leaving() && is_making(&request) {
        return Refused::stopping().into_response();
    }
    next.run(request).await
}

fn is_making(request: &Request) -> bool {
    let path = request.uri().path();
    let is_rerun = path.starts_with("/v1/workflow-runs/") && path.ends_with("/rerun");
    request.method() == Method::POST && (is_rerun || MAKING.contains(&path))
}
