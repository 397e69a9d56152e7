//! How a request is turned down: RFC 9457, for everything that is not done.
//!
//! A handler gives back a [`Refused`]; [`render`], outermost, writes it, with the request's id. It also puts words to
//! the bare refusals of the framework (no such route, no such method), so that there is one form and no other.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use cofferdam_core::control::problem::Problem;

use super::request_id::RequestId;
use super::strict::Wrong;
use crate::plane::PlaneError;

pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// A request that is not granted.
#[derive(Debug, Clone)]
pub(crate) struct Refused(Box<Words>);

#[derive(Debug, Clone)]
struct Words {
    problem: Problem,
    headers: HeaderMap,
}

pub(crate) type Answer<T = Response> = Result<T, Refused>;

impl Refused {
    /// `name` is the end of the stable `urn:cofferdam:problem:NAME`.
    pub(crate) fn new(status: StatusCode, name: &str, detail: impl Into<String>) -> Self {
        Self::from(Problem {
            kind: format!("urn:cofferdam:problem:{name}"),
            title: status.canonical_reason().unwrap_or("Refused").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            field: None,
            rule: None,
            remedy: None,
            request_id: None,
        })
    }

    pub(crate) fn field(mut self, field: impl Into<String>) -> Self {
        self.0.problem.field = Some(field.into());
        self
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.problem.remedy = Some(remedy.into());
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.insert(name, value);
        self
    }

    /// In the same words whether there is none, or none that the caller may know of.
    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "there is no such thing")
    }

    pub(crate) fn stopping() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "the server is stopping")
            .remedy("ask again when it is back")
            .header(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(Box::new(Words { problem, headers: HeaderMap::new() }))
    }
}

impl From<PlaneError> for Refused {
    fn from(error: PlaneError) -> Self {
        let problem = error.problem();
        if problem.status >= 500 {
            tracing::error!(error = %chain(&error), "a request failed");
        }
        problem.into()
    }
}

/// An error and what caused it, on a line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl From<Wrong> for Refused {
    fn from(wrong: Wrong) -> Self {
        let detail = wrong.to_string();
        match wrong {
            Wrong::Text(_) => Self::new(StatusCode::BAD_REQUEST, "malformed", detail),
            Wrong::Field { field, .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-field", detail).field(field)
            }
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.problem.status);
        let mut response = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response();
        response.headers_mut().extend(self.0.headers);
        response.extensions_mut().insert(self.0.problem);
        response
    }
}

pub(crate) async fn render(request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().cloned();
    let mut response = next.run(request).await;
    let status = response.status();
    let problem = match response.extensions_mut().remove::<Problem>() {
        Some(problem) => problem,
        None if status.is_client_error() || status.is_server_error() => bare(status),
        None => return response,
    };
    let problem = Problem { request_id: id.map(|id| id.to_string()), ..problem };
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    *response.body_mut() = Body::from(body);
    response
}

fn bare(status: StatusCode) -> Problem {
    let refused = match status {
        StatusCode::NOT_FOUND => Refused::not_found(),
        StatusCode::METHOD_NOT_ALLOWED => {
            Refused::new(status, "method-not-allowed", "this is not done with that method")
                .remedy("the header Allow says which are")
        }
        status => {
            let title = status.canonical_reason().unwrap_or("refused").to_ascii_lowercase();
            Refused::new(status, &title.replace(' ', "-"), title)
        }
    };
    refused.0.problem
}
