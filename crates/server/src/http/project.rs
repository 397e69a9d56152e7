//! `/v1/projects`: trees that tasks may work in.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use cofferdam_core::control::id::ProjectId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::project::{NewProject, Project};

use super::app::App;
use super::body::{Asked, Id, Json, NoBody};
use super::conditions::{self, IfMatch, Repeatable, Versioned};
use super::paged::Paged;
use super::problem::Answer;
use super::who::Who;

impl Versioned for Project {
    fn version(&self) -> u64 {
        self.version
    }
}

/// List projects
#[utoipa::path(get, path = "/v1/projects", tag = "projects", params(Paged),
    responses((status = 200, body = Page<Project>)))]
pub(crate) async fn list_projects(
    State(app): State<App>,
    who: Who,
    Asked(paged): Asked<Paged>,
) -> Answer<Json<Page<Project>>> {
    Ok(Json(app.plane().projects(&who.caller, &paged.paging()?).await?))
}

/// Make a project
#[utoipa::path(post, path = "/v1/projects", tag = "projects", params(Repeatable), request_body = NewProject,
    responses((status = 201, body = Project)))]
pub(crate) async fn create_project(
    State(app): State<App>,
    who: Who,
    key: Repeatable,
    Json(new): Json<NewProject>,
) -> Answer {
    let project = app.plane().create_project(&who.caller, new, key.0).await?;
    Ok(conditions::created(&project, &format!("/v1/projects/{}", project.id)))
}

/// Show a project
#[utoipa::path(get, path = "/v1/projects/{id}", tag = "projects", params(("id" = ProjectId, Path)),
    responses((status = 200, body = Project), (status = 304)))]
pub(crate) async fn show_project(
    State(app): State<App>,
    who: Who,
    Id(id): Id<ProjectId>,
    headers: HeaderMap,
) -> Answer {
    Ok(conditions::show(&app.plane().project(&who.caller, id).await?, &headers))
}

/// Replace a project
#[utoipa::path(put, path = "/v1/projects/{id}", tag = "projects", params(("id" = ProjectId, Path), IfMatch),
    request_body = NewProject, responses((status = 200, body = Project)))]
pub(crate) async fn replace_project(
    State(app): State<App>,
    who: Who,
    Id(id): Id<ProjectId>,
    seen: IfMatch,
    Json(new): Json<NewProject>,
) -> Answer {
    let project = app.plane().replace_project(&who.caller, id, new, seen.0).await?;
    Ok(conditions::show(&project, &HeaderMap::new()))
}

/// Remove a project
#[utoipa::path(delete, path = "/v1/projects/{id}", tag = "projects", params(("id" = ProjectId, Path), IfMatch),
    responses((status = 204)))]
pub(crate) async fn remove_project(
    State(app): State<App>,
    who: Who,
    Id(id): Id<ProjectId>,
    seen: IfMatch,
    _: NoBody,
) -> Answer<StatusCode> {
    app.plane().remove_project(&who.caller, id, seen.0).await?;
    Ok(StatusCode::NO_CONTENT)
}
