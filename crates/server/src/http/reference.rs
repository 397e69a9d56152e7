//! `/openapi.json`, and `/docs`: the same as a page for people. It needs no script and nothing from elsewhere.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::Value;
use utoipa::openapi::OpenApi;

const STYLE: &str = include_str!("reference.css");
const POLICY: &str = "default-src 'none'; style-src 'self'; frame-ancestors 'none'";

pub(crate) fn pages<S: Clone + Send + Sync + 'static>(api: &OpenApi) -> Router<S> {
    let json: Arc<str> = api.to_json().unwrap_or_default().into();
    let page: Arc<str> = page(&serde_json::from_str(&json).unwrap_or_default()).into();
    Router::new()
        .route("/openapi.json", get(async move || file("application/json", &json)))
        .route("/docs", get(async move || file("text/html; charset=utf-8", &page)))
        .route("/docs/style.css", get(async || file("text/css; charset=utf-8", STYLE)))
}

fn file(kind: &'static str, text: &str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ];
    (headers, text.to_owned()).into_response()
}

fn page(api: &Value) -> String {
    let mut html = Html::default();
    html.raw(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Cofferdam API</title>",
    );
    html.raw("<meta name=\"viewport\" content=\"width=device-width\"><link rel=\"stylesheet\" href=\"/docs/style.css\">");
    html.raw("<main><h1>Cofferdam API</h1>");
    html.words("p", &api["info"]["description"]);
    html.raw("<p>The same for programs: <a href=\"/openapi.json\">openapi.json</a>.</p>");
    let mut tag = "";
    for (path, operations) in members(&api["paths"]) {
        for (method, operation) in members(operations) {
            let of = operation["tags"][0].as_str().unwrap_or_default();
            if of != tag {
                tag = of;
                html.text("h2", tag);
            }
            html.operation(method, path, operation);
        }
    }
    html.text("h2", "schemas");
    for (name, schema) in members(&api["components"]["schemas"]) {
        html.schema(name, schema);
    }
    html.raw("</main></html>");
    html.0
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

#[derive(Default)]
struct Html(String);

impl Html {
    fn raw(&mut self, html: &str) {
        self.0.push_str(html);
    }

    fn text(&mut self, element: &str, text: &str) {
        write!(self.0, "<{element}>{}</{element}>", escaped(text)).unwrap_or_default();
    }

    /// Text in which words between backticks are code.
    fn words(&mut self, element: &str, text: &Value) {
        let Some(text) = text.as_str().filter(|text| !text.is_empty()) else { return };
        write!(self.0, "<{element}>").unwrap_or_default();
        for (place, part) in text.split('`').enumerate() {
            match place % 2 {
                0 => self.0.push_str(&escaped(part)),
                _ => self.text("code", part),
            }
        }
        write!(self.0, "</{element}>").unwrap_or_default();
    }

    fn operation(&mut self, method: &str, path: &str, operation: &Value) {
        let id = operation["operationId"].as_str().unwrap_or_default();
        write!(self.0, "<section id=\"{}\">", escaped(id)).unwrap_or_default();
        let head = format!("{} {path}", method.to_ascii_uppercase());
        self.raw("<h3>");
        self.text("code", &head);
        self.raw("</h3>");
        self.words("p", &operation["summary"]);
        self.words("p", &operation["description"]);
        self.raw("<table>");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let place = parameter["in"].as_str().unwrap_or_default();
            self.row(
                place,
                parameter["name"].as_str().unwrap_or_default(),
                &parameter["schema"],
                &parameter["description"],
            );
        }
        for (_, content) in members(&operation["requestBody"]["content"]) {
            self.row("body", "", &content["schema"], &Value::Null);
        }
        for (status, response) in members(&operation["responses"]) {
            let mut contents = members(&response["content"]).peekable();
            if contents.peek().is_none() {
                self.row(status, "", &Value::Null, &response["description"]);
            }
            for (kind, content) in contents {
                self.row(status, kind, &content["schema"], &response["description"]);
            }
        }
        self.raw("</table></section>");
    }

    fn schema(&mut self, name: &str, schema: &Value) {
        write!(self.0, "<section id=\"schema-{}\">", escaped(name)).unwrap_or_default();
        self.text("h3", name);
        self.words("p", &schema["description"]);
        self.raw("<table>");
        for part in parts(schema) {
            let required: Vec<&str> = part["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            for (name, property) in members(&part["properties"]) {
                let place = if required.contains(&name.as_str()) { "required" } else { "" };
                self.row(place, name, property, &property["description"]);
            }
            if part["properties"].is_null() {
                self.row("", "", part, &part["description"]);
            }
        }
        self.raw("</table></section>");
    }

    fn row(&mut self, place: &str, name: &str, schema: &Value, description: &Value) {
        self.raw("<tr>");
        self.text("td", place);
        self.raw("<td>");
        self.text("code", name);
        self.raw("</td><td>");
        self.form(schema);
        self.raw("</td><td>");
        self.words("span", description);
        self.raw("</td></tr>");
    }

    /// What a value looks like, in a few words.
    fn form(&mut self, schema: &Value) {
        let target = schema["$ref"].as_str().and_then(|target| target.rsplit('/').next());
        if let Some(name) = target {
            let name = escaped(name);
            write!(self.0, "<a href=\"#schema-{name}\">{name}</a>").unwrap_or_default();
            return;
        }
        let mut alternatives = ["oneOf", "anyOf", "allOf"]
            .iter()
            .filter_map(|key| schema[key].as_array())
            .flatten()
            .peekable();
        if alternatives.peek().is_some() {
            for (place, alternative) in alternatives.enumerate() {
                self.raw(if place > 0 { " or " } else { "" });
                self.form(alternative);
            }
            return;
        }
        let kind = match &schema["type"] {
            Value::String(kind) => kind.clone(),
            Value::Array(kinds) => {
                kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
            }
            _ => String::new(),
        };
        self.text("span", &kind);
        if schema["items"].is_object() {
            self.raw(" of ");
            self.form(&schema["items"]);
        }
        if let Some(values) = schema["enum"].as_array() {
            let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            self.text("code", &format!(" {}", values.join(" | ")));
        }
    }
}

/// A schema that is put together of others, piece by piece.
fn parts(schema: &Value) -> Vec<&Value> {
    match schema["allOf"].as_array() {
        Some(parts) => parts.iter().collect(),
        None => vec![schema],
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
