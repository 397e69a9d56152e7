//! What watches the server: health, metrics, request ids.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::server::Server;
use crate::wire::Ask;

pub(crate) fn a_request_has_an_id_of_its_own_or_the_callers(server: Server) {
    let id = |reply: &crate::wire::Reply| reply.header("x-request-id").unwrap().to_owned();
    let (one, other) = (id(&server.get("/v1/me")), id(&server.get("/v1/me")));
    assert_ne!(one, other);
    assert_eq!(id(&server.send(Ask::get("/v1/me").header("X-Request-Id", "mine-1"))), "mine-1");
    for forged in ["a b", "\u{e9}", &"a".repeat(65)] {
        assert_ne!(id(&server.send(Ask::get("/v1/me").header("X-Request-Id", forged))), forged);
    }
}

pub(crate) fn a_server_that_stops_is_not_ready(server: Server) {
    assert_eq!(Ask::get("/readyz").send(server.address).expect(200).json()["status"], "ok");
    assert_eq!(Ask::get("/healthz").send(server.address).expect(200).json()["status"], "ok");
}

/// The text format, read as strictly as a scraper may.
fn parse(text: &str) -> BTreeMap<String, f64> {
    let (mut samples, mut kinds, mut described) =
        (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    assert!(text.ends_with('\n'), "the last line ends too");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, words) = rest.split_once(' ').expect("help has words");
            assert!(described.insert(name) && !words.is_empty(), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(described.contains(name) && kinds.insert(name, kind).is_none(), "{line}");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let family =
                ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let family =
                family.filter(|family| kinds.get(family) == Some(&"histogram")).unwrap_or(name);
            assert!(kinds.contains_key(family), "{line} has no type");
            assert!(
                name.starts_with("cofferdam_")
                    && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
                "{line}"
            );
            if let Some(labels) = series.strip_prefix(name).filter(|labels| !labels.is_empty()) {
                let labels =
                    labels.strip_prefix('{').and_then(|labels| labels.strip_suffix('}')).unwrap();
                assert!(labels.split("\",").all(|label| label.contains("=\"")), "{line}");
            }
            assert!(
                samples.insert(series.to_owned(), value.parse().unwrap()).is_none(),
                "{line} is there twice"
            );
        }
    }
    samples
}

/// What a runner removed when it began, in its own words.
pub(crate) fn orphans_that_a_runner_removed_are_counted(server: Server) {
    let (_, secret) = server.token("host", "runner", None);
    let register = |removed: &Value| {
        let body = json!({ "name": "host", "capacity": 1, "removed": removed });
        Ask::post("/v1/runner/register", &body).token(&secret).send(server.address)
    };
    let container = json!({ "kind": "container", "name": "container cofferdam-1", "run": "r-1" });
    let sandbox = json!({ "kind": "sandbox", "name": "sandbox 7" });
    register(&json!([container, sandbox])).expect(200);
    let counted = || {
        let reply = server.get("/metrics").expect(200);
        parse(std::str::from_utf8(&reply.body).unwrap())["cofferdam_sandboxes_orphaned_total"]
    };
    assert_eq!(counted(), 2.0);
    let page = server.get("/v1/events?type=sandbox.orphan_removed").expect(200).json();
    let told = &page["items"][0];
    assert_eq!(
        (&told["actor"], &told["data"]["name"]),
        (&json!("runner:host"), &container["name"])
    );
    register(&json!([])).expect(200);
    assert_eq!(counted(), 2.0, "who has nothing to tell adds nothing");
    // It may say anything, and is not believed without end: neither at once nor in the long run.
    let many: Vec<Value> =
        (0..500).map(|_| json!({ "kind": "x", "name": "y".repeat(300) })).collect();
    let more = [many.as_slice(), &[sandbox]].concat();
    let refused = register(&json!(more)).refused(422, "refused");
    assert_eq!(refused["field"], "removed");
    assert_eq!(counted(), 2.0);
    for expected in [502.0, 1000.0, 1000.0] {
        register(&json!(many)).expect(200);
        assert_eq!(counted(), expected);
    }
    let told = server.get("/v1/events?type=sandbox.orphan_removed&limit=500").expect(200).json();
    assert_eq!(told["items"][9]["data"]["name"].as_str().unwrap().len(), 200);
    let next = told["next"].as_str().unwrap();
    let target = format!("/v1/events?type=sandbox.orphan_removed&limit=500&after={next}");
    let rest = server.get(&target).expect(200).json();
    let said = rest["items"].as_array().unwrap().iter().filter(|e| !e["data"]["last"].is_null());
    assert_eq!(said.count(), 1, "the last says that more are left out");
}

pub(crate) fn metrics_are_what_a_scraper_reads(server: Server) {
    let project = server.project("own");
    server.task(&project);
    server.get("/v1/tasks/nonsense");
    let reply = server.get("/metrics").expect(200);
    assert!(reply.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let samples = parse(std::str::from_utf8(&reply.body).unwrap());
    assert_eq!(samples["cofferdam_tasks{state=\"created\"}"], 1.0);
    assert_eq!(samples["cofferdam_events_total{type=\"task.created\"}"], 1.0);
    assert_eq!(
        samples["cofferdam_http_requests_total{method=\"GET\",route=\"/v1/tasks/{id}\",status=\"404\"}"],
        1.0
    );
    for name in [
        "cofferdam_queue_length",
        "cofferdam_running",
        "cofferdam_runners_online",
        "cofferdam_sandboxes_created_total",
        "cofferdam_sandboxes_orphaned_total",
        "cofferdam_fallbacks_total",
    ] {
        assert_eq!(samples[name], 0.0, "{name}");
    }
    let all = samples["cofferdam_http_request_duration_seconds_bucket{le=\"+Inf\"}"];
    assert_eq!(all, samples["cofferdam_http_request_duration_seconds_count"]);
    assert!(all >= 3.0);
}
