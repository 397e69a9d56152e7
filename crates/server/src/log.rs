//! What the server says of itself while it runs: one line an event, as text or as JSON.
//!
//! [`install`] is given where lines go; nothing here prints. A line is one line whatever is in it: text that somebody
//! else chose is escaped here, once, for every event and every field of it, so that no caller can forget to.

use std::fmt::{self, Write as _};
use std::io::Write;
use std::sync::Mutex;

use cofferdam_core::inert::{self, Inert};
use cofferdam_core::stamp::Stamp;
use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, thiserror::Error)]
#[error("this process has a log already")]
pub struct LogTaken;

/// From now on, for the whole process.
pub fn install(format: LogFormat, to: Box<dyn Write + Send>) -> Result<(), LogTaken> {
    let lines = Lines { format, to: Mutex::new(to) };
    tracing::subscriber::set_global_default(Registry::default().with(lines)).map_err(|_| LogTaken)
}

struct Lines {
    format: LogFormat,
    to: Mutex<Box<dyn Write + Send>>,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    /// Of others only what they complain about.
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let own = metadata.target().starts_with("cofferdam");
        *metadata.level() <= if own { Level::INFO } else { Level::WARN }
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(outer) = span.extensions().get::<Fields>() {
                for (name, value) in &outer.0 {
                    fields.0.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        let now = Stamp::new(Timestamp::now()).to_string();
        let line = match self.format {
            LogFormat::Text => text(&now, event.metadata(), fields),
            LogFormat::Json => json(now, event.metadata(), fields),
        };
        // With nobody left to read it there is nothing to be done about a line that is lost.
        if let Ok(mut to) = self.to.lock() {
            to.write_all(line.as_bytes()).ok();
        }
    }
}

fn text(now: &str, metadata: &Metadata<'_>, mut fields: Fields) -> String {
    let message = fields.0.shift_remove(MESSAGE);
    let message = message.as_ref().and_then(Value::as_str).unwrap_or(metadata.target());
    let mut line = format!("{now} {:5} {}", metadata.level().as_str(), Inert::line(message));
    for (name, value) in &fields.0 {
        let shown = match value {
            Value::String(text) if !text.is_empty() && !text.contains([' ', '"', '=']) => {
                Inert::line(text).to_string()
            }
            value => inert::json(&value.to_string()),
        };
        write!(line, " {name}={shown}").unwrap_or_default();
    }
    line.push('\n');
    line
}

fn json(now: String, metadata: &Metadata<'_>, fields: Fields) -> String {
    let mut object = Map::new();
    object.insert("ts".to_owned(), now.into());
    object.insert("level".to_owned(), metadata.level().as_str().to_ascii_lowercase().into());
    object.extend(fields.0);
    format!("{}\n", inert::json(&Value::Object(object).to_string()))
}

const MESSAGE: &str = "message";

#[derive(Debug, Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panicked").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, say: impl FnOnce()) -> String {
        let kept = Kept::default();
        let lines = Lines { format, to: Mutex::new(Box::new(kept.clone())) };
        tracing::subscriber::with_default(Registry::default().with(lines), say);
        String::from_utf8(kept.0.lock().expect("nobody panicked").clone()).expect("lines are text")
    }

    const FORGED: &str = "/v1\n2026-01-01T00:00:00Z INFO  paid\u{1b}[2J\u{202e}";

    #[test]
    fn a_line_is_one_line_whatever_it_is_about() {
        let say =
            || tracing::info!(target: "cofferdam", path = FORGED, shown = ?FORGED, "{FORGED}");
        let text = logged(LogFormat::Text, say);
        assert_eq!(text.matches('\n').count(), 1, "{text:?}");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
        let json = logged(LogFormat::Json, say);
        assert_eq!(json.matches('\n').count(), 1, "{json:?}");
        assert!(!json.contains('\u{1b}') && !json.contains('\u{202e}'), "{json:?}");
        let value: Value = serde_json::from_str(&json).expect("it is JSON");
        assert_eq!((&value["path"], &value["message"]), (&FORGED.into(), &FORGED.into()));
    }

    #[test]
    fn an_event_has_the_fields_of_its_spans() {
        let say = || {
            let span = tracing::info_span!(target: "cofferdam", "request", request = "r1");
            span.in_scope(|| tracing::info!(target: "cofferdam", status = 200, "done"));
        };
        let text = logged(LogFormat::Text, say);
        assert!(text.ends_with(" INFO  done status=200 request=r1\n"), "{text}");
    }

    #[test]
    fn others_are_heard_only_when_they_complain() {
        let say = || {
            tracing::info!(target: "sqlx", "a query");
            tracing::warn!(target: "sqlx", "a slow query");
        };
        let text = logged(LogFormat::Text, say);
        assert!(
            text.ends_with(" WARN  a slow query\n") && text.matches('\n').count() == 1,
            "{text}"
        );
    }
}
