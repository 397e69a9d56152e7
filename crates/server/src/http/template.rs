//! `/v1/workflow-templates`: steps that wait for each other.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use cofferdam_core::control::id::TemplateId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::workflow::{NewTemplate, Template};

use super::app::App;
use super::body::{Asked, Id, Json, NoBody};
use super::conditions::{self, IfMatch, Repeatable, Versioned};
use super::paged::PagedOf;
use super::problem::Answer;
use super::who::Who;

impl Versioned for Template {
    fn version(&self) -> u64 {
        self.version
    }
}

/// List templates
#[utoipa::path(get, path = "/v1/workflow-templates", tag = "workflow-templates", params(PagedOf),
    responses((status = 200, body = Page<Template>)))]
pub(crate) async fn list_templates(
    State(app): State<App>,
    who: Who,
    Asked(paged): Asked<PagedOf>,
) -> Answer<Json<Page<Template>>> {
    let project = paged.project;
    Ok(Json(app.plane().templates(&who.caller, project, &paged.paging()?).await?))
}

/// Make a template
#[utoipa::path(post, path = "/v1/workflow-templates", tag = "workflow-templates", params(Repeatable), request_body = NewTemplate,
    responses((status = 201, body = Template)))]
pub(crate) async fn create_template(
    State(app): State<App>,
    who: Who,
    key: Repeatable,
    Json(new): Json<NewTemplate>,
) -> Answer {
    let template = app.plane().create_template(&who.caller, new, key.0).await?;
    Ok(conditions::created(&template, &format!("/v1/workflow-templates/{}", template.id)))
}

/// Show a template
#[utoipa::path(get, path = "/v1/workflow-templates/{id}", tag = "workflow-templates", params(("id" = TemplateId, Path)),
    responses((status = 200, body = Template), (status = 304)))]
pub(crate) async fn show_template(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TemplateId>,
    headers: HeaderMap,
) -> Answer {
    Ok(conditions::show(&app.plane().template(&who.caller, id).await?, &headers))
}

/// Replace a template
#[utoipa::path(put, path = "/v1/workflow-templates/{id}", tag = "workflow-templates", params(("id" = TemplateId, Path), IfMatch),
    request_body = NewTemplate, responses((status = 200, body = Template)))]
pub(crate) async fn replace_template(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TemplateId>,
    seen: IfMatch,
    Json(new): Json<NewTemplate>,
) -> Answer {
    let template = app.plane().replace_template(&who.caller, id, new, seen.0).await?;
    Ok(conditions::show(&template, &HeaderMap::new()))
}

/// Remove a template
#[utoipa::path(delete, path = "/v1/workflow-templates/{id}", tag = "workflow-templates", params(("id" = TemplateId, Path), IfMatch),
    responses((status = 204)))]
pub(crate) async fn remove_template(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TemplateId>,
    seen: IfMatch,
    _: NoBody,
) -> Answer<StatusCode> {
    app.plane().remove_template(&who.caller, id, seen.0).await?;
    Ok(StatusCode::NO_CONTENT)
}
