//! The record is append-only and tamper-evident, also with many writers.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::process::Stdio;

use cofferdam_testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

fn some_runs(env: &TestEnv) -> Vec<String> {
    for n in ["1", "2", "3"] {
        env.run(["run", "--sandbox", "local", "--", "echo", n]).assert_exit(0);
    }
    env.run(["audit", "verify"]).assert_exit(0);
    let log = fs::read_to_string(env.state_dir().join("audit.jsonl")).unwrap();
    log.lines().map(str::to_owned).collect()
}

/// Writes the lines back and returns the number of the first bad record.
fn first_bad(env: &TestEnv, lines: &[String]) -> u64 {
    fs::write(env.state_dir().join("audit.jsonl"), lines.join("\n") + "\n").unwrap();
    env.run(["audit", "verify"]).assert_exit(1).assert_stderr_has("record ");
    let answer = env.run(["audit", "verify", "--json"]);
    answer.assert_exit(1);
    answer.json()["first_bad"]["seq"].as_u64().unwrap()
}

#[test]
fn flipped_deleted_reordered_truncated() {
    let env = env();
    let lines = some_runs(&env);
    let count = lines.len() as u64;
    assert!(count >= 12, "{count} records");

    let mut flipped = lines.clone();
    flipped[4] = flipped[4].replacen("sandbox", "sandbax", 1);
    assert!(flipped[4] != lines[4]);
    assert_eq!(first_bad(&env, &flipped), 5);

    let mut deleted = lines.clone();
    deleted.remove(6);
    assert_eq!(first_bad(&env, &deleted), 7);

    let mut reordered = lines.clone();
    reordered.swap(2, 3);
    assert_eq!(first_bad(&env, &reordered), 3);

    assert_eq!(first_bad(&env, &lines[..lines.len() - 1]), count);
    assert_eq!(first_bad(&env, &lines[..3]), 4);

    fs::write(env.state_dir().join("audit.jsonl"), lines.join("\n") + "\n").unwrap();
    env.run(["audit", "verify"]).assert_exit(0);
}

#[test]
fn a_cut_log_is_found_without_its_head_too() {
    let env = env();
    let lines = some_runs(&env);
    fs::remove_file(env.state_dir().join("audit.head")).unwrap();
    assert_eq!(first_bad(&env, &lines[..2]), 3, "the runs' own records know of later events");
}

/// The log speaks of files; one that is not what it says is found, whatever it was changed to.
#[test]
fn a_changed_record_output_or_run_is_found() {
    let env = env();
    some_runs(&env);
    let run = env.runs().pop().unwrap();
    let dir = env.state_dir().join("runs").join(run);
    let altered = |name: &str| {
        env.run(["audit", "verify"]).assert_exit(1).assert_stderr_has(name);
    };
    for (name, from, to) in
        [("record.json", "\"exit_code\": 0", "\"exit_code\": 9"), ("stdout", "3", "4")]
    {
        let path = dir.join(name);
        let before = fs::read_to_string(&path).unwrap();
        fs::write(&path, before.replacen(from, to, 1)).unwrap();
        assert_ne!(fs::read_to_string(&path).unwrap(), before);
        altered(name);
        fs::write(&path, before).unwrap();
        env.run(["audit", "verify"]).assert_exit(0);
    }
    fs::rename(&dir, env.top().join("gone")).unwrap();
    altered("record.json");
    fs::rename(env.top().join("gone"), &dir).unwrap();
    let head = env.state_dir().join("audit.head");
    let before = fs::read(&head).unwrap();
    fs::write(&head, "garbled").unwrap();
    altered("audit.head");
    fs::write(&head, before).unwrap();
    env.run(["audit", "verify"]).assert_exit(0);
}

#[test]
fn a_log_that_lost_its_last_newline_is_not_glued_to_the_next_line() {
    let env = env();
    let lines = some_runs(&env);
    fs::write(env.state_dir().join("audit.jsonl"), lines.join("\n")).unwrap();
    some_runs(&env);
}

#[test]
fn an_anchor_kept_elsewhere_finds_a_log_that_was_written_anew() {
    let env = env();
    let lines = some_runs(&env);
    let anchor = env.run(["audit", "head"]).stdout_text().trim().to_owned();
    env.run(["audit", "verify", "--anchor", &anchor]).assert_exit(0);
    let other = TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"));
    assert!(some_runs(&other).len() >= lines.len());
    other.run(["audit", "verify", "--anchor", &anchor]).assert_exit(1);
    other.run(["audit", "verify", "--anchor", "nonsense"]).assert_exit(2);
}

#[test]
fn an_export_can_be_verified_on_its_own() {
    let env = env();
    let lines = some_runs(&env);
    let file = env.top().join("export.jsonl");
    env.run(["audit", "export", "--output", file.to_str().unwrap()]).assert_exit(0);
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), lines.len());
    env.run(["audit", "verify", "--file", file.to_str().unwrap()]).assert_exit(0);
    let text = fs::read_to_string(&file).unwrap().replacen("exited", "Exited", 1);
    fs::write(&file, text).unwrap();
    env.run(["audit", "verify", "--file", file.to_str().unwrap()]).assert_exit(1);
}

#[test]
fn a_hundred_runs_at_once() {
    let env = env();
    let children: Vec<_> = (0..100)
        .map(|n| {
            env.cofferdam()
                .args(["run", "--quiet", "--sandbox", "local", "--", "sh", "-c"])
                .arg(format!("echo {n}; exit {}", n % 50))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for (n, mut child) in children.into_iter().enumerate() {
        assert_eq!(child.wait().unwrap().code(), Some(i32::try_from(n % 50).unwrap()));
    }
    assert_eq!(env.runs().len(), 100);
    env.run(["audit", "verify"]).assert_exit(0);
    let listed = env.run(["runs", "--limit", "0", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 100);
    assert!(listed.as_array().unwrap().iter().all(|r| r["outcome"]["class"] == "exited"));
}

#[test]
fn an_event_of_a_type_that_there_is_not_is_wrong_usage() {
    let env = env();
    some_runs(&env);
    env.run(["events", "--type", "frob"]).assert_exit(2).assert_stderr_has("sandbox.started");
    let started = env.run(["events", "--type", "sandbox.started", "--json"]);
    assert!(started.assert_exit(0).stdout_text().contains("sandbox.started"));
}

/// What cannot be written whole leaves no beginning of it: that would look like a log that somebody changed.
#[test]
fn a_record_that_does_not_fit_leaves_nothing_of_itself() {
    let env = env();
    let before = some_runs(&env);
    let log = env.state_dir().join("audit.jsonl");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    // A bound on the size of files stops a write in the middle, as a full disk does.
    let bound = fs::metadata(&log).unwrap().len() + 100;
    let mut bounded = env.program("sh");
    let script = format!("trap '' XFSZ; exec prlimit --fsize={bound} \"$@\"");
    bounded.args([
        "-c",
        &script,
        "sh",
        env!("CARGO_BIN_EXE_cofferdam"),
        "gc",
        "--older-than",
        "1s",
        "--pending",
    ]);
    env.finish(bounded).assert_exit(1).assert_stderr_has("File too large");
    let text = fs::read_to_string(&log).unwrap();
    assert_eq!(text, before.join("\n") + "\n");
    env.run(["audit", "verify"]).assert_exit(0);
    env.run(["gc", "--older-than", "1s", "--pending"]).assert_exit(0);
    assert!(!env.events().iter().any(|event| event["type"] == "audit.recovered"));
    env.run(["audit", "verify"]).assert_exit(0);
}

/// The writer died in the middle of a line, and nobody has written since.
#[test]
fn an_interrupted_write_is_not_taken_for_tampering() {
    let env = env();
    let lines = some_runs(&env);
    let log = env.state_dir().join("audit.jsonl");
    let whole = lines.join("\n") + "\n";
    fs::write(&log, whole.clone() + "{\"seq\":99,\"ts\"").unwrap();
    env.run(["audit", "verify"]).assert_exit(0).assert_stdout_has("its last 14 bytes");
    let answer = env.run(["audit", "verify", "--json"]);
    assert_eq!(answer.assert_exit(0).json()["torn_bytes"], 14);
    // With a record that is known to have been written it is another matter.
    fs::write(&log, &whole[..whole.len() - 20]).unwrap();
    env.run(["audit", "verify"]).assert_exit(1).assert_stderr_has("audit.head knows of it");
}
