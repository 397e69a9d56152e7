//! Versions and repetitions, as HTTP says them: `ETag`, `If-Match`, `If-None-Match`, `Idempotency-Key`.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{Object, ObjectBuilder, Required, Type};

use super::problem::Refused;
use crate::plane::IdempotencyKey;

/// A thing that has a version.
pub(crate) trait Versioned {
    fn version(&self) -> u64;
}

fn tag(version: u64) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"0\""))
}

/// The thing with its `ETag`; nothing but that where the caller has this version.
pub(crate) fn show<T: Versioned + Serialize>(thing: &T, headers: &HeaderMap) -> Response {
    let tag = tag(thing.version());
    if is_known(&tag, headers) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response();
    }
    ([(header::ETAG, tag)], axum::Json(thing)).into_response()
}

/// Whether `If-None-Match` has this tag: alone, in a list or in several, weak or not (RFC 9110, 13.1.2), or means any.
fn is_known(tag: &HeaderValue, headers: &HeaderMap) -> bool {
    let Ok(tag) = tag.to_str() else { return false };
    let said = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|said| said.to_str().ok());
    said.into_iter().any(|said| said.trim() == "*" || Tags(said).any(|known| known == tag))
}

/// The tags of a list, with their quotes and without `W/`. A comma between quotes belongs to the tag; what is no tag
/// ends the list.
struct Tags<'a>(&'a str);

impl<'a> Iterator for Tags<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_start_matches([' ', '\t', ',']);
        let rest = rest.strip_prefix("W/").unwrap_or(rest);
        let end = rest.strip_prefix('"')?.find('"')? + 2;
        let (tag, left) = rest.split_at(end);
        self.0 = left;
        Some(tag)
    }
}

/// 201, with where it is from now on.
pub(crate) fn created<T: Versioned + Serialize>(thing: &T, location: &str) -> Response {
    let location = HeaderValue::from_str(location).unwrap_or(HeaderValue::from_static("/"));
    let headers = [(header::LOCATION, location), (header::ETAG, tag(thing.version()))];
    (StatusCode::CREATED, headers, axum::Json(thing)).into_response()
}

/// The version that the caller has seen, from `If-Match`; `*` and none at all mean any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IfMatch(pub(crate) Option<u64>);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else { return Ok(Self(None)) };
        if value == "*" {
            return Ok(Self(None));
        }
        let refused = |status, name, detail| {
            Refused::new(status, name, detail)
                .field("If-Match")
                .remedy("get it again; its ETag is the version")
        };
        let text = value.to_str().unwrap_or_default();
        let tag = text.strip_prefix("W/").unwrap_or(text);
        let tag = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        let malformed = || refused(StatusCode::BAD_REQUEST, "bad-tag", "this is not an ETag");
        let tag = tag.filter(|tag| !tag.contains(['"', ' '])).ok_or_else(malformed)?;
        // A tag that was never given is of a version that is not the newest.
        let version = tag.parse().ok().filter(|_| !text.starts_with("W/")).ok_or_else(|| {
            refused(
                StatusCode::PRECONDITION_FAILED,
                "changed",
                "this is not the version that is there",
            )
        })?;
        Ok(Self(Some(version)))
    }
}

/// What makes a repeated create the same create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeatable(pub(crate) Option<IdempotencyKey>);

impl<S: Sync> FromRequestParts<S> for Repeatable {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        Ok(Self(Some(IdempotencyKey::new(value.to_str().unwrap_or_default())?)))
    }
}

impl IntoParams for Repeatable {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let form = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(200));
        let form = form.pattern(Some("^[!-~]+$"));
        vec![header_parameter(
            "Idempotency-Key",
            "The same key again makes no second one.",
            form.build(),
        )]
    }
}

impl IntoParams for IfMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let form = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(r#"^((W/)?"[!#-~]*"|\*)$"#));
        vec![header_parameter(
            "If-Match",
            "The ETag of the version that was seen; another is 412.",
            form.build(),
        )]
    }
}

fn header_parameter(name: &str, words: &str, form: Object) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(words))
        .schema(Some(form))
        .build()
}
