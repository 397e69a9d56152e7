//! `/metrics`: counts for those who watch, in the text format of Prometheus.

use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse as _;
use cofferdam_core::control::overview::{Attempts, Counts};
use cofferdam_core::control::spent::Spread;

use super::app::App;
use super::problem::Answer;
use super::tally::Answered;
use super::who::Who;

/// Counts for Prometheus
///
/// They are of all projects: for tokens of scope submit, review or admin that are bound to none.
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses((status = 200, body = String, content_type = "text/plain; version=0.0.4")))]
pub(crate) async fn metrics(State(app): State<App>, who: Who) -> Answer {
    let counts = app.plane().counts(&who.caller).await?;
    let streams = app.tally().streams.load(Ordering::Relaxed);
    let text = render(&counts, &app.tally().answered(), streams);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

/// Counters that are the number of one type of event, each with its name and what it counts.
const OF_EVENTS: [(&str, &str, &str); 7] = [
    ("cofferdam_sandboxes_created_total", "sandbox.started", "Sandboxes that were started."),
    (
        "cofferdam_sandboxes_failed_total",
        "sandbox.failed",
        "Sandboxes that could not be made or kept.",
    ),
    (
        "cofferdam_sandboxes_cleaned_total",
        "sandbox.cleanup",
        "Sandboxes whose removal was reported.",
    ),
    (
        "cofferdam_sandboxes_orphaned_total",
        "sandbox.orphan_removed",
        "Leftovers of dead owners that were removed.",
    ),
    ("cofferdam_timeouts_total", "sandbox.timeout", "Commands that took too long."),
    ("cofferdam_out_of_memory_total", "sandbox.oom", "Commands that ran out of memory."),
    (
        "cofferdam_fallbacks_total",
        "sandbox.fallback_to_direct",
        "Commands that ran without a sandbox because the host owner said so.",
    ),
];

fn render(counts: &Counts, answered: &Answered, streams: u64) -> String {
    let mut page = Page::default();
    page.family("cofferdam_tasks", "gauge", "Tasks by state.");
    for (state, count) in &counts.tasks {
        page.labelled("cofferdam_tasks", &[("state", &state.to_string())], count);
    }
    page.single("cofferdam_queue_length", "gauge", "Tasks that may be claimed.", counts.waiting);
    page.single("cofferdam_running", "gauge", "Tasks in the hands of runners.", counts.held);
    page.single(
        "cofferdam_runners_online",
        "gauge",
        "Runners that were heard of lately.",
        counts.runners_online,
    );
    page.single("cofferdam_timeline_seq", "counter", "Number of the newest event.", counts.seq);
    for (name, kind, help) in OF_EVENTS {
        page.single(name, "counter", help, counts.events.get(kind).copied().unwrap_or(0));
    }
    page.family("cofferdam_events_total", "counter", "Events since the server started, by type.");
    for (kind, count) in &counts.events {
        page.labelled("cofferdam_events_total", &[("type", kind)], count);
    }
    page.family(
        "cofferdam_rejections_total",
        "counter",
        "Refusals by policy since the server started, by rule.",
    );
    for (rule, count) in &counts.rejections {
        page.labelled("cofferdam_rejections_total", &[("rule", rule)], count);
    }
    page.single("cofferdam_streams", "gauge", "Open streams of events and output.", streams);
    page.family("cofferdam_http_requests_total", "counter", "Requests by route and answer.");
    for ((method, route, status), count) in &answered.requests {
        let labels =
            [("method", method.as_str()), ("route", route), ("status", &status.to_string())];
        page.labelled("cofferdam_http_requests_total", &labels, count);
    }
    page.spread(
        "cofferdam_http_request_duration_seconds",
        "Time until an answer began.",
        &answered.seconds,
    );
    let Attempts { seconds, memory, cpu } = &counts.attempts;
    page.spread("cofferdam_attempt_duration_seconds", "Time that attempts took.", seconds);
    page.spread(
        "cofferdam_attempt_memory_ratio",
        "Most memory of attempts, as a share of their limit.",
        memory,
    );
    page.spread(
        "cofferdam_attempt_cpu_ratio",
        "Processor time of attempts, as a share of their limit.",
        cpu,
    );
    page.0
}

#[derive(Debug, Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.family(name, kind, help);
        self.line(format_args!("{name} {value}"));
    }

    fn labelled(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        self.line(format_args!("{name}{{{}}} {value}", labels.join(",")));
    }

    fn spread(&mut self, name: &str, help: &str, spread: &Spread) {
        self.family(name, "histogram", help);
        let mut sum = 0;
        let bounds = spread.bounds.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(&spread.counts) {
            sum += count;
            self.labelled(&format!("{name}_bucket"), &[("le", &bound)], sum);
        }
        self.line(format_args!("{name}_sum {}", spread.sum));
        self.line(format_args!("{name}_count {sum}"));
    }

    fn line(&mut self, line: impl Display) {
        writeln!(self.0, "{line}").unwrap_or_default();
    }
}

/// As the format wants it: a type of event or a rule may hold what a runner made up.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_its_line() {
        let mut counts = Counts::default();
        counts.events.insert("a\"} 1\nforged_total 7\\".to_owned(), 3);
        let text = render(&counts, &Answered::default(), 0);
        assert!(
            text.contains("cofferdam_events_total{type=\"a\\\"} 1\\nforged_total 7\\\\\"} 3\n"),
            "{text}"
        );
    }

    #[test]
    fn buckets_count_up_and_end_with_all() {
        let mut answered = Answered::default();
        for (seconds, times) in [(0.0005, 2), (0.02, 3), (60.0, 1)] {
            (0..times).for_each(|_| answered.seconds.add(seconds));
        }
        let text = render(&Counts::default(), &answered, 0);
        let name = "cofferdam_http_request_duration_seconds";
        for line in [
            "_bucket{le=\"0.001\"} 2",
            "_bucket{le=\"0.01\"} 2",
            "_bucket{le=\"0.025\"} 5",
            "_bucket{le=\"+Inf\"} 6",
            "_count 6",
        ] {
            assert!(text.contains(&format!("{name}{line}\n")), "{line}\n{text}");
        }
    }
}
