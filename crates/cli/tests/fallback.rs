//! Running without a sandbox happens only where the host owner asked for it, loudly.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use cofferdam_testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

fn types(env: &TestEnv) -> Vec<String> {
    env.events().iter().map(|e| e["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn without_a_usable_sandbox_nothing_runs_and_the_remedy_is_named() {
    let env = env();
    let done = env.run_where_nothing_is_usable(&["run", "--", "touch", "ran"]);
    done.assert_exit(125).assert_stderr_has("no usable sandbox");
    done.assert_stderr_has("remedy:").assert_stderr_has("cofferdam doctor");
    assert!(!env.workspace().join("ran").exists());
}

#[test]
fn the_host_file_may_let_it_fall_back() {
    let env = env();
    env.host_config("sandbox: { fallback_to_direct: true }");
    let done = env.run_where_nothing_is_usable(&["run", "--quiet", "--", "touch", "ran"]);
    done.assert_exit(0).assert_stderr_has("WARNING: NO SANDBOX");
    assert!(env.workspace().join("ran").exists());
    assert!(types(&env).contains(&"sandbox.fallback_to_direct".to_owned()));
    assert_eq!(env.latest_record()["backend"], "local");
}

#[test]
fn the_same_line_in_the_project_file_changes_nothing_but_a_warning() {
    let env = env();
    env.project_config("sandbox: { fallback_to_direct: true }");
    env.run(["trust"]);
    let done = env.run_where_nothing_is_usable(&["run", "--", "touch", "ran"]);
    done.assert_exit(125).assert_stderr_has("fallback_to_direct");
    assert!(!env.workspace().join("ran").exists());
    assert!(!types(&env).contains(&"sandbox.fallback_to_direct".to_owned()));
}

#[test]
fn the_bare_host_on_request_is_loud_and_on_record() {
    let env = env();
    let done = env.run(["run", "--quiet", "--sandbox", "local", "--", "true"]);
    done.assert_exit(0).assert_stderr_has("WARNING: NO SANDBOX");
    assert!(types(&env).contains(&"sandbox.override_used".to_owned()));
    let relaxed: Vec<_> = env.latest_record()["receipt"].as_array().unwrap().clone();
    assert!(relaxed.iter().all(|h| h["state"] == "relaxed") && relaxed.len() > 5, "{relaxed:?}");
}

#[test]
fn the_project_file_cannot_choose_the_bare_host() {
    let env = env();
    env.project_config("sandbox: { backend: local, enabled: false }");
    env.run(["trust"]);
    let done = env.run(["run", "--dry-run", "--", "true"]);
    assert!(!done.stdout_text().contains("\"backend\": \"local\""), "{}", done.stdout_text());
    done.assert_stderr_has("warning:");
}

#[test]
fn the_host_file_may_switch_the_sandbox_off() {
    let env = env();
    env.host_config("sandbox: { enabled: false, memory_limit: 1g }");
    env.run(["run", "--", "true"]).assert_exit(0).assert_stderr_has("WARNING: NO SANDBOX");
}
