//! What a request brings, when it is too much, too deep, or not what it says.

use std::io::{BufReader, Write as _};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::Server;
use crate::wire::{Ask, Reply};

pub(crate) fn the_field_that_is_wrong_is_named(server: Server) {
    let field = |body: serde_json::Value| {
        let problem = server.post("/v1/tasks", &body).refused(422, "invalid-field");
        (
            problem["field"].as_str().unwrap().to_owned(),
            problem["detail"].as_str().unwrap().to_owned(),
        )
    };
    let (at, detail) = field(json!({ "execution_mode": "no-workspace", "comand": [] }));
    assert!(at == "comand" && detail.contains("unknown field `comand`"), "{at}: {detail}");
    let block =
        json!({ "image": "a", "command": ["true"], "mounts": [{ "source": 1, "target": "/x" }] });
    assert_eq!(
        field(json!({ "execution_mode": "docker-sandbox", "sandbox": block })).0,
        "sandbox.mounts[0].source"
    );
    assert_eq!(field(json!({ "execution_mode": "everywhere" })).0, "execution_mode");
    assert_eq!(field(json!({ "execution_mode": "no-workspace", "priority": 1.5 })).0, "priority");
    let (_, detail) = field(json!({}));
    assert!(detail.contains("execution_mode"), "{detail}");
}

pub(crate) fn json_that_parsers_disagree_about_is_refused(server: Server) {
    let send =
        |text: &str| server.send(Ask::new("POST", "/v1/projects").body("application/json", text));
    for text in [
        r#"{"name": "a", "name": "b", "root_path": "/srv"}"#,
        r#"{"name": "a", "\u006eame": "b", "root_path": "/srv"}"#,
        r#"{"name": NaN}"#,
        r#"{"name": 1e999}"#,
        r#"{"name": "a",}"#,
        "{} {}",
        "\u{feff}{}",
        "nonsense",
        "\"\\ud800\"",
    ] {
        send(text).refused(400, "malformed");
    }
    send("[]").refused(422, "invalid-field");
    send("null").refused(422, "invalid-field");
    let settings =
        r#"{"execution_mode": "no-workspace", "command": ["true"], "settings": {"a": 1, "a": 2}}"#;
    server
        .send(Ask::new("POST", "/v1/tasks").body("application/json", settings))
        .refused(400, "malformed");
    server
        .send(Ask::new("POST", "/v1/projects").body("application/json", b"\xff\xfe".to_vec()))
        .refused(400, "malformed");
}

pub(crate) fn depth_is_bounded_cheaply(server: Server) {
    for text in [
        "[".repeat(10_000),
        "{\"a\":".repeat(10_000),
        format!("{}{}", "[".repeat(500_000), "]".repeat(500_000)),
    ] {
        let begun = Instant::now();
        let problem = server
            .send(Ask::new("POST", "/v1/projects").body("application/json", text))
            .refused(400, "malformed");
        assert!(problem["detail"].as_str().unwrap().contains("nested deeper"), "{problem}");
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
}

pub(crate) fn a_gigabyte_is_refused_before_it_is_sent_and_while_it_is(server: Server) {
    let begun = Instant::now();
    let announced = Ask::new("POST", "/v1/projects").header("Content-Type", "application/json");
    server.send(announced.header("Content-Length", "1073741824")).refused(413, "too-large");
    // Nobody says how much it will be.
    let ask = Ask::new("POST", "/v1/projects")
        .token(&server.admin)
        .header("Content-Type", "application/json");
    let mut stream = ask.header("Transfer-Encoding", "chunked").open(server.address);
    let piece = vec![b' '; 64 << 10];
    let mut sent = 0_u64;
    while sent < 1 << 30 {
        let written =
            write!(stream, "{:x}\r\n", piece.len()).and_then(|()| stream.write_all(&piece));
        if written.and_then(|()| stream.write_all(b"\r\n")).is_err() {
            break;
        }
        sent += piece.len() as u64;
    }
    assert!(sent < 64 << 20, "{sent} bytes were taken of what is refused after one mebibyte");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    server.get("/v1/me").expect(200);
}

pub(crate) fn a_body_just_over_the_limit_is_told_so(server: Server) {
    let text = format!("{{\"name\": \"{}\"}}", "a".repeat((1 << 20) - 11));
    assert!(text.len() > 1 << 20);
    let ask = Ask::new("POST", "/v1/projects")
        .token(&server.admin)
        .header("Content-Type", "application/json");
    let mut stream = ask.header("Transfer-Encoding", "chunked").open(server.address);
    write!(stream, "{:x}\r\n{text}\r\n0\r\n\r\n", text.len()).unwrap();
    Reply::read(&mut BufReader::new(stream), "POST").refused(413, "too-large");
}

pub(crate) fn an_answer_to_an_errand_may_be_larger_than_other_bodies(server: Server) {
    let answer = |length: usize| {
        let runner = "01jd0000000000000000000000";
        let body = json!({ "runner": runner, "result": "x".repeat(length), "problem": null });
        server.post("/v1/runner/errands/none", &body)
    };
    // It is read to its end: nobody waits for it.
    answer(15 << 20).refused(404, "not-found");
    let announced = Ask::new("POST", "/v1/runner/errands/none")
        .header("Content-Type", "application/json")
        .header("Content-Length", &((16 << 20) + 1).to_string());
    server.send(announced).refused(413, "too-large");
}

pub(crate) fn a_body_is_json_and_says_so(server: Server) {
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
    ] {
        server.send(Ask::new("POST", "/v1/projects").body(kind, "{}")).refused(415, "not-json");
        server
            .send(Ask::new("POST", "/v1/tasks/01jd0000000000000000000000/cancel").body(kind, ""))
            .refused(415, "not-json");
    }
    server
        .send(Ask::new("POST", "/v1/projects").header("Content-Length", "2").body_only("{}"))
        .refused(415, "not-json");
}

pub(crate) fn what_needs_no_body_takes_none(server: Server) {
    let project = server.project("own");
    let task = server.task(&project);
    let target = format!("/v1/tasks/{task}/cancel");
    server.post(&target, &json!({ "force": true })).refused(422, "invalid-field");
    server.post(&target, &json!({})).expect(200);
}

pub(crate) fn words_after_the_question_mark_are_checked_too(server: Server) {
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=x", "limit"),
        ("state=nowhere", "state"),
        ("colour=red", "colour"),
    ] {
        let problem = server.get(&format!("/v1/tasks?{query}")).refused(400, "invalid-query");
        assert_eq!(problem["field"], field, "{problem}");
    }
    server.get("/v1/tasks?limit=1&limit=2").refused(400, "invalid-query");
}

pub(crate) fn a_field_that_is_missing_is_named(server: Server) {
    let project = server.project("own");
    let step = json!({ "project": project, "name": "t", "steps": [{ "name": "a" }] });
    let block = json!({ "execution_mode": "docker-sandbox", "sandbox": { "image": "a" } });
    for (target, body, field) in [
        ("/v1/tasks", json!({}), "execution_mode"),
        ("/v1/tasks", block, "sandbox.command"),
        ("/v1/projects", json!({}), "name"),
        ("/v1/tokens", json!({}), "name"),
        ("/v1/roles", json!({}), "name"),
        ("/v1/workflow-templates", json!({}), "project"),
        ("/v1/workflow-templates", step, "steps[0].task"),
        ("/v1/workflow-runs", json!({}), "template"),
        ("/v1/tasks", json!([]), "body"),
    ] {
        let refused = server.post(target, &body).json();
        assert_eq!(refused["field"], field, "{target}: {refused}");
    }
}

/// What is said of an attempt is kept with it; a field that nobody knows is a mistake, and not something to pass over.
pub(crate) fn what_a_runner_says_is_known_to_the_last_field(server: Server) {
    let runner = server.post("/v1/runner/register", &json!({ "name": "one", "capacity": 1 }));
    let runner = runner.expect(200).json()["runner"].clone();
    let asked = json!({ "execution_mode": "no-workspace", "command": ["true"] });
    let task = server.post("/v1/tasks", &asked).expect(201).json()["id"].clone();
    let ask = json!({ "runner": runner, "room": 1, "wait_ms": 0 });
    let claim = server.post("/v1/runner/claim", &ask).expect(200).json();
    let report = json!({
        "attempt": 1, "fence": claim["claims"][0]["fence"], "seq": 1, "status": "running", "run": "01jrun",
    });
    let target = format!("/v1/runner/tasks/{}/status", task.as_str().unwrap());
    let counts = json!({ "created": 1, "modified": 0, "deleted": 0, "retyped": 0 });
    let mut more = counts.clone();
    more["foo"] = 1.into();
    for (name, value, field) in [("foo", json!(1), "foo"), ("changes", more, "changes.foo")] {
        let mut report = report.clone();
        report[name] = value;
        let problem = server.post(&target, &report).refused(422, "invalid-field");
        assert_eq!(problem["field"], field, "{problem}");
    }
    let mut report = report;
    report["changes"] = counts;
    let taken = server.post(&target, &report).expect(200).json();
    assert_eq!(taken["taken"], "accepted");
    let shown = server.get(&format!("/v1/tasks/{}", task.as_str().unwrap())).expect(200).json();
    assert_eq!((&shown["run"], &shown["changes"]["created"]), (&json!("01jrun"), &json!(1)));
    let answer = json!({ "runner": runner, "result": {}, "foo": 1 });
    let problem = server.post("/v1/runner/errands/x", &answer).refused(422, "invalid-field");
    assert_eq!(problem["field"], "foo", "{problem}");
}
