//! Only listed variables are visible, and the values of passed ones are nowhere on disk.

use cofferdam_testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

const SECRET: &str = "s3cr3t-value-0f-this-test";

fn run(env: &TestEnv, flags: &[&str], command: &[&str]) -> cofferdam_testkit::Finished {
    let mut cofferdam = env.cofferdam();
    cofferdam.env("TEST_TOKEN", SECRET).env("OTHER_TOKEN", "another-value");
    cofferdam.args(["run", "--sandbox", "local"]).args(flags).arg("--").args(command);
    env.finish(cofferdam)
}

#[test]
fn a_variable_that_is_not_listed_is_not_visible() {
    let env = env();
    let done = run(&env, &["--pass-env", "TEST_TOKEN"], &["env"]);
    done.assert_exit(0);
    let text = done.stdout_text();
    assert!(text.contains(&format!("TEST_TOKEN={SECRET}")), "the listed one is: {text}");
    assert!(!text.contains("OTHER_TOKEN"), "{text}");
    let names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    for name in names {
        let known =
            ["PATH", "HOME", "PWD", "TEST_TOKEN", "COFFERDAM_RUN", "SHLVL", "_", "TERM", "LANG"];
        assert!(known.contains(&name), "{name} came from nowhere");
    }
}

#[test]
fn a_passed_value_is_nowhere_on_disk_even_when_it_is_printed() {
    let env = env();
    let report = env.top().join("report.json");
    let flags = ["--pass-env", "TEST_TOKEN", "--report", report.to_str().unwrap()];
    // Printed whole, printed in two writes, printed to both streams, and given as an argument.
    let script = "echo $TEST_TOKEN; echo $TEST_TOKEN >&2; \
                  printf %s \"$TEST_TOKEN\" | { head -c 9; sleep 0.2; cat; }";
    let done = run(&env, &flags, &["sh", "-c", script, SECRET]);
    assert!(done.stdout_text().contains(SECRET), "what passes through is not touched");
    assert_eq!(env.grep_state(SECRET), Vec::<std::path::PathBuf>::new());
    assert!(!std::fs::read_to_string(report).unwrap().contains(SECRET));
    assert!(env.run(["logs"]).stdout_text().contains("[redacted]"));
    let events = serde_json::to_string(&env.events()).unwrap();
    assert!(events.contains("TEST_TOKEN"), "its name is recorded");
}

#[test]
fn a_value_written_out_under_a_secret_name_is_hidden_too() {
    let env = env();
    run(&env, &["--env", &format!("API_KEY={SECRET}")], &["sh", "-c", "echo $API_KEY"])
        .assert_exit(0);
    assert_eq!(env.grep_state(SECRET), Vec::<std::path::PathBuf>::new());
    run(&env, &["--env", "PLAIN=visible-value"], &["sh", "-c", "echo $PLAIN"]).assert_exit(0);
    assert!(!env.grep_state("visible-value").is_empty(), "an ordinary one is part of the record");
}

#[test]
fn host_policy_decides_what_may_be_passed() {
    let env = env();
    env.host_config("policy: { env: [\"TEST_*\"] }");
    run(&env, &["--pass-env", "TEST_TOKEN"], &["true"]).assert_exit(0);
    run(&env, &["--pass-env", "OTHER_TOKEN"], &["true"])
        .assert_exit(125)
        .assert_stderr_has("does not let OTHER_TOKEN in");
    assert!(env.grep_state("another-value").is_empty());
}

/// However early it is refused and however it is encoded, a passed value is not recorded.
#[test]
fn nor_when_it_is_refused_or_encoded() {
    use std::os::unix::ffi::OsStringExt as _;
    let env = env();
    run(&env, &["--pass-env", "TEST_TOKEN", "--memory", "bogus"], &["echo", SECRET])
        .assert_exit(125);
    run(&env, &["--env", &format!("MY_TOKEN={SECRET}"), "--cpus", "0"], &["echo", SECRET])
        .assert_exit(125);
    let mut odd = env.cofferdam();
    let bytes = [b"\xff".as_slice(), SECRET.as_bytes()].concat();
    odd.env("TEST_TOKEN", SECRET).args([
        "run",
        "--sandbox",
        "local",
        "--pass-env",
        "TEST_TOKEN",
        "--",
    ]);
    odd.arg("true").arg(std::ffi::OsString::from_vec(bytes));
    env.finish(odd).assert_exit(0);
    assert_eq!(env.grep_state(SECRET), Vec::<std::path::PathBuf>::new());
    let record = env.latest_record();
    assert_eq!(record["command"][1]["b64"], "/1tyZWRhY3RlZF0=", "{}", record["command"]);
    let shown = run(&env, &["--pass-env", "TEST_TOKEN", "--dry-run"], &["echo", SECRET]);
    assert!(!shown.stdout_text().contains(SECRET));
}

/// Whoever names a variable wants it inside: a name that was mistyped is said.
#[test]
fn a_variable_that_is_named_and_not_set() {
    let env = env();
    let done = run(
        &env,
        &["--quiet", "--pass-env", "NO_SUCH_TOKEN", "--pass-env", "TEST_TOKEN"],
        &["true"],
    );
    done.assert_exit(0).assert_stderr_has("warning: --pass-env NO_SUCH_TOKEN");
    assert!(!done.stderr_text().contains("--pass-env TEST_TOKEN"), "{}", done.stderr_text());
    // Files list what may be there.
    env.host_config("sandbox: { env_passthrough: [NO_SUCH_TOKEN] }");
    let done = run(&env, &[], &["true"]);
    assert!(!done.stderr_text().contains("NO_SUCH_TOKEN"), "{}", done.stderr_text());
}
