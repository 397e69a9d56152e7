//! Several runners: one that is cut off, one that drains, and who may be one at all.

use std::fs;
use std::process::{Child, Command};
use std::time::Duration;

use cofferdam_core::control::state::TaskState;
use cofferdam_testkit::{TestEnv, wait_until};

use crate::place::{BINARY, NATIVE, PATIENCE, Place, Signal, signal};

/// Its lease runs out while it hears nothing; another takes the task over; what the first says later changes nothing.
#[test]
fn what_a_runner_holds_that_is_cut_off_is_lost_and_done_elsewhere() {
    let env = TestEnv::with_binary(BINARY);
    let mut place = Place::with(&env, None, &["--no-runner", "--lease", "2s"]);
    let (first, second) = (place.runner_token("first"), place.runner_token("second"));
    let cut = place.runner("first", &first, &[]);
    let words = ["--retries", "3", "--retry-on", "lost", "--backoff", "1ms"];
    let script = ["--", "sh", "-c", "sleep 1; echo done"];
    let task = place.task(&[&words, &NATIVE[..], &script].concat());
    place.running(task);
    signal(&cut, Signal::Stop);
    let other = place.runner("second", &second, &[]);
    let ended = place.until(task, |task| task.state == TaskState::Succeeded);
    assert!(ended.attempt >= 2, "{ended:#?}");
    signal(&cut, Signal::Continue);
    // It has a moment to say what it thinks it knows.
    std::thread::sleep(Duration::from_secs(2));
    let client = place.client();
    let attempts = client.wait(client.client().attempts(task)).unwrap().items;
    assert_eq!(attempts[0].state, TaskState::Lost, "{attempts:#?}");
    let good = attempts.iter().filter(|attempt| attempt.state == TaskState::Succeeded).count();
    assert_eq!(good, 1, "{attempts:#?}");
    let now = place.show(task).unwrap();
    assert_eq!((now.state, now.attempt), (TaskState::Succeeded, ended.attempt));
    place.keep(cut);
    place.keep(other);
    place.chain_holds();
}

/// A launcher that is killed together with its runner leaves what it had prepared; the next runner removes that, and the
/// server hears of it.
#[test]
fn what_a_killed_runner_left_is_removed_by_the_next_and_counted() {
    let env = TestEnv::with_binary(BINARY);
    let mut place = Place::with(&env, None, &["--no-runner"]);
    let token = place.runner_token("one");
    let mut first = place.runner("one", &token, &[]);
    let fine = place.task(&[&NATIVE[..], &["--", "true"]].concat());
    assert_eq!(place.ended(fine).state, TaskState::Succeeded);
    for kind in ["sandbox.started", "sandbox.cleanup"] {
        assert_eq!(place.events(kind).len(), 1, "{kind}");
    }
    let task = place.task(&[&NATIVE[..], &["--", "sleep", "300"]].concat());
    place.running(task);
    // It must not come to clean up after its launcher, nor the launcher after itself.
    signal(&first, Signal::Stop);
    for child in children(&first) {
        assert!(Command::new("kill").args(["-KILL", &child]).status().unwrap().success());
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(place.events("sandbox.orphan_removed").is_empty());
    let next = place.runner("one", &token, &[]);
    assert_eq!(place.ended(task).state, TaskState::Lost);
    let removed = place.events("sandbox.orphan_removed");
    assert!(!removed.is_empty(), "nobody heard of it");
    assert_eq!(removed[0]["actor"], "runner:one", "{removed:#?}");
    for one in &removed {
        assert_eq!(one["data"]["kind"], "sandbox", "{one:#}");
    }
    place.keep(next);
    place.chain_holds();
}

fn children(of: &Child) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{}/task", of.id())).unwrap();
    let lists = threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("children")));
    let lists: Vec<String> = lists.map(Result::unwrap).collect();
    lists.iter().flat_map(|list| list.split_whitespace()).map(str::to_owned).collect()
}

#[test]
fn a_runner_that_is_told_to_end_finishes_what_runs_and_takes_nothing_new() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::with(&env, None, &["--no-runner"]);
    let token = place.runner_token("one");
    let mut runner = place.runner("one", &token, &["--capacity", "1"]);
    let task = place.task(&[&NATIVE[..], &["--", "sh", "-c", "sleep 1; echo done"]].concat());
    place.running(task);
    let waiting = place.task(&[&NATIVE[..], &["--", "true"]].concat());
    signal(&runner, Signal::Terminate);
    assert_eq!(place.ended(task).state, TaskState::Succeeded);
    assert!(runner.wait().unwrap().success());
    assert_eq!(place.show(waiting).unwrap().state, TaskState::Queued);

    // Told twice, it does not wait: what ran is lost, and nothing of it is left.
    let mut runner = place.runner("one", &token, &[]);
    assert_eq!(place.ended(waiting).state, TaskState::Succeeded);
    let long = place.task(&[&NATIVE[..], &["--", "sleep", "300"]].concat());
    place.running(long);
    signal(&runner, Signal::Terminate);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(runner.try_wait().unwrap(), None, "it waits for what runs");
    signal(&runner, Signal::Terminate);
    assert!(wait_until(PATIENCE, || runner.try_wait().unwrap().is_some()));
    assert_eq!(place.ended(long).state, TaskState::Lost);
}

#[test]
fn a_runner_needs_a_token_of_its_own_and_a_name() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::with(&env, None, &["--no-runner"]);
    let made = place.run(&["token", "create", "reader", "--scope", "submit"]);
    let reader = made.stdout_text().trim().to_owned();
    let try_with = |token: &str, args: &[&str]| {
        let mut command = place.cofferdam();
        command.env("COFFERDAM_TOKEN", token).arg("runner").args(args);
        env.finish(command)
    };
    let url = place.cofferdam().get_envs().find_map(|(name, value)| {
        (name == "COFFERDAM_SERVER").then(|| value.unwrap().to_str().unwrap().to_owned())
    });
    let api = ["--api", url.as_deref().unwrap()];
    let refused = try_with(&reader, &api);
    refused.assert_exit(1);
    assert!(refused.stderr_text().contains("scope"), "{}", refused.stderr_text());
    try_with("nonsense", &api).assert_exit(1);
    try_with(&reader, &["--api", "http://192.0.2.1"]).assert_exit(2);
    try_with(&reader, &["--api", "nonsense"]).assert_exit(2);
    try_with(&reader, &[&api[..], &["--name", "../x"]].concat()).assert_exit(1);
    let argv = try_with(&reader, &[&api[..], &["--token", "x"]].concat());
    argv.assert_exit(2);

    // The same name at the same time is refused on the host already.
    let token = place.runner_token("one");
    let mut first = place.runner("one", &token, &[]);
    let client = place.client();
    assert!(wait_until(PATIENCE, || {
        client.wait(client.client().runners()).is_ok_and(|page| !page.items.is_empty())
    }));
    let mut second = place.runner("one", &token, &[]);
    assert!(!second.wait().unwrap().success());
    signal(&first, Signal::Terminate);
    assert!(first.wait().unwrap().success());
}

#[test]
fn a_server_that_is_told_to_end_takes_no_more_tasks() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::new(&env, None);
    let script = "while ! [ -e go ]; do sleep 0.05; done; echo done";
    place.run(&["project", "create", "shop"]).assert_exit(0);
    let shared = ["--project", "shop", "--mode", "shared-workspace"];
    let task = place.task(&[&shared, &NATIVE[..], &["--", "sh", "-c", script]].concat());
    place.running(task);
    place.signal_server(Signal::Terminate);
    let words = [&["task", "create"], &NATIVE[..], &["--", "true"]].concat();
    let refused = wait_until(Duration::from_secs(5), || {
        place.run(&words).stderr_text().contains("the server is stopping")
    });
    assert!(refused, "it goes on to take tasks");
    assert_eq!(place.show(task).unwrap().state, TaskState::Running, "and to answer");
    env.file("go", "");
    let gone = wait_until(Duration::from_secs(20), || place.show(task).is_err());
    assert!(gone, "it ends once what ran is over");
}
