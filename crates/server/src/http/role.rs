//! `/v1/roles`: what may be asked for at most.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use cofferdam_core::control::id::RoleId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::role::{NewRole, Role};

use super::app::App;
use super::body::{Asked, Id, Json, NoBody};
use super::conditions::{self, IfMatch, Repeatable, Versioned};
use super::paged::PagedOf;
use super::problem::Answer;
use super::who::Who;

impl Versioned for Role {
    fn version(&self) -> u64 {
        self.version
    }
}

/// List roles
#[utoipa::path(get, path = "/v1/roles", tag = "roles", params(PagedOf),
    responses((status = 200, body = Page<Role>)))]
pub(crate) async fn list_roles(
    State(app): State<App>,
    who: Who,
    Asked(paged): Asked<PagedOf>,
) -> Answer<Json<Page<Role>>> {
    let project = paged.project;
    Ok(Json(app.plane().roles(&who.caller, project, &paged.paging()?).await?))
}

/// Make a role
#[utoipa::path(post, path = "/v1/roles", tag = "roles", params(Repeatable), request_body = NewRole,
    responses((status = 201, body = Role)))]
pub(crate) async fn create_role(
    State(app): State<App>,
    who: Who,
    key: Repeatable,
    Json(new): Json<NewRole>,
) -> Answer {
    let role = app.plane().create_role(&who.caller, new, key.0).await?;
    Ok(conditions::created(&role, &format!("/v1/roles/{}", role.id)))
}

/// Show a role
#[utoipa::path(get, path = "/v1/roles/{id}", tag = "roles", params(("id" = RoleId, Path)),
    responses((status = 200, body = Role), (status = 304)))]
pub(crate) async fn show_role(
    State(app): State<App>,
    who: Who,
    Id(id): Id<RoleId>,
    headers: HeaderMap,
) -> Answer {
    Ok(conditions::show(&app.plane().role(&who.caller, id).await?, &headers))
}

/// Replace a role
#[utoipa::path(put, path = "/v1/roles/{id}", tag = "roles", params(("id" = RoleId, Path), IfMatch),
    request_body = NewRole, responses((status = 200, body = Role)))]
pub(crate) async fn replace_role(
    State(app): State<App>,
    who: Who,
    Id(id): Id<RoleId>,
    seen: IfMatch,
    Json(new): Json<NewRole>,
) -> Answer {
    let role = app.plane().replace_role(&who.caller, id, new, seen.0).await?;
    Ok(conditions::show(&role, &HeaderMap::new()))
}

/// Remove a role
#[utoipa::path(delete, path = "/v1/roles/{id}", tag = "roles", params(("id" = RoleId, Path), IfMatch),
    responses((status = 204)))]
pub(crate) async fn remove_role(
    State(app): State<App>,
    who: Who,
    Id(id): Id<RoleId>,
    seen: IfMatch,
    _: NoBody,
) -> Answer<StatusCode> {
    app.plane().remove_role(&who.caller, id, seen.0).await?;
    Ok(StatusCode::NO_CONTENT)
}
