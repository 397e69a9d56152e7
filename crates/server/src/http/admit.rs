//! Who is let in at all, before anything is looked up: requests to a name of ours, not sent by a page of another
//! origin, with a body of a kind and a size that is taken.
//!
//! A browser sends what a page makes it send. What it does not let a page of another origin do without asking us first is
//! a JSON body and an `Authorization` header; both are needed here, and there are no cookies and no CORS answers.

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;

use super::app::App;
use super::names::Names;
use super::problem::{Answer, Refused};
use crate::runner::MOST_ANSWER;

/// The largest body that is taken; artifacts and answers to errands have limits of their own.
pub(crate) const BODY_LIMIT: u64 = 1 << 20;

pub(crate) async fn admit(State(app): State<App>, request: Request, next: Next) -> Answer {
    let (parts, body) = request.into_parts();
    let host = host(&parts)?;
    if !app.names().has(&host) {
        return Err(Refused::new(
            StatusCode::FORBIDDEN,
            "foreign-host",
            "this server does not answer to that name",
        )
        .field("Host")
        .remedy("use a name of the loopback, or start the server with --host-name NAME"));
    }
    if is_foreign(&parts, &host) {
        return Err(Refused::new(
            StatusCode::FORBIDDEN,
            "foreign-origin",
            "pages of other origins have no business here",
        )
        .field("Origin"));
    }
    body_kind(&parts)?;
    Ok(next.run(Request::from_parts(parts, body)).await)
}

fn host(parts: &Parts) -> Answer<String> {
    let named = |detail| Refused::new(StatusCode::BAD_REQUEST, "bad-host", detail).field("Host");
    let mut hosts = parts.headers.get_all(header::HOST).into_iter();
    let (first, second) = (hosts.next(), hosts.next());
    let host = match (first, second) {
        (Some(host), None) => host.to_str().map_err(|_| named("the header is not text"))?,
        (Some(_), Some(_)) => return Err(named("there is more than one")),
        (None, _) => return Err(named("there is none")),
    };
    // A target in the absolute form names a host too, and some servers believe that one.
    match parts.uri.authority() {
        Some(authority) if !authority.as_str().eq_ignore_ascii_case(host) => {
            Err(named("it is another than the target's"))
        }
        _ => Ok(host.to_owned()),
    }
}

fn is_foreign(parts: &Parts, host: &str) -> bool {
    let header = |name: &str| parts.headers.get(name).map(|value| value.as_bytes());
    let origin = parts.headers.get(header::ORIGIN);
    if origin
        .is_some_and(|origin| !origin.to_str().is_ok_and(|origin| Names::is_own_page(origin, host)))
    {
        return true;
    }
    match header("sec-fetch-site") {
        None | Some(b"same-origin" | b"none") => false,
        // A link on another page that somebody followed: a page is got, and no page gets to see it.
        Some(_) => {
            let followed = header("sec-fetch-mode") == Some(b"navigate")
                && header("sec-fetch-dest") == Some(b"document")
                && parts.method == Method::GET
                && !parts.uri.path().starts_with("/v1");
            !followed
        }
    }
}

fn body_kind(parts: &Parts) -> Answer<()> {
    let headers = &parts.headers;
    let length = content_length(headers)?;
    let limit = limit(parts);
    if length.is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    let has_body =
        headers.contains_key(header::TRANSFER_ENCODING) || length.is_some_and(|length| length > 0);
    match headers.get(header::CONTENT_TYPE) {
        None if has_body && !is_upload(parts) => Err(wrong_kind()),
        Some(kind) if !is_upload(parts) && !kind.to_str().is_ok_and(is_json) => Err(wrong_kind()),
        _ => Ok(()),
    }
}

fn limit(parts: &Parts) -> u64 {
    match parts.uri.path().starts_with("/v1/runner/errands/") {
        _ if is_upload(parts) => UPLOAD_LIMIT,
        true => MOST_ANSWER,
        false => BODY_LIMIT,
    }
}

/// An artifact's bytes, which are whatever they are.
fn is_upload(parts: &Parts) -> bool {
    let path = parts.uri.path();
    path.starts_with("/v1/runner/tasks/") && path.ends_with("/artifacts")
}

pub(crate) const UPLOAD_LIMIT: u64 = cofferdam_core::control::artifact::MOST_BYTES;

fn content_length(headers: &HeaderMap) -> Answer<Option<u64>> {
    let Some(length) = headers.get(header::CONTENT_LENGTH) else { return Ok(None) };
    let length = length.to_str().ok().and_then(|text| text.parse().ok());
    length.map(Some).ok_or_else(|| {
        Refused::new(StatusCode::BAD_REQUEST, "bad-length", "this is not a length")
            .field("Content-Length")
    })
}

pub(crate) fn too_large(limit: u64) -> Refused {
    let detail = format!("the body is larger than {limit} bytes");
    Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
        .header(header::CONNECTION, axum::http::HeaderValue::from_static("close"))
}

fn wrong_kind() -> Refused {
    Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", "a body is JSON here")
        .field("Content-Type")
        .remedy("send it as application/json")
}

fn is_json(kind: &str) -> bool {
    let mut parts = kind.split(';').map(str::trim);
    parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
        && parts.all(|parameter| parameter.eq_ignore_ascii_case("charset=utf-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_nothing_that_a_form_can_send() {
        for kind in ["application/json", "Application/JSON; charset=UTF-8"] {
            assert!(is_json(kind), "{kind}");
        }
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "",
            "application/json; charset=utf-16",
            "application/jsonx",
        ] {
            assert!(!is_json(kind), "{kind}");
        }
    }
}
