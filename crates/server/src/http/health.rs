//! Whether the server lives, and whether it can work.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::app::App;
use super::body::Json;
use super::problem::{Answer, Refused, chain};

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`.
    status: &'static str,
}

const OK: Health = Health { status: "ok" };

/// Whether the server answers
#[utoipa::path(get, path = "/healthz", tag = "server", security(()), responses((status = 200, body = Health)))]
pub(crate) async fn healthz() -> Json<Health> {
    Json(OK)
}

/// Whether the server can work
///
/// 503 while its database does not answer, and once it is stopping.
#[utoipa::path(get, path = "/readyz", tag = "server", security(()), responses((status = 200, body = Health)))]
pub(crate) async fn readyz(State(app): State<App>) -> Answer<Json<Health>> {
    if app.is_leaving() {
        return Err(Refused::stopping());
    }
    app.plane().ready().await.map_err(|error| {
        tracing::warn!(error = %chain(&error), "not ready");
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", "the database does not answer")
    })?;
    Ok(Json(OK))
}
