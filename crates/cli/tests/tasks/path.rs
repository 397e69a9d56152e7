//! The way of a task in native sandboxes, in each mode.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cofferdam_core::control::state::TaskState;
use cofferdam_testkit::TestEnv;

use crate::place::{BINARY, NATIVE, Place};

pub(crate) fn git(env: &TestEnv, words: &[&str]) -> String {
    let said = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(words)
        .current_dir(env.workspace())
        .env("HOME", env.home())
        .output()
        .unwrap();
    assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

#[test]
fn in_a_worktree_of_its_own_from_request_to_apply() {
    let env = TestEnv::with_binary(BINARY);
    env.file("a.txt", "one\n");
    git(&env, &["init", "-q", "-b", "main"]);
    git(&env, &["add", "."]);
    git(&env, &["commit", "-qm", "one"]);
    let place = Place::new(&env, None);
    place.run(&["project", "create", "shop"]).assert_exit(0);
    let script = "echo two > a.txt; echo said; echo wrong >&2; git branch --show-current";
    let task =
        place.task(&[&["--project", "shop"], &NATIVE[..], &["--", "sh", "-c", script]].concat());
    let ended = place.ended(task);
    assert_eq!(ended.state, TaskState::Succeeded, "{ended:#?}");
    assert_eq!(ended.result.exit_code, Some(0));
    let id = task.to_string();
    let logs = place.run(&["task", "logs", "-f", &id]);
    assert_eq!(logs.stdout_text(), format!("said\ncofferdam/{id}\n"));
    assert_eq!(logs.stderr_text(), "wrong\n");

    // Nothing has reached any tree; what is shown is what `diff --json` of the host shows.
    assert_eq!(fs::read_to_string(env.workspace().join("a.txt")).unwrap(), "one\n");
    let tree = env.top().join(format!("state/cofferdam-runner/worktrees/{id}"));
    assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "one\n");
    let changes = place.run(&["task", "changes", &id, "--json"]).json();
    assert_eq!(changes.as_array().unwrap().len(), 1);
    assert_eq!(changes[0]["path"], "a.txt");
    let run = ended.result.run.unwrap();
    assert_eq!(changes, env.run(["diff", &run, "--json"]).json());
    assert!(place.run(&["task", "diff", &id, "a.txt"]).stdout_text().contains("+two"));

    // Without a look nothing needs none; with one it lands in the worktree, and comes back.
    place
        .run(&["task", "apply", &id])
        .assert_exit(3)
        .assert_stderr_has("was applied: 1 change waits for a look")
        .assert_stderr_has(&format!("task apply --reviewed {id}"));
    assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "one\n");
    place
        .run(&["task", "apply", "--reviewed", &id])
        .assert_exit(0)
        .assert_stdout("applied 1 modified\n");
    assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "two\n");
    assert_eq!(fs::read_to_string(env.workspace().join("a.txt")).unwrap(), "one\n");
    place.run(&["task", "undo", &id]).assert_exit(0);
    assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "one\n");
    place.run(&["task", "discard", &id]).assert_exit(0);
    assert!(!tree.exists(), "nothing will come home from it any more");
    assert!(!git(&env, &["worktree", "list"]).contains(&id));

    // Who did it stands in the host's own record, and the server's chain says the same.
    let events = env.run(["events", "--json"]);
    let events = events.stdout_text();
    assert!(events.contains("token:admin by user:"), "{events}");
    let audit = place.run(&["task", "audit", &id, "--json"]).json();
    let steps: Vec<&str> =
        audit["links"].as_array().unwrap().iter().map(|l| l["step"].as_str().unwrap()).collect();
    for step in ["request", "policy", "command", "change_set", "decision", "applied"] {
        assert!(steps.contains(&step), "{steps:?}");
    }
    // Of the tree itself: applied it is another than before, undone it is again what it was, and so it stays.
    let tree_of = |step: &str| {
        let mut newest_first = audit["links"].as_array().unwrap().iter().rev();
        let tree = newest_first.find(|link| link["step"] == step).map(|link| &link["value"]);
        let tree =
            tree.and_then(|tree| tree.as_str()).unwrap_or_else(|| panic!("{step}: {audit:#}"));
        assert_eq!(tree.len(), 64, "{step}: {tree}");
        tree.to_owned()
    };
    let [applied, undone, discarded] = ["applied", "undone", "discarded"].map(tree_of);
    assert_ne!(applied, undone);
    assert_eq!(undone, discarded);

    // Where it was worked is gone, and that is no failure.
    place
        .run(&["task", "discard", &id])
        .assert_exit(0)
        .assert_stdout("already discarded, nothing to do\n");
    for words in [&["task", "apply", "--reviewed", &id][..], &["task", "diff", &id]] {
        place.run(words).assert_exit(1).assert_stderr_has("was discarded");
    }
    place
        .run(&["task", "show", &id[18..]])
        .assert_exit(2)
        .assert_stderr_has("not the id of a task");
    place.chain_holds();
}

#[test]
fn a_shared_workspace_is_worked_on_and_an_empty_one_stays_empty() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::new(&env, None);
    place.run(&["project", "create", "shop"]).assert_exit(0);
    let shared = ["--project", "shop", "--mode", "shared-workspace"];
    let task = place.task(&[&shared, &NATIVE[..], &["--", "sh", "-c", "echo x > made"]].concat());
    assert_eq!(place.ended(task).state, TaskState::Succeeded);
    assert_eq!(fs::read_to_string(env.workspace().join("made")).unwrap(), "x\n");

    let none = place.task(&[&NATIVE[..], &["--", "sh", "-c", "ls; echo x > made"]].concat());
    let ended = place.ended(none);
    assert_eq!(ended.state, TaskState::Succeeded, "{ended:#?}");
    assert_eq!(ended.result.changes.unwrap().created, 1);
    assert_eq!(place.run(&["task", "logs", &none.to_string()]).stdout_text(), "");
    let refused = place.run(&["task", "apply", "--reviewed", &none.to_string()]);
    refused.assert_exit(1);
    assert!(refused.stderr_text().contains("nowhere to apply"), "{}", refused.stderr_text());
    let empty = env.top().join("state/cofferdam-runner/empty");
    assert_eq!(fs::read_dir(empty).unwrap().count(), 0);
}

#[test]
fn what_goes_wrong_is_said_and_told_apart() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::new(&env, None);
    let run = |words: &[&str]| place.ended(place.task(&[&NATIVE[..], words].concat()));
    let failed = run(&["--", "sh", "-c", "exit 3"]);
    assert_eq!((failed.state, failed.result.exit_code), (TaskState::Failed, Some(3)));
    assert_eq!(failed.result.message.as_deref(), Some("the command exited with 3"));
    let late = run(&["--timeout", "1s", "--", "sleep", "60"]);
    assert_eq!(late.state, TaskState::TimedOut);
    assert_eq!(late.result.outcome.as_deref(), Some("timed_out"));
    // An engine that does not answer is no word of policy: it is tried again where that is asked for.
    let away = ["--set", "sandbox.backend=docker", "--retries", "2", "--backoff", "1ms"];
    let again = [&away[..], &["--retry-on", "sandbox-failure", "--", "true"]].concat();
    let away = place.ended(place.task(&again));
    assert_eq!((away.state, away.attempt), (TaskState::Failed, 2), "{away:#?}");
    assert_eq!(away.result.outcome.as_deref(), Some("sandbox_failure"));
    assert_eq!(place.events("sandbox.failed").len(), 2, "once for each attempt");
    let unknown = run(&["--", "no-such-program"]);
    assert_eq!(unknown.state, TaskState::Failed);
    // A large output arrives whole and in order.
    let task = place.task(&[&NATIVE[..], &["--", "seq", "200000"]].concat());
    assert_eq!(place.ended(task).state, TaskState::Succeeded);
    let text = place.run(&["task", "logs", &task.to_string()]);
    let text = text.stdout_text();
    let expected: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    assert!(text == expected, "{} of {} bytes", text.len(), expected.len());
}

#[test]
fn a_cancel_arrives_at_once_and_is_confirmed() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::new(&env, None);
    let script = "trap 'echo bye; exit 1' TERM; echo up; while :; do sleep 0.05; done";
    let task = place.task(&[&NATIVE[..], &["--", "sh", "-c", script]].concat());
    place.running(task);
    let asked = Instant::now();
    place.run(&["task", "cancel", &task.to_string()]).assert_exit(0);
    let ended = place.ended(task);
    assert_eq!(ended.state, TaskState::Canceled, "{ended:#?}");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    let stopping = place.events("sandbox.stopping");
    assert_eq!(stopping.len(), 1, "{stopping:?}");
}

#[test]
fn a_forbidden_mount_is_refused_by_both_and_stands_in_the_timeline() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::new(&env, None);
    place.run(&["project", "create", "shop"]).assert_exit(0);
    let shared = ["--project", "shop", "--mode", "shared-workspace"];
    let words = [&["task", "create"], &shared[..], &NATIVE, &["--mount", "/etc:/x", "--", "true"]];
    let refused = place.run(&words.concat());
    refused.assert_exit(2);
    let said = refused.stderr_text();
    assert!(said.contains("rule: mount-forbidden") && said.contains("field:"), "{said}");
    assert_eq!(place.events("sandbox.rejected").len(), 1);

    // What the server could not know: the link leads out of the root when it is the runner's turn.
    fs::create_dir(env.workspace().join("data")).unwrap();
    let words = [&shared[..], &NATIVE, &["--hold", "--mount", "data:/x", "--", "true"]];
    let task = place.task(&words.concat());
    fs::remove_dir(env.workspace().join("data")).unwrap();
    env.symlink("/etc", "data");
    let dispatched = place.run(&["task", "dispatch", &task.to_string()]);
    dispatched.assert_exit(2);
    assert_eq!(place.events("sandbox.rejected").len(), 2);
    place.chain_holds();
}

#[test]
fn what_is_mounted_from_the_project_is_the_same_to_server_and_runner_wherever_the_task_works() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::new(&env, None);
    env.file("data/word", "from the root");
    git(&env, &["init", "--quiet"]);
    git(&env, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
    place.run(&["project", "create", "shop"]).assert_exit(0);
    let whole = format!("{}:/x", env.workspace().join("data").display());
    for mode in ["no-workspace", "isolated-worktree", "shared-workspace"] {
        for mount in [whole.as_str(), "data:/x"] {
            let asked = ["--project", "shop", "--mode", mode, "--mount", mount];
            let task = place.task(&[&asked[..], &NATIVE, &["--", "cat", "/x/word"]].concat());
            let ended = place.ended(task);
            assert_eq!(ended.state, TaskState::Succeeded, "{mode} {mount}: {ended:#?}");
            let said = place.run(&["task", "logs", &task.to_string()]);
            assert_eq!(said.stdout_text(), "from the root", "{mode} {mount}");
        }
    }
}

/// Its tree is staged wherever a task works: what a task writes is reviewed, and what is hidden stays hidden.
#[test]
fn a_mount_is_no_way_past_the_review_of_a_project() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::new(&env, None);
    env.file("data/word", "from the root");
    env.file(".env", "SECRET=1");
    git(&env, &["init", "--quiet"]);
    git(&env, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
    place.run(&["project", "create", "shop"]).assert_exit(0);
    for mode in ["no-workspace", "isolated-worktree"] {
        for (mount, why) in [
            ("data:/x:rw", "is part of the project, which is stage, and would be writable"),
            (".:/x", "would show what sandbox.blocked hides in the project"),
        ] {
            let asked = ["task", "create", "--project", "shop", "--mode", mode, "--mount", mount];
            let refused = place.run(&[&asked[..], &NATIVE, &["--", "true"]].concat());
            refused.assert_exit(2);
            assert!(
                refused.stderr_text().contains(why),
                "{mode} {mount}: {}",
                refused.stderr_text()
            );
        }
    }
    let asked = ["--project", "shop", "--mode", "shared-workspace", "--mount", "data:/x:rw"];
    let task = place.task(&[&asked[..], &NATIVE, &["--", "sh", "-c", "echo x > /x/y"]].concat());
    assert_eq!(place.ended(task).state, TaskState::Succeeded, "the twin, which writes directly");
}

#[test]
fn a_log_is_followed_through_all_attempts_and_ends_with_the_task() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::new(&env, None);
    let again = ["--hold", "--retries", "3", "--retry-on", "failed", "--backoff", "1ms"];
    let task = place.task(&[&NATIVE[..], &again, &["--", "sh", "-c", "echo no; exit 1"]].concat());
    let id = task.to_string();
    let mut follower = place.cofferdam();
    let follower = follower.args(["task", "logs", "-f", &id]).stdout(Stdio::piped());
    let follower = follower.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    place.run(&["task", "dispatch", &id]).assert_exit(0);
    assert_eq!(place.ended(task).attempt, 3);
    let said = follower.wait_with_output().unwrap();
    assert!(said.status.success());
    assert_eq!(String::from_utf8(said.stdout).unwrap(), "no\nno\nno\n");
    let again = place.run(&["task", "logs", "-f", &id]);
    assert_eq!(again.stdout_text(), "no\n", "of what is over, the last one");
    let first = place.run(&["task", "logs", "-f", "--attempt", "1", &id]);
    assert_eq!(first.stdout_text(), "no\n");
}
