//! Versions, repetitions and pages.

use serde_json::json;

use crate::server::{Server, waiting_task};
use crate::wire::Ask;

pub(crate) fn a_thing_is_replaced_only_by_who_has_seen_it(server: Server) {
    let id = server.project("own");
    let target = format!("/v1/projects/{id}");
    let shown = server.get(&target).expect(200);
    let (tag, project) = (shown.header("etag").unwrap().to_owned(), shown.json());
    server.send(Ask::get(&target).header("If-None-Match", &tag)).expect(304);
    let new = json!({ "name": "renamed", "root_path": project["root_path"] });
    let put = |tag: &str| server.send(Ask::new("PUT", &target).header("If-Match", tag).json(&new));
    let replaced = put(&tag).expect(200);
    assert_eq!(replaced.json()["name"], "renamed");
    assert_ne!(replaced.header("etag").unwrap(), tag);
    put(&tag).expect(412);
    put("\"nonsense\"").expect(412);
    put("nonsense").refused(400, "bad-tag");
    put("W/\"1\"").expect(412);
    let remove = |tag: &str| server.send(Ask::new("DELETE", &target).header("If-Match", tag));
    remove(&tag).expect(412);
    remove(replaced.header("etag").unwrap()).expect(204);
    server.get(&target).refused(404, "not-found");
}

pub(crate) fn the_same_create_with_the_same_key_is_one(server: Server) {
    let project = server.project("own");
    let create =
        |key: &str, body| server.send(Ask::post("/v1/tasks", body).header("Idempotency-Key", key));
    let body = waiting_task(&project);
    let first = create("k-1", &body).expect(201);
    let again = create("k-1", &body).expect(201);
    assert_eq!(first.json()["id"], again.json()["id"]);
    assert_eq!(first.header("location"), again.header("location"));
    server.get(first.header("location").unwrap()).expect(200);
    assert_ne!(create("k-2", &body).expect(201).json()["id"], first.json()["id"]);
    let mut other = body.clone();
    other["priority"] = json!(7);
    create("k-1", &other).refused(422, "key-reused");
    // A key is its token's: who guesses one learns nothing.
    let (_, secret) = server.token("other", "submit", None);
    let theirs = Ask::post("/v1/tasks", &body)
        .header("Idempotency-Key", "k-1")
        .token(&secret)
        .send(server.address);
    assert_ne!(theirs.expect(201).json()["id"], first.json()["id"]);
    let long = "k".repeat(201);
    for key in ["", "a b", &long] {
        assert_eq!(create(key, &body).expect(422).json()["field"], "Idempotency-Key");
    }
    let all = server.get("/v1/tasks").expect(200).json();
    assert_eq!(all["items"].as_array().unwrap().len(), 3);
}

pub(crate) fn the_same_key_makes_no_second_token_and_shows_no_secret_again(server: Server) {
    let create =
        |key: &str, body| server.send(Ask::post("/v1/tokens", body).header("Idempotency-Key", key));
    let body = json!({ "name": "ci", "scopes": ["submit"] });
    let made = create("k-1", &body).expect(201).json();
    let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    for _ in 0..2 {
        let again = create("k-1", &body);
        assert!(!String::from_utf8_lossy(&again.body).contains("cofferdam_"), "{again:?}");
        let problem = again.expect(409).json();
        assert!(problem["detail"].as_str().unwrap().contains(id), "{problem}");
        assert!(problem["remedy"].as_str().unwrap().contains("revoke"), "{problem}");
    }
    Ask::get("/v1/me").token(secret).send(server.address).expect(200);
    let other = json!({ "name": "ci", "scopes": ["admin"] });
    create("k-1", &other).refused(422, "key-reused");
    let known = |server: &Server| {
        let all = server.get("/v1/tokens").expect(200).json();
        all["items"].as_array().unwrap().iter().filter(|token| token["name"] == "ci").count()
    };
    assert_eq!(known(&server), 1);
    create("k-2", &body).expect(201);
    assert_eq!(known(&server), 2, "another key is another token");
}

pub(crate) fn tokens_and_runners_come_in_pages_too(server: Server) {
    for at in 0..5 {
        let (_, secret) = server.token(&format!("host-{at}"), "runner", None);
        let body = json!({ "name": format!("host-{at}"), "capacity": 1 });
        Ask::post("/v1/runner/register", &body).token(&secret).send(server.address).expect(200);
    }
    let names = |target: &str| {
        let (mut names, mut after) = (Vec::new(), String::new());
        loop {
            let page = server.get(&format!("{target}?limit=2{after}")).expect(200).json();
            let items = page["items"].as_array().unwrap();
            assert!((1..=2).contains(&items.len()), "{page}");
            names.extend(items.iter().map(|item| item["name"].as_str().unwrap().to_owned()));
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return names,
            }
        }
    };
    assert_eq!(names("/v1/runners"), ["host-0", "host-1", "host-2", "host-3", "host-4"]);
    assert_eq!(names("/v1/tokens"), ["admin", "host-0", "host-1", "host-2", "host-3", "host-4"]);
    for target in ["/v1/runners", "/v1/tokens"] {
        server.get(&format!("{target}?limit=0")).refused(400, "invalid-query");
        server.get(&format!("{target}?after=nonsense")).refused(422, "refused");
        server.get(&format!("{target}?most=3")).expect(400);
    }
}

pub(crate) fn pages_hold_everything_once(server: Server) {
    let project = server.project("own");
    let mut made: Vec<String> = (0..7).map(|_| server.task(&project)).collect();
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1/tasks?limit=3{after}")).expect(200).json();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 3);
        seen.extend(items.iter().map(|task| task["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    made.sort();
    seen.sort();
    assert_eq!(made, seen);
    let wrong = server.get("/v1/tasks?after=nonsense");
    assert!((400..500).contains(&wrong.status), "{wrong:?}");
}

pub(crate) fn a_version_that_is_known_is_said_as_http_says_it(server: Server) {
    let target = format!("/v1/projects/{}", server.project("own"));
    let tag = server.get(&target).expect(200).header("etag").unwrap().to_owned();
    let ask = |known: &str| server.send(Ask::get(&target).header("If-None-Match", known));
    for known in [
        tag.clone(),
        format!("W/{tag}"),
        format!("\"a,b\", W/\"7\",{tag}"),
        format!("{tag} , \"x\""),
        "*".to_owned(),
    ] {
        assert_eq!(ask(&known).expect(304).header("etag"), Some(tag.as_str()), "{known}");
    }
    let bare = tag.trim_matches('"');
    for other in ["\"x\"", "W/\"x\", \"y\"", bare, "\"*\"", "", "\"", &format!("\"a,{tag}\"")] {
        ask(other).expect(200);
    }
    let twice = Ask::get(&target).header("If-None-Match", "\"x\"").header("If-None-Match", &tag);
    server.send(twice).expect(304);
}
