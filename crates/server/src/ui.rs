//! The dashboard: one page for people, made of the files beside this one and of the public API.
//!
//! [`routes`] serves it at `/` and its files under `/ui/`. They are part of the program: no build step, nothing from
//! another host. The [`POLICY`] lets the browser run only them; text can become markup nowhere, which the browser
//! itself enforces (`require-trusted-types-for`). Whoever reaches the server may have the files: they hold no secret,
//! and everything that they show comes from `/v1`, with a token.

mod lean;

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// What the browser may load and run.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

const GUARDS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // Asked about each time and answered by its tag: after an update nothing old is mixed with new.
    (header::CACHE_CONTROL, "no-cache"),
];

macro_rules! files {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("ui/", $name)))),+]
    };
}

const FILES: &[(&str, &str)] = files! {
    "index.html" "icon.svg" "style.css" "pages.css"
    "ansi.js" "api.js" "approvals.js" "chart.js" "dag.js" "diff.js" "dom.js" "events.js" "forms.js" "gate.js"
    "inert.js" "keys.js" "live.js" "log.js" "login.js" "main.js" "marks.js" "news.js" "newtask.js" "notes.js"
    "overview.js" "policy.js" "projects.js" "resource.js" "review.js" "roles.js" "router.js" "runners.js"
    "session.js" "settle.js" "steps.js" "syntax.js" "task.js" "tasks.js" "templates.js" "theme.js" "tokens.js" "tree.js"
    "words.js" "workflows.js"
};

/// A file as it is given out.
#[derive(Debug)]
struct Served {
    name: &'static str,
    content_type: &'static str,
    text: String,
    tag: String,
}

static SERVED: LazyLock<Vec<Served>> =
    LazyLock::new(|| FILES.iter().map(|&(name, text)| served(name, text)).collect());

fn served(name: &'static str, text: &str) -> Served {
    let (content_type, text) = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => ("text/javascript; charset=utf-8", lean::script(text)),
        Some("css") => ("text/css; charset=utf-8", lean::sheet(text)),
        Some("svg") => ("image/svg+xml", text.to_owned()),
        _ => ("text/html; charset=utf-8", text.to_owned()),
    };
    let tag = format!("\"{}\"", &blake3::hash(text.as_bytes()).to_hex()[..32]);
    Served { name, content_type, text, tag }
}

/// For a router that does whatever else is to be done with a request.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", get(|headers: HeaderMap| async move { give("index.html", &headers) }))
        .route(
            "/ui/{name}",
            get(
                |Path(name): Path<String>, headers: HeaderMap| async move { give(&name, &headers) },
            ),
        )
}

fn give(name: &str, headers: &HeaderMap) -> Response {
    let Some(file) = SERVED.iter().find(|file| file.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let is_known = known.is_some_and(|tags| {
        tags.split(',').any(|tag| tag.trim().trim_start_matches("W/") == file.tag)
    });
    let tag = (header::ETAG, file.tag.as_str());
    if is_known {
        return (StatusCode::NOT_MODIFIED, [tag], GUARDS).into_response();
    }
    ([tag, (header::CONTENT_TYPE, file.content_type)], GUARDS, file.text.as_str()).into_response()
}

#[cfg(test)]
mod tests;
