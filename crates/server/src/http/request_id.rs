//! A name for each request: in its answer, in its problem, in its log line.

use std::fmt;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// A caller may bring its own, if it is as plain as ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestId(String);

impl RequestId {
    fn brought(value: &HeaderValue) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let text = value.to_str().ok()?;
        let fits = (1..=64).contains(&text.len()) && text.bytes().all(plain);
        fits.then(|| Self(text.to_owned()))
    }

    fn made() -> Self {
        let mut bytes = [0_u8; 8];
        // A name that is not unique is better than a request that is not answered.
        getrandom::fill(&mut bytes).ok();
        Self(format!("{:016x}", u64::from_be_bytes(bytes)))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) async fn give(mut request: Request, next: Next) -> Response {
    let id = request.headers().get(HEADER).and_then(RequestId::brought);
    let id = id.unwrap_or_else(RequestId::made);
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_ids_are_taken_over() {
        let brought = |text: &str| {
            RequestId::brought(&HeaderValue::from_bytes(text.as_bytes()).expect("a header"))
        };
        assert_eq!(brought("a-B_9.x"), Some(RequestId("a-B_9.x".to_owned())));
        let long = "a".repeat(65);
        for text in ["", "a b", "a\tb", "é", "{}", &long] {
            assert_eq!(brought(text), None, "{text:?}");
        }
        assert_ne!(RequestId::made(), RequestId::made());
    }
}
