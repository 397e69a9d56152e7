//! Who asks: the bearer token of a request, looked up once, before any handler.
//!
//! What a caller may do is for the plane to say; here is only who it is, and whether it asks too often. A route of `/v1`
//! cannot forget this: the whole of it lies behind [`require`].

use std::fmt;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use tokio::time::Instant;

use super::app::App;
use super::problem::{Answer, Refused};
use crate::plane::Caller;

/// The caller, and the means to see later whether it still is one.
#[derive(Debug, Clone)]
pub(crate) struct Who {
    pub(crate) caller: Caller,
    secret: Secret,
}

#[derive(Clone)]
struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// For the log line of the request.
#[derive(Debug, Clone)]
pub(crate) struct Actor(pub(crate) String);

pub(crate) async fn require(State(app): State<App>, mut request: Request, next: Next) -> Answer {
    let secret = bearer(request.headers()).ok_or_else(|| unknown("a token is needed"))?;
    let who = Who::find(&app, Secret(secret));
    let who = who.ok_or_else(|| unknown("this token is not known, or no longer"))?;
    if let Err(wait) = app.rates().take(who.caller.token, Instant::now()) {
        let seconds = HeaderValue::from(wait.as_secs() + 1);
        return Err(Refused::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too-many",
            "this token asks too often",
        )
        .remedy("wait as long as Retry-After says")
        .header(header::RETRY_AFTER, seconds));
    }
    let actor = Actor(who.caller.actor.clone());
    request.extensions_mut().insert(who);
    let mut response = next.run(request).await;
    response.extensions_mut().insert(actor);
    Ok(response)
}

impl Who {
    fn find(app: &App, secret: Secret) -> Option<Self> {
        let caller = app.plane().caller(&secret.0)?;
        Some(Self { caller, secret })
    }

    /// The same as it is now; `None` once the token is revoked or over.
    pub(crate) fn again(&self, app: &App) -> Option<Self> {
        Self::find(app, self.secret.clone())
    }
}

impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        parts.extensions.get().cloned().ok_or_else(|| unknown("a token is needed"))
    }
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(header::AUTHORIZATION).into_iter();
    let value = values.next()?.to_str().ok()?;
    // Which of two would count is nothing to guess at.
    if values.next().is_some() {
        return None;
    }
    let (scheme, secret) = value.split_once(' ')?;
    let fits = scheme.eq_ignore_ascii_case("bearer") && (1..=256).contains(&secret.len());
    fits.then(|| secret.to_owned())
}

fn unknown(detail: &str) -> Refused {
    Refused::new(StatusCode::UNAUTHORIZED, "no-token", detail)
        .field("Authorization")
        .remedy("send `Authorization: Bearer TOKEN`; the server's owner makes tokens")
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"cofferdam\""))
}
