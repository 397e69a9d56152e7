//! What a request brings: a JSON body, the id in its path, the words after `?`. Each is wrong in a way that names the field.

use std::str::FromStr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::admit::{BODY_LIMIT, too_large};
use super::problem::Refused;
use super::strict;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// The body as JSON; none at all counts as `{}`.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Json<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        json(request.into_body(), BODY_LIMIT).await
    }
}

pub(crate) async fn json<T: DeserializeOwned>(body: Body, limit: u64) -> Result<Json<T>, Refused> {
    let bytes = read(body, limit).await?;
    let bytes = if bytes.is_empty() { b"{}" } else { bytes.as_slice() };
    Ok(Json(strict::parse(bytes)?))
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

/// For a request that needs no body, and so must not bring one that says something.
#[derive(Debug)]
pub(crate) struct NoBody;

impl<S: Sync> FromRequest<S> for NoBody {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        let Json(Empty {}) = Json::from_request(request, state).await?;
        Ok(Self)
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Empty {}

/// All of it, if it is no more than `limit` and comes in time.
pub(crate) async fn read(body: Body, limit: u64) -> Result<Vec<u8>, Refused> {
    let whole = async {
        let mut bytes = Vec::new();
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| {
                Refused::new(StatusCode::BAD_REQUEST, "cut-off", "the body ended early")
            })?;
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Err(too_large(limit));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    };
    tokio::time::timeout(PATIENCE, whole).await.unwrap_or_else(|_| {
        Err(Refused::new(
            StatusCode::REQUEST_TIMEOUT,
            "too-slow",
            "the body did not arrive in time",
        ))
    })
}

/// The one id in the path. What is none is not found, as one that nobody has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Id<T>(pub(crate) T);

impl<T: FromStr, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = path.map_err(|_| Refused::not_found())?;
        text.parse().map(Self).map_err(|_| Refused::not_found())
    }
}

/// What stands after `?`.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let asked = Query::<T>::from_request_parts(parts, state).await;
        asked.map(|Query(asked)| Self(asked)).map_err(|rejection| {
            let text = rejection.body_text();
            let detail = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
            let refused = Refused::new(StatusCode::BAD_REQUEST, "invalid-query", detail);
            match detail.split_once(": ") {
                Some((field, _)) if !field.contains(' ') => refused.field(field),
                _ => refused.field("query"),
            }
        })
    }
}
