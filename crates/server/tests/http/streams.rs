//! Streams: nothing lost, nothing twice, and nothing for who may no longer see it.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::Server;
use crate::wire::{Ask, Reply, chunk};

/// An open stream, read message by message.
struct Messages {
    from: BufReader<TcpStream>,
    text: String,
}

#[derive(Debug, PartialEq)]
struct Message {
    id: String,
    data: Value,
}

impl Messages {
    #[track_caller]
    fn open(server: &Server, secret: &str, target: &str, last: Option<&str>) -> Self {
        let ask = Ask::get(target).token(secret).header("Accept", "text/event-stream");
        let ask = last.into_iter().fold(ask, |ask, last| ask.header("Last-Event-ID", last));
        let mut from = BufReader::new(ask.open(server.address));
        let head = Reply::head(&mut from).expect(200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        Self { from, text: String::new() }
    }

    /// The next one; `None` once the stream has ended.
    fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let message: String = self.text.drain(..end + 2).collect();
                let field = |name: &str| {
                    message.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
                };
                match field("data:") {
                    // Only a sign of life.
                    None => continue,
                    Some(data) => {
                        let id = field("id:").unwrap_or_default().to_owned();
                        return Some(Message { id, data: serde_json::from_str(data).unwrap() });
                    }
                }
            }
            self.text.push_str(std::str::from_utf8(&chunk(&mut self.from)?).unwrap());
        }
    }
}

pub(crate) fn a_stream_goes_on_where_it_was_cut_off(server: Server) {
    let project = server.project("own");
    let writer = std::thread::scope(|scope| {
        scope.spawn(|| (0..30).map(|_| server.task(&project)).collect::<Vec<_>>());
        let (mut seen, mut last) = (Vec::new(), None::<String>);
        let begun = Instant::now();
        // Each connection is cut after a few messages, in the middle of the writing.
        while seen.len() < 28 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", seen.len());
            let mut messages =
                Messages::open(&server, &server.admin, "/v1/events", last.as_deref());
            for _ in 0..7 {
                let message = messages.next().expect("it goes on");
                assert_eq!(message.id, message.data["seq"].to_string());
                last = Some(message.id);
                seen.push(message.data["seq"].as_u64().unwrap());
            }
        }
        seen
    });
    let whole: Vec<u64> = (1..=writer.len() as u64).collect();
    assert_eq!(writer, whole, "each once, in order");
}

/// Of a task's output too: cut off after any piece, it goes on with the next, and ends with the attempt.
pub(crate) fn output_goes_on_where_it_was_cut_off(server: Server) {
    let (_, runner) = server.token("runner", "runner", None);
    let tell = |target: &str, body: Value| {
        Ask::post(target, &body).token(&runner).send(server.address).expect(200).json()
    };
    let one = tell("/v1/runner/register", json!({ "name": "r", "capacity": 1 }));
    let body = json!({ "execution_mode": "no-workspace", "command": ["true"] });
    let made = server.post("/v1/tasks", &body).expect(201).json();
    let id = made["id"].as_str().unwrap();
    let ask = json!({ "runner": one["runner"], "room": 1, "wait_ms": 10_000 });
    let claims = tell("/v1/runner/claim", ask);
    let fence = &claims["claims"][0]["fence"];
    let status = |seq: u64, status: &str| {
        let body = json!({ "attempt": 1, "fence": fence, "seq": seq, "status": status });
        tell(&format!("/v1/runner/tasks/{id}/status"), body);
    };
    let say = |seq: u64, data: &str| {
        let body =
            json!({ "attempt": 1, "fence": fence, "seq": seq, "stream": "stdout", "data": data });
        tell(&format!("/v1/runner/tasks/{id}/logs"), body);
    };
    status(1, "running");
    // "a\n", "b\n", "c\n".
    say(0, "YQo=");
    say(1, "Ygo=");
    let target = format!("/v1/tasks/{id}/logs");
    let mut stream = Messages::open(&server, &server.admin, &target, None);
    let first = stream.next().unwrap();
    assert_eq!(first.data["text"], "a\n");
    drop(stream);
    say(2, "Ywo=");
    status(2, "succeeded");
    let mut rest = Messages::open(&server, &server.admin, &target, Some(&first.id));
    let texts: Vec<Value> =
        std::iter::from_fn(|| rest.next()).map(|message| message.data["text"].clone()).collect();
    assert_eq!(texts, ["b\n", "c\n"]);
    let wrong = Ask::get(&target).token(&server.admin).header("Accept", "text/event-stream");
    wrong.header("Last-Event-ID", "x").send(server.address).expect(400);
}

/// Through all attempts: the pieces of each are counted anew, and none is lost to who was cut off before.
pub(crate) fn output_goes_on_with_the_next_attempt(server: Server) {
    let (_, runner) = server.token("runner", "runner", None);
    let tell = |target: &str, body: Value| {
        Ask::post(target, &body).token(&runner).send(server.address).expect(200).json()
    };
    let one = tell("/v1/runner/register", json!({ "name": "r", "capacity": 1 }));
    let body = json!({
        "execution_mode": "no-workspace", "command": ["true"],
        "retry": { "max_attempts": 2, "on": ["failed"], "backoff_ms": 0 },
    });
    let made = server.post("/v1/tasks", &body).expect(201).json();
    let id = made["id"].as_str().unwrap();
    let target = format!("/v1/tasks/{id}/logs");
    let mut stream = Messages::open(&server, &server.admin, &target, None);
    // "a\n", "b\n", "c\n".
    for (attempt, end) in [(1, "failed"), (2, "succeeded")] {
        let ask = json!({ "runner": one["runner"], "room": 1, "wait_ms": 10_000 });
        let fence = tell("/v1/runner/claim", ask)["claims"][0]["fence"].clone();
        for (seq, data) in ["YQo=", "Ygo=", "Ywo="].into_iter().enumerate() {
            let body = json!({ "attempt": attempt, "fence": fence, "seq": seq, "stream": "stdout", "data": data });
            tell(&format!("/v1/runner/tasks/{id}/logs"), body);
        }
        let body = json!({ "attempt": attempt, "fence": fence, "seq": 1, "status": end });
        tell(&format!("/v1/runner/tasks/{id}/status"), body);
    }
    let ids = |messages: &mut Messages| -> Vec<String> {
        std::iter::from_fn(|| messages.next()).map(|message| message.id).collect()
    };
    let all = ["1.0", "1.1", "1.2", "2.0", "2.1", "2.2"];
    assert_eq!(ids(&mut stream), all, "who followed from the beginning");
    let after = |target: &str, last: &str| {
        ids(&mut Messages::open(&server, &server.admin, target, Some(last)))
    };
    for seen in 0..all.len() {
        assert_eq!(after(&target, all[seen]), all[seen + 1..], "cut off after {}", all[seen]);
    }
    assert_eq!(after(&target, "1"), ["2.2"], "a number alone is of the last attempt");
    let first = format!("{target}?attempt=1");
    assert_eq!(after(&first, "1.1"), ["1.2"], "only what was asked for");
    let ask = Ask::get(&first).header("Accept", "text/event-stream");
    server.send(ask.header("Last-Event-ID", "2.0")).refused(400, "bad-event-id");
}

pub(crate) fn what_is_asked_for_is_what_comes(server: Server) {
    let (own, other) = (server.project("own"), server.project("other"));
    let mut messages =
        Messages::open(&server, &server.admin, &format!("/v1/events?project={own}"), None);
    server.task(&other);
    let task = server.task(&own);
    let seen: Vec<Message> = std::iter::from_fn(|| messages.next())
        .take_while(|message| message.data["task"] != task)
        .collect();
    assert!(seen.iter().all(|message| message.data["project"] == own), "{seen:?}");
    let begins = server.get("/v1/events?limit=1").expect(200).json()["items"][0]["seq"].clone();
    assert_eq!(begins, 1);
    server
        .send(
            Ask::get("/v1/events")
                .header("Accept", "text/event-stream")
                .header("Last-Event-ID", "x"),
        )
        .refused(400, "bad-event-id");
}

pub(crate) fn a_stream_ends_with_its_token(server: Server) {
    let (id, secret) = server.token("short", "submit", None);
    let mut messages = Messages::open(&server, &secret, "/v1/events", None);
    messages.next().expect("there are events");
    server.send(Ask::new("DELETE", &format!("/v1/tokens/{id}"))).expect(204);
    let begun = Instant::now();
    let project = server.project("after");
    let rest: Vec<Message> = std::iter::from_fn(|| messages.next()).collect();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(!rest.iter().any(|message| message.data["project"] == project), "{rest:?}");
    Ask::get("/v1/me").token(&secret).send(server.address).refused(401, "no-token");
}

pub(crate) fn a_stream_shows_nothing_of_other_projects(server: Server) {
    let (own, other) = (server.project("own"), server.project("other"));
    let (_, secret) = server.token("one", "submit", Some(&[&own]));
    let mut messages = Messages::open(&server, &secret, "/v1/events", None);
    server.task(&other);
    let task = server.task(&own);
    let mut projects = BTreeSet::new();
    loop {
        let message = messages.next().expect("it goes on");
        projects.insert(message.data["project"].to_string());
        if message.data["task"] == task {
            break;
        }
    }
    assert_eq!(projects, BTreeSet::from([format!("\"{own}\"")]));
}

pub(crate) fn many_quiet_readers_cost_no_answers(server: Server) {
    let streams: Vec<_> =
        (0..100).map(|_| Messages::open(&server, &server.admin, "/v1/events", None)).collect();
    let project = server.project("own");
    for mut messages in streams {
        while messages.next().expect("it goes on").data["project"] != project {}
    }
}
