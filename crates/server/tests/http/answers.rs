//! Every kind of answer that the description of the API knows, as the server really gives it: it is what it is said to be.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::server::Server;
use crate::wire::Ask;

/// Asks, and holds what comes against the description.
struct Reader<'a> {
    server: &'a Server,
    api: Value,
    /// Schemas of which a value was seen.
    seen: BTreeSet<String>,
}

/// The place of a schema in the description.
const SCHEMAS: &str = "#/components/schemas/";

impl Reader<'_> {
    /// `path` is written as in the description; `id` takes the place of `{id}` there.
    #[track_caller]
    fn send(&mut self, method: &str, path: &str, id: &str, ask: impl FnOnce(Ask) -> Ask) -> Value {
        let reply = self.server.send(ask(Ask::new(method, &path.replace("{id}", id))));
        assert!(reply.status < 300, "{method} {path}: {}", String::from_utf8_lossy(&reply.body));
        let path = path.split('?').next().unwrap();
        let described = &self.api["paths"][path][method.to_lowercase()]["responses"];
        let described = &described[reply.status.to_string()];
        assert!(described.is_object(), "{method} {path}: nothing is said of {}", reply.status);
        let kind = reply.header("content-type").unwrap_or_default().to_owned();
        let value = if reply.body.is_empty() { Value::Null } else { reply.json() };
        if let Some(name) = described["content"][&kind]["schema"]["$ref"].as_str() {
            let name = name.strip_prefix(SCHEMAS).unwrap().to_owned();
            self.holds(&name, &value);
            if let Some(items) = value["items"].as_array() {
                assert!(!items.is_empty(), "{method} {path}: an empty page says nothing");
            }
        }
        value
    }

    #[track_caller]
    fn holds(&mut self, name: &str, value: &Value) {
        let schema = json!({
            "$ref": format!("{SCHEMAS}{name}"), "components": self.api["components"],
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        let wrong: Vec<String> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}\n{value:#}");
        self.seen.insert(name.to_owned());
    }

    #[track_caller]
    fn get(&mut self, path: &str, id: &str) -> Value {
        self.send("GET", path, id, |ask| ask)
    }

    #[track_caller]
    fn post(&mut self, path: &str, id: &str, body: &Value) -> Value {
        self.send("POST", path, id, |ask| ask.json(body))
    }

    /// What the description has answers of, and a refusal.
    fn known(&self) -> BTreeSet<String> {
        let mut known = BTreeSet::from(["Problem".to_owned()]);
        for item in self.api["paths"].as_object().unwrap().values() {
            for operation in item.as_object().unwrap().values() {
                let responses = operation["responses"].as_object().unwrap();
                for response in responses.values() {
                    let name = response["content"]["application/json"]["schema"]["$ref"].as_str();
                    known.extend(
                        name.and_then(|name| name.strip_prefix(SCHEMAS)).map(str::to_owned),
                    );
                }
            }
        }
        known
    }
}

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

#[test]
fn every_answer_is_what_the_description_says() {
    let server = Server::start();
    let project = server.project("own");
    let api = serde_json::from_str(&cofferdam_server::http::openapi().unwrap()).unwrap();
    let mut reader = Reader { server: &server, api, seen: BTreeSet::new() };

    for path in ["/healthz", "/readyz", "/v1/me", "/v1/projects", "/v1/tokens"] {
        reader.get(path, "");
    }
    reader.get("/v1/projects/{id}", &project);
    reader.get("/v1/projects/{id}/policy", &project);
    let role = json!({
        "name": "dev", "ceiling": { "memory_limit": "64g" },
        "settings": { "sandbox.network": "none" }, "overridable": [],
    });
    let role = reader.post("/v1/roles", "", &role);
    reader.get("/v1/roles/{id}", &id(&role));
    reader.get("/v1/roles", "");
    reader.post(
        "/v1/tokens",
        "",
        &json!({ "name": "ci", "scopes": ["submit"], "projects": [project] }),
    );
    let runner = json!({ "name": "one", "labels": ["a"], "capacity": 4, "host": { "cpus": 2 } });
    let runner = reader.post("/v1/runner/register", "", &runner);
    let runner = runner["runner"].as_str().unwrap().to_owned();

    // A task of which everything is said, from its question to its end.
    let asked = json!({
        "project": project, "title": "t", "execution_mode": "isolated-worktree", "command": ["true"],
        "role": "dev", "settings": { "sandbox.backend": "native" }, "artifacts": ["rep.xml"],
        "result": true, "priority": 3, "retry": { "max_attempts": 2, "on": ["lost"], "backoff_ms": 5 },
        "requires_approval": true, "timeout": "5m", "deadline": "2100-01-01T00:00:00Z", "labels": ["a"],
    });
    let task = id(&reader.post("/v1/tasks", "", &asked));
    let question = id(&reader.get("/v1/approvals", "")["items"][0]);
    reader.get("/v1/approvals/{id}", &question);
    reader.post("/v1/approvals/{id}/approve", &question, &json!({ "comment": "go on" }));
    let claim =
        reader.post("/v1/runner/claim", "", &json!({ "runner": runner, "room": 4, "wait_ms": 0 }));
    let fence = claim["claims"][0]["fence"].as_str().unwrap().to_owned();
    let mut report = json!({
        "attempt": 1, "fence": fence, "seq": 1, "status": "running", "run": "01jrun",
        "started_at": "2030-01-01T00:00:00Z", "backend": "native",
    });
    reader.post("/v1/runner/tasks/{id}/status", &task, &report);
    let held = json!({ "runner": runner, "holding": [{ "task": task, "attempt": 1 }] });
    reader.post("/v1/runner/heartbeat", "", &held);
    let piece =
        json!({ "attempt": 1, "fence": fence, "seq": 0, "stream": "stdout", "data": "/w==" });
    reader.post("/v1/runner/tasks/{id}/logs", &task, &piece);
    let upload = "/v1/runner/tasks/{id}/artifacts?attempt=1&name=rep.xml&media_type=text/plain";
    reader.send("POST", upload, &task, |ask| {
        ask.header("Cofferdam-Fence", &fence).body("application/octet-stream", "<x/>")
    });
    let ended = json!({
        "seq": 2, "status": "failed", "exit_code": 3, "outcome": "exited", "message": "it exited with 3",
        "finished_at": "2030-01-01T00:00:01Z", "output_tail": "x", "container_id": "c0ffee",
        "changes": { "created": 1, "modified": 0, "deleted": 0, "retyped": 0, "manifest": "ab" },
        "plan": { "backend": "native" }, "effective": {}, "receipt": [], "usage": {},
        "events": [{ "type": "changes.sealed", "created": 1 }],
    });
    report.as_object_mut().unwrap().extend(ended.as_object().unwrap().clone());
    reader.post("/v1/runner/tasks/{id}/status", &task, &report);
    for path in ["", "/attempts", "/audit", "/events", "/logs", "/artifacts"] {
        reader.get(&format!("/v1/tasks/{{id}}{path}"), &task);
    }
    for path in ["/v1/tasks", "/v1/artifacts", "/v1/runners", "/v1/overview", "/v1/events"] {
        reader.get(path, "");
    }
    reader.get("/v1/runners/{id}", &runner);
    reader.get("/v1/audit/verify", "");

    // The other forms of a task: what a container is asked for, what is held back, what is canceled.
    let contained = json!({
        "project": project, "execution_mode": "docker-sandbox", "dispatch": false,
        "sandbox": { "image": "debian:13", "command": ["true"], "env": { "A": "b" }, "memory": "1G", "pids": 64 },
    });
    let contained = id(&reader.post("/v1/tasks", "", &contained));
    reader.post("/v1/tasks/{id}/dispatch", &contained, &json!({}));
    reader.post("/v1/tasks/{id}/cancel", &contained, &json!({}));
    reader.post("/v1/tasks", "", &json!({ "execution_mode": "no-workspace", "command": ["true"] }));

    let step = json!({ "execution_mode": "no-workspace", "command": ["true"] });
    let template = json!({
        "project": project, "name": "build",
        "steps": [
            { "name": "a", "task": step },
            { "name": "b", "depends_on": ["a"], "when": "always", "task": step },
        ],
    });
    let template = id(&reader.post("/v1/workflow-templates", "", &template));
    reader.get("/v1/workflow-templates/{id}", &template);
    reader.get("/v1/workflow-templates", "");
    let run =
        reader.post("/v1/workflow-runs", "", &json!({ "template": template, "title": "nightly" }));
    for verb in ["pause", "resume", "abort"] {
        reader.post(&format!("/v1/workflow-runs/{{id}}/{verb}"), &id(&run), &json!({}));
    }
    reader.get("/v1/workflow-runs/{id}", &id(&run));
    reader.post("/v1/workflow-runs/{id}/rerun", &id(&run), &json!({ "only": ["a"] }));
    reader.get("/v1/workflow-runs", "");

    let problem = server.get("/v1/tasks/nonsense").refused(404, "not-found");
    reader.holds("Problem", &problem);
    let unseen: Vec<_> = reader.known().difference(&reader.seen).cloned().collect();
    assert!(unseen.is_empty(), "no answer was seen of these: {unseen:?}");
}

/// What a runner says of an attempt is read by a form of its own: the description has all of it, and nothing else.
#[test]
fn what_a_runner_reports_is_described_whole() {
    let api: Value = serde_json::from_str(&cofferdam_server::http::openapi().unwrap()).unwrap();
    let names = |schema: &str| -> BTreeSet<String> {
        let schema = &api["components"]["schemas"][schema]["properties"];
        schema.as_object().unwrap().keys().cloned().collect()
    };
    let mut reported = names("StatusReport");
    assert_eq!(api["components"]["schemas"]["StatusReport"]["additionalProperties"], false);
    for own in ["attempt", "fence", "seq", "status", "events"] {
        assert!(reported.remove(own), "{own}");
    }
    assert_eq!(reported, names("AttemptResult"));
    assert_eq!(names("ReportedChanges"), names("ChangeCounts"));
}
