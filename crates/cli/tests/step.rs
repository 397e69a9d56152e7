//! Steps: commands of the project by name, in order, under the rules of the file that names them.

use cofferdam_testkit::{TestEnv, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

const STEPS: &str = "\
steps:
  make: echo made > made
  show: [cat, made]
  fail: |
    false
    echo not reached
  pwd: {command: pwd, workdir: below}
  say: printf '%s|'
  slow: {command: sleep 60, timeout: 1s}
  greedy: {command: echo ok, timeout: 2h, env: {WORD: there}}
  word: {command: 'echo ${WORD-unset}', env: {WORD: there}}
";

fn place() -> TestEnv {
    let env = TestEnv::with_binary(BINARY);
    env.file("cofferdam.yaml", STEPS);
    env.file("below/kept", "");
    env
}

/// What it prints, where it ends so.
fn out(env: &TestEnv, words: &[&str], exit: i32) -> String {
    env.run(step(env, words)).assert_exit(exit).stdout_text().into_owned()
}

fn step(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let sandbox = claim::sandbox(env);
    ["step", "-q"].iter().chain(&sandbox).chain(words).map(ToString::to_string).collect()
}

#[test]
fn a_step_runs_as_a_command_does_and_has_its_exit_code() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("cofferdam.yaml", STEPS);
        env.file("below/kept", "");
        let before = env.tree_hash("");
        assert_eq!(out(env, &["pwd"], 0), "/workspace/below\n");
        assert_eq!(out(env, &["fail"], 1), "", "a shell stops at the line that fails");
        assert_eq!(out(env, &["say", "--", "a b", "$HOME"], 0), "a b|$HOME|");
        env.run(step(env, &["slow"])).assert_exit(124);
        assert_eq!(env.tree_hash(""), before);
    });
}

#[test]
fn of_several_each_begins_with_what_the_one_before_changed() {
    let env = place();
    let before = env.tree_hash("");
    assert_eq!(out(&env, &["make", "show"], 0), "made\n");
    assert_eq!(env.run(["diff", "--name-only"]).assert_exit(0).stdout_text(), "made\n");
    // The first that fails is the last, or not.
    assert_eq!(out(&env, &["fail", "make"], 1), "");
    assert_eq!(out(&env, &["make", "fail", "show", "--keep-going"], 1), "made\n");
    assert_eq!(env.tree_hash(""), before);
    let records = out(&env, &["make", "show", "--json"], 0);
    let codes: Vec<_> = records
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["outcome"]["exit_code"].clone()
        })
        .collect();
    assert_eq!(codes, [0, 0]);
}

#[test]
fn what_a_step_asks_for_needs_the_trust_that_its_file_needs() {
    let env = place();
    env.run(step(&env, &["greedy"])).assert_exit(0).assert_stderr_has("2h is looser than 10m");
    assert_eq!(out(&env, &["word"], 0), "unset\n");
    let shown = env.run(["trust"]).assert_exit(0).stdout_text().into_owned();
    assert!(shown.contains("loosens sandbox.timeout: 10m -> 2h"), "{shown}");
    assert!(shown.contains("for step greedy"), "{shown}");
    let trusted = env.run(step(&env, &["greedy"]));
    trusted.assert_exit(0);
    assert!(!trusted.stderr_text().contains("looser"), "{}", trusted.stderr_text());
    assert_eq!(out(&env, &["word"], 0), "there\n");
}

#[test]
fn what_is_not_clear_runs_nothing() {
    let env = place();
    for (words, said) in [
        (&["mak"][..], "there is no step mak (did you mean `make`?)"),
        (&["make", "none"], "the steps here are: fail, greedy, make"),
        (&["make", "show", "--report", "r.json"], "a report is about one run"),
        (&["make", "show", "--", "x"], "arguments can be added to one step only"),
        (&["--keep-going"], "NAME"),
    ] {
        env.run(step(&env, words)).assert_exit(125).assert_stderr_has(said);
    }
    assert_eq!(env.run(["runs", "--json"]).json().as_array().unwrap().len(), 0);
    let dry = env.run(step(&env, &["pwd", "--dry-run"])).assert_exit(0).json();
    assert_eq!(dry["workdir"], "/workspace/below", "{dry}");
}

#[test]
fn steps_are_listed() {
    let env = place();
    let listed = env.run(["step", "--list"]).assert_exit(0).stdout_text().into_owned();
    assert!(listed.contains("make    echo made > made\n"), "{listed}");
    let all = env.run(["step", "--list", "--json"]).assert_exit(0).json();
    let pwd = all.as_array().unwrap().iter().find(|step| step["name"] == "pwd").unwrap().clone();
    assert_eq!((&pwd["command"], &pwd["workdir"]), (&"pwd".into(), &"below".into()), "{pwd}");
    env.file("cofferdam.yaml", "");
    assert_eq!(env.run(["step", "--list", "--json"]).assert_exit(0).json(), serde_json::json!([]));
    env.run(["step", "test"]).assert_exit(125).assert_stderr_has("name commands under `steps`");
}
