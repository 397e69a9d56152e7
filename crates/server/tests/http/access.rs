//! Who may: tokens, scopes, projects, and ids that are somebody else's or nobody's.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::{Server, waiting_task};
use crate::wire::Ask;

const NOBODYS: &str = "01jd0000000000000000000000";

pub(crate) fn without_a_token_there_is_nothing_but_the_doors(server: Server) {
    for target in ["/v1/me", "/v1/tasks", "/v1/events", "/metrics", "/v1/audit/verify"] {
        let reply = Ask::get(target).send(server.address);
        assert_eq!(
            reply.header("www-authenticate"),
            Some("Bearer realm=\"cofferdam\""),
            "{target}"
        );
        reply.refused(401, "no-token");
    }
    for value in [
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic YTpi",
        &format!("Bearer {}x", server.admin),
        &"Bearer x".repeat(2000),
    ] {
        Ask::get("/v1/me")
            .header("Authorization", value)
            .send(server.address)
            .refused(401, "no-token");
    }
    // Which of two counts is not guessed; and a token in the target would be in every log.
    server.send(Ask::get("/v1/me").token("other")).refused(401, "no-token");
    Ask::get(&format!("/v1/me?token={}", server.admin))
        .send(server.address)
        .refused(401, "no-token");
    for target in ["/healthz", "/readyz", "/openapi.json", "/docs"] {
        Ask::get(target).send(server.address).expect(200);
    }
    let me = server.get("/v1/me").expect(200).json();
    assert_eq!((&me["actor"], &me["scopes"]), (&json!("token:admin"), &json!(["admin"])));
}

pub(crate) fn a_scope_does_what_it_says_and_no_more(server: Server) {
    let project = server.project("own");
    let as_scope = |scope: &str| server.token(scope, scope, None).1;
    let (submit, review, runner) = (as_scope("submit"), as_scope("review"), as_scope("runner"));
    let ask = |secret: &str, ask: Ask| ask.token(secret).send(server.address);
    ask(&submit, Ask::post("/v1/tasks", &waiting_task(&project))).expect(201);
    ask(&review, Ask::get("/v1/tasks")).expect(200);
    ask(&review, Ask::post("/v1/tasks", &waiting_task(&project))).refused(403, "forbidden");
    ask(&runner, Ask::get("/v1/tasks")).refused(403, "forbidden");
    ask(&runner, Ask::get("/v1/events")).refused(403, "forbidden");
    ask(&runner, Ask::get("/v1/events").header("Accept", "text/event-stream"))
        .refused(403, "forbidden");
    for secret in [&submit, &review, &runner] {
        ask(secret, Ask::post("/v1/tokens", &json!({ "name": "x", "scopes": ["admin"] })))
            .refused(403, "forbidden");
        ask(secret, Ask::get("/v1/tokens")).refused(403, "forbidden");
        ask(secret, Ask::post("/v1/projects", &json!({ "name": "x", "root_path": "/srv" })))
            .refused(403, "forbidden");
    }
    let register = json!({ "name": "r", "capacity": 1 });
    ask(&submit, Ask::post("/v1/runner/register", &register)).refused(403, "forbidden");
    ask(&runner, Ask::post("/v1/runner/register", &register)).expect(200);
}

/// They are of all projects: whoever is bound to some learns nothing of the others by their number.
pub(crate) fn counts_are_for_whoever_may_know_of_all(server: Server) {
    let project = server.project("own");
    let metrics = |secret: &str| Ask::get("/metrics").token(secret).send(server.address);
    for scope in ["admin", "submit", "review"] {
        let free = server.token(scope, scope, None).1;
        metrics(&free).expect(200);
        let bound = server.token(&format!("{scope}-bound"), scope, Some(&[&project])).1;
        let problem = metrics(&bound).refused(403, "forbidden");
        assert!(problem["detail"].as_str().unwrap().contains("bound to projects"), "{problem}");
    }
    let runner = server.token("runner", "runner", None).1;
    metrics(&runner).refused(403, "forbidden");
}

pub(crate) fn what_is_another_projects_is_not_there(server: Server) {
    let (own, other) = (server.project("own"), server.project("other"));
    let (task, _) = (server.task(&other), server.task(&own));
    let (_, secret) = server.token("one", "submit", Some(&[&own]));
    let (_, reviewer) = server.token("two", "review", Some(&[&own]));
    let reads = ["", "/attempts", "/audit", "/events", "/logs", "/artifacts"];
    let asks = reads.map(|end| ("GET", format!("/v1/tasks/{{}}{end}"), &secret));
    let does = ["dispatch", "cancel", "retry"]
        .map(|verb| ("POST", format!("/v1/tasks/{{}}/{verb}"), &secret));
    let changes = ["apply", "discard", "undo"]
        .map(|verb| ("POST", format!("/v1/tasks/{{}}/{verb}"), &reviewer));
    for (method, form, secret) in asks.iter().chain(&does).chain(&changes) {
        let answer = |id: &str| {
            let reply =
                Ask::new(method, &form.replace("{}", id)).token(secret).send(server.address);
            let mut problem = reply.refused(404, "not-found");
            problem["request_id"].take();
            problem
        };
        assert_eq!(answer(&task), answer(NOBODYS), "{method} {form}");
    }
    let listed = Ask::get("/v1/tasks").token(&secret).send(server.address).expect(200).json();
    let listed: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|task| &task["project"]).collect();
    assert_eq!(listed, [&json!(own)]);
    let made = Ask::post("/v1/tasks", &waiting_task(&other)).token(&secret).send(server.address);
    let unknown =
        Ask::post("/v1/tasks", &waiting_task(NOBODYS)).token(&secret).send(server.address);
    let (mut made, mut unknown) = (made.json(), unknown.json());
    made["request_id"].take();
    unknown["request_id"].take();
    assert_eq!(made, unknown);
    let text = Ask::get("/v1/events?limit=500")
        .token(&secret)
        .send(server.address)
        .expect(200)
        .json()
        .to_string();
    assert!(!text.contains(&task) && !text.contains(&other), "{text}");
}

pub(crate) fn paths_that_are_no_ids_lead_nowhere(server: Server) {
    let overlong = "a".repeat(5000);
    for id in [
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..%2f",
        "%00",
        "01jd%00",
        "%ff%fe",
        "1",
        "last",
        "%20",
        "01JD0000000000000000000000",
        "' OR 1=1--".replace(' ', "%20").as_str(),
        &overlong,
    ] {
        server.get(&format!("/v1/tasks/{id}")).refused(404, "not-found");
        server.send(Ask::new("DELETE", &format!("/v1/tokens/{id}"))).refused(404, "not-found");
        let reply = server.get(&format!("/v1/artifacts/{id}"));
        reply.refused(404, "not-found");
    }
    for target in [
        "/v1/../v1/me",
        "/v1/%2e%2e/me",
        "//v1/me",
        "/V1/me",
        "/v1/me/",
        "/v1",
        "/.env",
        "/docs/../../etc/passwd",
    ] {
        server.get(target).refused(404, "not-found");
    }
    let reply = server.send(Ask::new("DELETE", "/v1/tasks"));
    assert_eq!(reply.header("allow"), Some("GET,HEAD,POST"));
    reply.refused(405, "method-not-allowed");
}

#[test]
fn a_token_that_asks_too_often_waits_and_others_do_not() {
    let server = Server::with(|settings| settings.rate = Some(5));
    let (_, other) = server.token("other", "submit", None);
    let many: Vec<_> = (0..30).map(|_| server.get("/v1/me")).collect();
    let refused =
        many.into_iter().find(|reply| reply.status == 429).expect("five a second are not thirty");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    refused.refused(429, "too-many");
    Ask::get("/v1/me").token(&other).send(server.address).expect(200);
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(wait));
    server.get("/v1/me").expect(200);
    assert!(begun.elapsed() < Duration::from_secs(5));
}
