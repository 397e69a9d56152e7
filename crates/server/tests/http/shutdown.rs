//! A server that ends: what was begun is finished, streams and polls end, and nothing hangs.

use std::io::{BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::server::{Server, waiting_task};
use crate::wire::{Ask, Reply, chunk};

pub(crate) fn streams_and_polls_end_and_requests_are_finished(mut server: Server) {
    let (_, runner) = server.token("runner", "runner", None);
    let registered = Ask::post("/v1/runner/register", &json!({ "name": "r", "capacity": 1 }));
    let registered = registered.token(&runner).send(server.address).expect(200).json();
    let stream = Ask::get("/v1/events")
        .token(&server.admin)
        .header("Accept", "text/event-stream")
        .open(server.address);
    let claim = json!({ "runner": registered["runner"], "room": 1, "wait_ms": 30_000 });
    let poll = Ask::post("/v1/runner/claim", &claim).token(&runner).open(server.address);
    // Begun, and the rest of its body not sent yet.
    let body = json!({ "name": "late", "scopes": ["submit"] }).to_string();
    let ask = Ask::new("POST", "/v1/tokens")
        .token(&server.admin)
        .header("Content-Type", "application/json");
    let mut begun = ask.header("Content-Length", &body.len().to_string()).open(server.address);
    std::thread::sleep(Duration::from_millis(300));
    let finish = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        begun.write_all(body.as_bytes()).unwrap();
        Reply::read(&mut BufReader::new(begun), "POST")
    });
    let took = server.end();
    assert!(took < Duration::from_secs(5), "{took:?}");
    finish.join().unwrap().expect(201);
    let claims = Reply::read(&mut BufReader::new(poll), "POST").expect(200).json();
    assert_eq!(claims["claims"], json!([]));
    let mut stream = BufReader::new(stream);
    Reply::head(&mut stream).expect(200);
    while chunk(&mut stream).is_some() {}
    TcpStream::connect(server.address).expect_err("nobody listens any more");
}

pub(crate) fn who_never_finishes_is_cut_off(mut server: Server) {
    let ask = Ask::new("POST", "/v1/tokens")
        .token(&server.admin)
        .header("Content-Type", "application/json");
    let _hanging = ask.header("Content-Length", "100").open(server.address);
    let _silent = TcpStream::connect(server.address).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let took = server.end();
    assert!(took < Duration::from_secs(15), "{took:?}");
}

/// What runs is finished first, which may take a while: it is still answered, and nothing more is taken on.
pub(crate) fn a_server_that_will_end_makes_nothing_new(mut server: Server) {
    let project = server.project("own");
    let task = server.task(&project);
    let step =
        json!({ "name": "a", "task": { "execution_mode": "no-workspace", "command": ["true"] } });
    let template = json!({ "project": project, "name": "t", "steps": [step] });
    let template = server.post("/v1/workflow-templates", &template).expect(201).json();
    let run = json!({ "template": template["id"] });
    let made = server.post("/v1/workflow-runs", &run).expect(201).json();
    Ask::get("/readyz").send(server.address).expect(200);
    // Its head came before.
    let body = waiting_task(&project).to_string();
    let ask = Ask::new("POST", "/v1/tasks")
        .token(&server.admin)
        .header("Content-Type", "application/json");
    let mut begun = ask.header("Content-Length", &body.len().to_string()).open(server.address);
    std::thread::sleep(Duration::from_millis(300));
    server.leaving.cancel();
    begun.write_all(body.as_bytes()).unwrap();
    Reply::read(&mut BufReader::new(begun), "POST").expect(201);
    Ask::get("/readyz").send(server.address).refused(503, "stopping");
    Ask::get("/healthz").send(server.address).expect(200);
    let rerun = format!("/v1/workflow-runs/{}/rerun", made["id"].as_str().unwrap());
    for (target, body) in [
        ("/v1/tasks", waiting_task(&project)),
        ("/v1/workflow-runs", run),
        (rerun.as_str(), json!({ "only": ["a"] })),
        ("/v1/tokens", json!({ "name": "late", "scopes": ["submit"] })),
    ] {
        let refused = server.post(target, &body);
        assert!(refused.header("retry-after").is_some(), "{target}");
        refused.refused(503, "stopping");
    }
    Ask::post("/v1/tasks", &json!({})).send(server.address).refused(401, "no-token");
    server.get(&format!("/v1/tasks/{task}")).expect(200);
    server.send(Ask::new("POST", &format!("/v1/tasks/{task}/cancel"))).expect(200);
    server.end();
}
