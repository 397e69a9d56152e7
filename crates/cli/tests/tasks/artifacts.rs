//! What a task leaves for others: kept as it was written, and nothing else of the host.

use std::fs;
use std::os::unix::fs::symlink;

use cofferdam_core::control::state::TaskState;
use cofferdam_testkit::{TestEnv, wait_until};

use crate::path::git;
use crate::place::{BINARY, NATIVE, PATIENCE, Place, Signal};

#[test]
fn what_a_task_names_is_kept_and_comes_back_byte_for_byte() {
    let env = TestEnv::with_binary(BINARY);
    let mut place = Place::with(&env, None, &["--no-runner"]);
    let token = place.runner_token("one");
    let runner = place.runner("one", &token, &[]);
    let script = r#"mkdir -p out; printf 'a\000\377b' > out/data.bin; echo '{"score": 7}' > $COFFERDAM_RESULT; exit 3"#;
    let wanted = ["--artifact", "out/data.bin", "--artifact", "never.txt", "--result"];
    let task = place.task(&[&wanted, &NATIVE[..], &["--", "sh", "-c", script]].concat());
    let ended = place.ended(task);
    assert_eq!((ended.state, ended.result.exit_code), (TaskState::Failed, Some(3)), "{ended:#?}");
    let id = task.to_string();

    let list = place.run(&["task", "artifacts", &id, "--json"]).json();
    let names: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["out/data.bin", "result.json"], "{list:#}");
    assert_eq!(list["items"][0]["hash"], blake3::hash(b"a\0\xffb").to_hex().as_str());
    let fetched = place.run(&["task", "artifacts", &id, "--get", "out/data.bin"]);
    assert_eq!(fetched.assert_exit(0).stdout, b"a\0\xffb");
    let result = place.run(&["task", "artifacts", &id, "--get", "result.json"]);
    assert_eq!(result.stdout_text(), "{\"score\": 7}\n");
    let to = env.top().join("fetched");
    let words = ["task", "artifacts", &id, "--get", "out/data.bin", "-o", to.to_str().unwrap()];
    place.run(&words).assert_exit(0);
    assert_eq!(fs::read(&to).unwrap(), b"a\0\xffb");
    place.run(&words).assert_exit(1).assert_stderr_has("cannot write");
    let none = place.run(&["task", "artifacts", &id, "--get", "never.txt"]);
    none.assert_exit(1).assert_stderr_has("left no never.txt").assert_stderr_has("remedy: ");

    // What was named and not written is told, and so is what was kept; the end is what it was.
    let missing = place.events("artifact.missing");
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(missing[0]["data"]["name"], "never.txt");
    assert_eq!(place.events("artifact.stored").len(), 2);
    let client = place.client();
    let all = client.wait(client.client().artifacts(None)).unwrap();
    assert_eq!(all.items.len(), 2);
    place.chain_holds();
    place.keep(runner);
}

#[test]
fn nothing_of_the_host_comes_along() {
    let env = TestEnv::with_binary(BINARY);
    env.file(".env", "TOKEN=hunter2\n");
    env.file("old.txt", "of the host\n");
    env.file("secret.txt", "hunter2\n");
    symlink("/etc/passwd", env.workspace().join("passwd")).unwrap();
    for words in [&["init", "-q", "-b", "main"][..], &["add", "-f", "."], &["commit", "-qm", "one"]]
    {
        git(&env, words);
    }
    let place = Place::new(&env, None);
    place.run(&["project", "create", "shop"]).assert_exit(0);
    let script = "ln -s /etc/passwd link; ln -s .. up; mkdir dir; echo x > dir/x; echo new > new.txt; mkfifo pipe";
    let mut wanted = vec!["--project", "shop"];
    let names = [".env", "old.txt", "passwd", "link", "dir", "up/secret.txt", "pipe", "new.txt"];
    names.iter().for_each(|name| wanted.extend(["--artifact", name]));
    let task = place.task(&[&wanted[..], &NATIVE[..], &["--", "sh", "-c", script]].concat());
    let ended = place.ended(task);
    assert_eq!(ended.state, TaskState::Succeeded, "{ended:#?}");
    let id = task.to_string();
    let list = place.run(&["task", "artifacts", &id, "--json"]).json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list:#}");
    assert_eq!(list["items"][0]["name"], "new.txt");
    let missing = place.events("artifact.missing");
    assert_eq!(missing.len(), names.len() - 1, "{missing:#?}");

    // Paths that lead elsewhere are refused before anything is made, and so is what nobody could keep.
    for (more, field) in [
        (&["--artifact", "../secret.txt"][..], "artifacts[0]"),
        (&["--artifact", "/etc/passwd"], "artifacts[0]"),
        (&["--artifact", "a", "--artifact", "a"], "artifacts[1]"),
        (&["--artifact", "a", "--mode", "shared-workspace"], "artifacts"),
    ] {
        let words = [&["task", "create", "--project", "shop"], more, &["--", "true"]].concat();
        let refused = place.run(&words);
        refused.assert_exit(2).assert_stderr_has(&format!("field: {field}\n"));
    }
}

#[test]
fn what_is_too_large_and_what_is_secret_is_left_out() {
    let env = TestEnv::with_binary(BINARY);
    env.host_config("policy: {env: [API_KEY]}\n");
    let mut place = Place::with(&env, None, &["--no-runner"]);
    let token = place.runner_token("one");
    let mut command = env.cofferdam();
    command.env("API_KEY", "hunter2-and-more");
    let runner = place.runner_by(command, "one", &token, &[]);
    let script = "echo it is $API_KEY > said";
    let wanted = ["--artifact", "said", "--pass-env", "API_KEY"];
    let task = place.task(&[&wanted, &NATIVE[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(place.ended(task).state, TaskState::Succeeded);
    let said = place.run(&["task", "artifacts", &task.to_string(), "--get", "said"]);
    let said = said.stdout_text();
    assert!(said.starts_with("it is ") && !said.contains("hunter2"), "{said}");
    let script = "head -c 17000000 /dev/zero > large; echo small > small";
    let wanted = ["--artifact", "large", "--artifact", "small"];
    let task = place.task(&[&wanted, &NATIVE[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(place.ended(task).state, TaskState::Succeeded);
    let list = place.run(&["task", "artifacts", &task.to_string(), "--json"]).json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list:#}");
    let missing = place.events("artifact.missing");
    assert!(missing[0]["data"]["reason"].as_str().unwrap().contains("17000000"), "{missing:?}");
    place.keep(runner);
}

#[test]
fn what_a_killed_runner_had_is_handed_in_by_its_next_life() {
    let env = TestEnv::with_binary(BINARY);
    let mut place = Place::with(&env, None, &["--no-runner", "--lease", "60s"]);
    let token = place.runner_token("one");
    let mut runner = place.runner("one", &token, &[]);
    let script = "sleep 2; echo left > a.txt";
    let task =
        place.task(&[&["--artifact", "a.txt"], &NATIVE[..], &["--", "sh", "-c", script]].concat());
    let run = place.running(task).result.run.unwrap();
    // It ends while nobody hears of it, and whoever knows that is killed.
    place.signal_server(Signal::Stop);
    let record = env.top().join(format!("state-one/cofferdam/runs/{run}/record.json"));
    let is_over = wait_until(PATIENCE, || record.exists());
    runner.kill().unwrap();
    runner.wait().unwrap();
    place.signal_server(Signal::Continue);
    assert!(is_over, "the run never ended");
    let next = place.runner("one", &token, &[]);
    let ended = place.ended(task);
    assert_eq!((ended.state, ended.attempt), (TaskState::Succeeded, 1), "{ended:#?}");
    let fetched = place.run(&["task", "artifacts", &task.to_string(), "--get", "a.txt"]);
    assert_eq!(fetched.stdout_text(), "left\n");
    place.keep(next);
}

#[test]
fn a_task_that_is_canceled_is_asked_once_and_keeps_what_it_made() {
    let env = TestEnv::with_binary(BINARY);
    env.file("a.txt", "one\n");
    for words in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", "one"]] {
        git(&env, words);
    }
    let place = Place::new(&env, None);
    place.run(&["project", "create", "shop"]).assert_exit(0);
    // It needs a while to end, and notes each time that it is asked to.
    let script = "trap 'echo asked >> asked.txt' TERM; i=0; while [ $i -lt 3000 ]; do echo $i > f$i; i=$((i + 1)); done; \
        echo '<x/>' > rep.xml; echo up; while [ ! -e asked.txt ]; do sleep 0.05; done; \
        i=0; while [ $i -lt 60 ]; do sleep 0.05; i=$((i + 1)); done";
    let wanted = ["--project", "shop", "--artifact", "rep.xml", "--artifact", "asked.txt"];
    let task = place.task(&[&wanted, &NATIVE[..], &["--", "sh", "-c", script]].concat());
    let id = task.to_string();
    let is_up = || place.run(&["task", "logs", &id]).stdout_text().contains("up\n");
    assert!(wait_until(PATIENCE, is_up));
    place.run(&["task", "cancel", &id]).assert_exit(0);
    let ended = place.ended(task);
    assert_eq!(ended.state, TaskState::Canceled, "{ended:#?}");
    assert_eq!(place.events("changes.seal_failed").len(), 0);
    let changes = place.run(&["task", "changes", &id, "--json"]).json();
    assert_eq!(changes.as_array().unwrap().len(), 3002);
    let left = |name: &str| {
        place.run(&["task", "artifacts", &id, "--get", name]).stdout_text().into_owned()
    };
    assert_eq!((left("rep.xml"), left("asked.txt")), ("<x/>\n".to_owned(), "asked\n".to_owned()));
    assert_eq!(place.events("artifact.missing").len(), 0);
    place.chain_holds();
}
