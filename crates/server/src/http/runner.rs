//! `/v1/runners`: those who run tasks, as others see them.

use axum::extract::State;
use cofferdam_core::control::id::RunnerId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::runner::Runner;

use super::app::App;
use super::body::{Asked, Id, Json};
use super::paged::Paged;
use super::problem::Answer;
use super::who::Who;

/// List runners
#[utoipa::path(get, path = "/v1/runners", tag = "runners", params(Paged),
    responses((status = 200, body = Page<Runner>)))]
pub(crate) async fn list_runners(
    State(app): State<App>,
    who: Who,
    Asked(paged): Asked<Paged>,
) -> Answer<Json<Page<Runner>>> {
    Ok(Json(app.plane().runners(&who.caller, &paged.paging()?).await?))
}

/// Show a runner
#[utoipa::path(get, path = "/v1/runners/{id}", tag = "runners", params(("id" = RunnerId, Path)),
    responses((status = 200, body = Runner)))]
pub(crate) async fn show_runner(
    State(app): State<App>,
    who: Who,
    Id(id): Id<RunnerId>,
) -> Answer<Json<Runner>> {
    Ok(Json(app.plane().runner(&who.caller, id).await?))
}
