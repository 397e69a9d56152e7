//! `run` exits with the command's own code, or with the documented one of ours.

use std::process::Stdio;
use std::time::{Duration, Instant};

use cofferdam_testkit::{TestEnv, wait_until};

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

fn local(env: &TestEnv, args: &[&str]) -> cofferdam_testkit::Finished {
    env.run(["run", "--sandbox", "local"].iter().chain(args))
}

#[test]
fn the_commands_own_code() {
    let env = env();
    local(&env, &["--", "sh", "-c", "exit 7"]).assert_exit(7);
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "exited");
    assert_eq!(record["outcome"]["exit_code"], 7);
    local(&env, &["--", "true"]).assert_exit(0);
}

#[test]
fn not_found_and_not_executable() {
    let env = env();
    local(&env, &["--", "no-such-program"]).assert_exit(127).assert_stderr_has("not found");
    let plain = env.file("plain.txt", "no program");
    local(&env, &["--", plain.to_str().unwrap()]).assert_exit(126);
}

#[test]
fn a_missing_workdir_is_refused_and_not_the_commands_failure() {
    let env = env();
    local(&env, &["--workdir", "nowhere", "--", "true"])
        .assert_exit(125)
        .assert_stderr_has("remedy: name a directory");
    assert_eq!(env.latest_record()["outcome"]["class"], "refused");
}

#[test]
fn killed_by_a_signal() {
    let env = env();
    local(&env, &["--", "sh", "-c", "kill -SEGV $$"]).assert_exit(128 + 11);
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "signaled");
    assert_eq!(record["outcome"]["signal"], 11);
}

#[test]
fn a_timeout_ends_the_group_and_is_called_one() {
    let env = env();
    let begin = Instant::now();
    local(&env, &["--timeout", "1s", "--", "sh", "-c", "sleep 60 & sleep 60"]).assert_exit(124);
    // Started by us and not by a shell, which would clear the signals it was born with.
    local(&env, &["--timeout", "1s", "--", "sleep", "60"]).assert_exit(124);
    assert!(begin.elapsed() < Duration::from_secs(10), "a program that obeys is not waited for");
    assert_eq!(env.latest_record()["outcome"]["class"], "timed_out");
    let types: Vec<_> = env.events().iter().map(|e| e["type"].clone()).collect();
    assert!(types.contains(&"sandbox.timeout".into()), "{types:?}");
    assert!(types.contains(&"sandbox.stopping".into()), "{types:?}");
}

#[test]
fn one_that_ignores_the_request_is_killed_after_the_grace() {
    let env = env();
    env.host_config("sandbox: { stop_grace: 1s }");
    let script = "trap '' TERM; while :; do sleep 0.1; done";
    local(&env, &["--timeout", "1s", "--", "sh", "-c", script]).assert_exit(124);
    assert_eq!(env.latest_record()["outcome"]["signal"], 9);
}

#[test]
fn silence_is_a_timeout_where_it_was_asked_for() {
    let env = env();
    let talk = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done";
    local(&env, &["--idle-timeout", "1s", "--", "sh", "-c", talk]).assert_exit(0);
    local(&env, &["--idle-timeout", "1s", "--", "sleep", "30"]).assert_exit(124);
    assert!(env.latest_record()["outcome"]["message"].as_str().unwrap().contains("no output"));
}

#[test]
fn a_signal_to_us_ends_the_whole_group() {
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let env = env();
        let ready = env.workspace().join("ready");
        let script = "(sleep 60; true) & touch ready; sleep 60; true";
        let mut child = env
            .cofferdam()
            .args(["run", "--sandbox", "local", "--", "sh", "-c", script])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        assert!(wait_until(Duration::from_secs(10), || ready.exists()));
        let pid = child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "after {signal}");
        assert_eq!(env.latest_record()["outcome"]["class"], "canceled", "after {signal}");
        // Dropping the environment fails the test if a process of the run is left.
    }
}

#[test]
fn what_slips_out_of_the_group_is_found() {
    let env = env();
    let script = "setsid sh -c 'sleep 300 & sleep 300' & sleep 0.3; exit 4";
    local(&env, &["--", "sh", "-c", script]).assert_exit(4);
    assert_eq!(env.latest_record()["cleanup"]["receipt"], "terminated");
}

#[test]
fn wrong_usage_of_run_means_that_nothing_ran() {
    let env = env();
    env.run(["run", "--no-such-flag", "--", "true"])
        .assert_exit(125)
        .assert_stderr_has("--no-such-flag");
    env.run(["run", "--no-such-flag"]).assert_exit(125).assert_stderr_has("--no-such-flag");
    env.run(["run"]).assert_exit(125);
    assert!(env.runs().is_empty(), "nothing was even recorded as a command");
    // What follows the command is the command's, dashes or not.
    local(&env, &["sh", "-c", "exit $#", "--json", "--quiet", "x"]).assert_exit(2);
    let nowhere = ["--report", "/nonexistent/report.json", "--", "touch", "ran"];
    local(&env, &nowhere).assert_exit(125).assert_stderr_has("cannot write");
    assert!(!env.workspace().join("ran").exists());
    env.run(["runs", "--no-such-flag"]).assert_exit(2);
    env.run(["run", "--help"]).assert_exit(0);
}

/// Commands that run something, each in words that are right.
const RUNNING: [&[&str]; 5] = [
    &["run", "--", "true"],
    &["step", "test"],
    &["shell"],
    &["session", "start"],
    &["session", "exec", "last", "--", "true"],
];

#[test]
fn without_a_home_nothing_ran() {
    let env = env();
    let homeless = |words: &[&str]| {
        let mut command = env.cofferdam();
        command.args(words).env_remove("HOME");
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        env.finish(command)
    };
    for words in RUNNING {
        homeless(words).assert_exit(125).assert_stderr_has("set HOME");
    }
    homeless(&["runs"]).assert_exit(1);
    homeless(&["completions", "bash"]).assert_exit(0);
}

#[test]
fn in_a_directory_that_is_gone_nothing_ran_and_what_needs_none_works() {
    let env = env();
    let astray = |words: &[&str]| {
        let mut command = env.program("sh");
        command.args(["-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$@\"", "sh"]);
        command.arg(env.cofferdam().get_program()).args(words);
        env.finish(command)
    };
    for words in RUNNING {
        astray(words).assert_exit(125).assert_stderr_has("the current directory cannot be read");
    }
    astray(&["diff"]).assert_exit(1).assert_stderr_has("the current directory cannot be read");
    for words in [&["gc"][..], &["runs"], &["audit", "verify"], &["completions", "zsh"]] {
        astray(words).assert_exit(0);
    }
    let doctor = astray(&["doctor"]);
    assert!(doctor.stdout_text().contains("native"), "{doctor:?}");
}

#[test]
fn a_session_that_was_asked_for_in_wrong_words_did_not_start() {
    let env = env();
    env.run(["session", "start", "--frob"]).assert_exit(2);
    env.run(["session", "start", "--idle-stop", "0"])
        .assert_exit(2)
        .assert_stderr_has("1s or more");
    env.run(["session", "exec", "--frob"]).assert_exit(125);
}

#[test]
fn a_completion_script_that_cannot_be_written_is_an_error_and_no_panic() {
    let env = env();
    for shell in ["bash", "zsh", "fish"] {
        let mut full = env.cofferdam();
        full.args(["completions", shell]);
        full.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        let output = full.stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("No space left"), "{said}");

        let mut read = env.cofferdam();
        let mut read = read.args(["completions", shell]).stdout(Stdio::piped()).spawn().unwrap();
        drop(read.stdout.take());
        assert_eq!(read.wait().unwrap().code(), Some(0), "whoever read it has gone");
    }
}

#[test]
fn what_goes_wrong_for_want_of_a_name_or_a_file_says_what_to_type() {
    let env = env();
    env.file("bad.yaml", "sandbox: {modus: stage}\n");
    let stage = ["run", "--quiet", "--sandbox", "native", "--relax", "limits", "--"];
    env.run(stage.iter().chain(&["sh", "-c", "echo new > f"])).assert_exit(0);
    for (words, exit, remedy) in [
        (&["undo"][..], 1, "`cofferdam runs` lists them"),
        (&["apply", "--hunk", "x"], 2, "--hunk src/lib.rs:1,3"),
        (&["loop", "nofile"], 125, "docs/usage/loop.md"),
        (&["check", "nofile"], 1, "or `-` for standard input"),
    ] {
        let said = env.run(words);
        let text = said.assert_exit(exit).stderr_text().into_owned();
        let remedies: Vec<&str> = text.lines().filter(|l| l.starts_with("remedy: ")).collect();
        assert!(matches!(remedies[..], [one] if one.contains(remedy)), "{words:?}: {text}");
    }
    let said = env.run(["config", "check", "bad.yaml"]);
    said.assert_exit(1).assert_stdout_has("error: bad.yaml:1: ");
    said.assert_stdout_has("\nremedy: `cofferdam config reference` lists every key\n");
    assert!(env.run(["config", "check", "--json", "bad.yaml"]).json().is_array());
}

/// Whoever is told to throw something away for want of room may do so, and it was another's disk.
#[test]
fn a_full_place_for_our_own_words_is_no_reason_to_throw_anything_away() {
    let env = env();
    env.file("f", "old\n");
    let stage = ["run", "--quiet", "--sandbox", "native", "--relax", "limits", "--"];
    env.run(stage.iter().chain(&["sh", "-c", "echo new > f"])).assert_exit(0);
    for words in [
        &["runs"][..],
        &["runs", "--json"],
        &["show", "--json"],
        &["diff"],
        &["diff", "--json"],
        &["run", "--json", "--sandbox", "local", "--", "true"],
        &["completions", "bash"],
    ] {
        let mut full = env.cofferdam();
        full.args(words);
        full.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        let output = full.stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(
            said.contains("cannot write to standard output: No space left"),
            "{words:?}: {said}"
        );
        assert!(said.contains("send it elsewhere"), "{words:?}: {said}");
        assert!(!said.contains("discard") && !said.contains("gc"), "{words:?}: {said}");
    }
}

#[test]
fn a_variable_says_yes_and_no_in_any_words_and_a_wrong_one_is_named() {
    let env = env();
    let with = |value: &str| {
        let mut command = env.cofferdam();
        command.args(["run", "--sandbox", "local", "--", "true"]).env("COFFERDAM_QUIET", value);
        env.finish(command)
    };
    for yes in ["1", "true", "yes", "YES", "on"] {
        let said = with(yes).assert_exit(0).stderr_text().into_owned();
        assert!(!said.contains("exited on"), "{yes}: {said}");
    }
    for no in ["", "0", "false", "no", "off"] {
        with(no).assert_exit(0).assert_stderr_has("exited on");
    }
    with("perhaps").assert_exit(125).assert_stderr_has("COFFERDAM_QUIET is 'perhaps'");
    let mut dry = env.cofferdam();
    dry.args(["run", "--sandbox", "local", "--", "touch", "made"]).env("COFFERDAM_DRY_RUN", "1");
    env.finish(dry).assert_exit(0);
    assert!(!env.workspace().join("made").exists());
}

#[test]
fn a_report_or_a_workspace_of_the_wrong_kind_is_told_before_anything_runs() {
    let env = env();
    let file = env.file("notes", "");
    local(&env, &["--report", ".", "--", "touch", "made"])
        .assert_exit(125)
        .assert_stderr_has("it is a directory")
        .assert_stderr_has("remedy: name a file");
    assert!(!env.workspace().join("made").exists());
    local(&env, &["--workspace", file.to_str().unwrap(), "--", "true"])
        .assert_exit(125)
        .assert_stderr_has("notes is not a directory");
}
