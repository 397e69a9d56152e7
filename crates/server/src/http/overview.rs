//! What holds for the whole server: who is asking, how things stand, whether the chain of events is whole, what policy
//! comes to.

use axum::extract::State;
use cofferdam_core::control::audit::ChainVerdict;
use cofferdam_core::control::id::ProjectId;
use cofferdam_core::control::overview::{EffectiveRule, Me, Overview};
use cofferdam_core::control::page::Page;
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::body::{Asked, Id, Json};
use super::paged::whole;
use super::problem::Answer;
use super::who::Who;

/// Show who is asking
#[utoipa::path(get, path = "/v1/me", tag = "server", responses((status = 200, body = Me)))]
pub(crate) async fn me(State(app): State<App>, who: Who) -> Answer<Json<Me>> {
    Ok(Json(app.plane().me(&who.caller).await?))
}

/// Show how things stand
#[utoipa::path(get, path = "/v1/overview", tag = "server", responses((status = 200, body = Overview)))]
pub(crate) async fn overview(State(app): State<App>, who: Who) -> Answer<Json<Overview>> {
    Ok(Json(app.plane().overview(&who.caller).await?))
}

/// Verify the chain of events
#[utoipa::path(get, path = "/v1/audit/verify", tag = "events", responses((status = 200, body = ChainVerdict)))]
pub(crate) async fn verify_chain(State(app): State<App>, who: Who) -> Answer<Json<ChainVerdict>> {
    Ok(Json(app.plane().verify(&who.caller).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct In {
    /// The name of a role; absent: the project's default.
    role: Option<String>,
}

/// Show a project's policy
///
/// Each setting with its value and where that comes from.
#[utoipa::path(get, path = "/v1/projects/{id}/policy", tag = "projects", params(("id" = ProjectId, Path), In),
    responses((status = 200, body = Page<EffectiveRule>)))]
pub(crate) async fn project_policy(
    State(app): State<App>,
    who: Who,
    Id(id): Id<ProjectId>,
    Asked(asked): Asked<In>,
) -> Answer<Json<Page<EffectiveRule>>> {
    Ok(Json(whole(app.plane().effective_policy(&who.caller, id, asked.role.as_deref()).await?)))
}
