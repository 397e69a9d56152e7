//! `cofferdam check` as a command: what it prints, how it exits, and who may set what.

use std::io::Write as _;
use std::process::Stdio;

use cofferdam_testkit::TestEnv;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const ALIASED: &str = "from os import system as s\ns('ls')\n";

fn env() -> TestEnv {
    TestEnv::with_binary(BINARY)
}

/// The exit code of a check of what comes in.
fn fed(env: &TestEnv, args: &[&str], input: &[u8]) -> Option<i32> {
    let mut command = env.cofferdam();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    // It may have gone away without reading.
    child.stdin.take().expect("it has an input").write_all(input).ok();
    child.wait().expect("it ends").code()
}

#[test]
fn findings_fail_the_check_and_warnings_do_not() {
    let env = env();
    env.file("a.py", ALIASED);
    env.file("b.py", "import socket\n");
    env.file("c.py", "import math\n");
    env.run(["check", "a.py"]).assert_exit(1);
    env.run(["check", "b.py"]).assert_exit(0);
    env.run(["check", "--deny", "python/*", "b.py"]).assert_exit(1);
    env.run(["check", "c.py"]).assert_exit(0).assert_stdout("1 file, 0 denied, 0 warnings\n");
    let report = env.run(["check", "--json", "."]).assert_exit(1).json();
    assert_eq!(report["verdict"], "deny");
    let files = report["files"].as_array().unwrap();
    assert_eq!(files.len(), 3, "in order, and nothing but code: {report}");
    assert_eq!(files[0]["findings"][1]["rule"], "python/process");
    assert_eq!(files[0]["findings"][1]["line"], 2);
}

#[test]
fn sarif_names_rules_and_places() {
    let env = env();
    env.file("a.py", ALIASED);
    let log = env.run(["check", "--sarif", "a.py"]).assert_exit(1).json();
    assert_eq!(log["version"], "2.1.0");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "python/process");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a.py");
    assert_eq!(place["region"]["startLine"], 1);
}

#[test]
fn standard_input_needs_a_language() {
    let env = env();
    assert_eq!(fed(&env, &["check", "-"], b"eval(x)"), Some(2));
    assert_eq!(fed(&env, &["check", "--language", "python", "-"], b"eval(x)"), Some(1));
    assert_eq!(fed(&env, &["check", "--language", "sh", "-"], b"rm -rf /"), Some(1));
    assert_eq!(fed(&env, &["check", "--language", "js", "-"], b"eval(x)"), Some(1));
    assert_eq!(fed(&env, &["check", "--language", "cobol", "-"], b""), Some(2));
}

#[test]
fn bad_input_is_told_with_a_remedy() {
    let env = env();
    env.run(["check", "missing.py"]).assert_exit(1).assert_stderr_has("missing.py");
    env.file("data.bin", "x");
    env.run(["check", "data.bin"]).assert_exit(2).assert_stderr_has("--language");
    env.run(["check"]).assert_exit(2);
    env.run(["check", "--profile", "hard", "data.bin"]).assert_exit(2);
    env.file("bad.yml", "id: x\n");
    env.file("a.py", "x = 1\n");
    env.run(["check", "--rules", "bad.yml", "a.py"]).assert_exit(2).assert_stderr_has("bad.yml");
    env.file("broken.py", "def f(:\n");
    env.run(["check", "broken.py"]).assert_exit(1);
}

#[test]
fn a_name_that_a_terminal_would_obey_is_inert() {
    let env = env();
    env.file("a\u{1b}[31m.py", "eval(x) # \u{1b}[2J\n");
    let done = env.run(["check", "."]);
    assert!(!done.stdout_text().contains('\u{1b}'), "{}", done.stdout_text());
}

#[test]
fn a_project_makes_it_stricter_and_never_looser() {
    let env = env();
    env.file("b.py", "import socket\n");
    env.file("a.py", ALIASED);
    env.project_config("check: {deny: [python/network]}\n");
    env.run(["check", "b.py"]).assert_exit(1);
    env.project_config("check: {off: ['python/*'], suppressions: true, profile: 'off'}\n");
    env.run(["check", "a.py"]).assert_exit(1);
    env.host_config("check: {off: ['python/process']}\n");
    env.project_config("{}\n");
    env.run(["check", "a.py"]).assert_exit(0);
}

/// Whoever misspells what is to be denied would rely on a denial that never comes.
#[test]
fn a_denial_that_fits_no_rule_is_wrong_usage() {
    let env = env();
    env.file("a.py", "x = 1\n");
    let meant = [("pythn/*", "python/*"), ("python/proces", "python/process")];
    for (wrong, right) in meant {
        let meant = format!("no rule is called {wrong} (did you mean `{right}`?)");
        env.run(["check", "--deny", wrong, "a.py"]).assert_exit(2).assert_stderr_has(&meant);
        env.run(["check", "--deny", right, "a.py"]).assert_exit(0);
    }
    env.run(["check", "--deny", "source/*", "--deny", "shell/delete-root", "a.py"]).assert_exit(0);
    env.project_config("check:\n  deny: [pythn/process]\n");
    env.run(["check", "a.py"]).assert_exit(2).assert_stderr_has("did you mean `python/process`?");
    env.run(["config", "check"]).assert_exit(1).assert_stdout_has(
        "cofferdam.yaml:2: check.deny: no rule is called pythn/process (did you mean `python/process`?)",
    );
    env.project_config("check:\n  deny: [python/process]\n");
    env.run(["config", "check"]).assert_exit(0);
}

#[test]
fn a_comment_silences_only_where_the_host_says_so() {
    let env = env();
    env.file("a.py", "eval(x)  # cofferdam: allow python/dynamic-code\n");
    env.project_config("check: {suppressions: true}\n");
    env.run(["check", "a.py"]).assert_exit(1);
    env.host_config("check: {suppressions: true}\n");
    env.run(["check", "a.py"]).assert_exit(0);
}

#[test]
fn rules_are_listed() {
    let env = env();
    let rules = env.run(["check", "--list-rules", "--json"]).assert_exit(0).json();
    let rules = rules.as_array().unwrap();
    assert!(rules.len() > 25 && rules.iter().any(|rule| rule["rule"] == "script/process"));
}
