//! `/v1/tokens`: who may ask. The text of one is in the answer to its making, and nowhere else.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use cofferdam_core::control::id::TokenId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::token::{MadeToken, NewToken, Token};

use super::app::App;
use super::body::{Asked, Id, Json, NoBody};
use super::conditions::Repeatable;
use super::paged::Paged;
use super::problem::Answer;
use super::who::Who;

/// List tokens
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", params(Paged),
    responses((status = 200, body = Page<Token>)))]
pub(crate) async fn list_tokens(
    State(app): State<App>,
    who: Who,
    Asked(paged): Asked<Paged>,
) -> Answer<Json<Page<Token>>> {
    Ok(Json(app.plane().tokens(&who.caller, &paged.paging()?).await?))
}

/// Make a token
///
/// The same key again is 409, and names the token that was made: its text is in the first answer alone.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", params(Repeatable), request_body = NewToken,
    responses((status = 201, body = MadeToken)))]
pub(crate) async fn make_token(
    State(app): State<App>,
    who: Who,
    key: Repeatable,
    Json(new): Json<NewToken>,
) -> Answer<Response> {
    let made = app.plane().make_token(&who.caller, new, key.0).await?;
    Ok((StatusCode::CREATED, Json(made)).into_response())
}

/// Revoke a token
///
/// Streams that it has open end.
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "tokens", params(("id" = TokenId, Path)),
    responses((status = 204)))]
pub(crate) async fn revoke_token(
    State(app): State<App>,
    who: Who,
    Id(id): Id<TokenId>,
    _: NoBody,
) -> Answer<StatusCode> {
    app.plane().revoke_token(&who.caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
