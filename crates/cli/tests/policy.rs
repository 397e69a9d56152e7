//! The rules for commands, where they hold: `run`, sessions, and who may change them.

use cofferdam_testkit::{TestEnv, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const BUILT_IN: &str = "policy: {commands: {builtin: true}}\n";

fn env() -> TestEnv {
    TestEnv::with_binary(BINARY)
}

#[test]
fn explain_names_the_parts_and_decides() {
    let env = env();
    let denied = env.run(["policy", "explain", "--json", "--", "echo hi && curl x | sh"]);
    let decision = denied.assert_exit(1).json();
    assert_eq!(decision["verdict"], "deny");
    let texts: Vec<_> =
        decision["parts"].as_array().unwrap().iter().map(|part| part["text"].clone()).collect();
    assert_eq!(texts, ["echo hi", "curl x", "sh"]);
    assert_eq!(decision["parts"][2]["rules"][0]["rule"], "shell/pipe-to-shell");
    assert_eq!(decision["enforced"], "allow", "built-in rules are asked only where a file says so");
    env.run(["policy", "explain", "--", "echo \"rm -rf /\""]).assert_exit(0).assert_stderr_has("");
    env.run(["policy", "explain", "--", "sudo ls"]).assert_exit(3);
    env.run(["policy", "explain", "--", "rm", "-rf", "/"]).assert_exit(1);
    env.run(["policy", "explain", "--", "echo 'no end"]).assert_exit(3);
    env.run(["policy", "explain"]).assert_exit(2);
    env.run(["policy", "rules"]).assert_exit(0);
}

#[test]
fn without_rules_everything_runs() {
    claim::as_root_and_as_user(BINARY, |env| {
        let before = env.tree_hash("");
        claim::run(env, &[], "rm -rf / 2>/dev/null; echo went through")
            .assert_stdout("went through\n");
        assert_eq!(env.tree_hash(""), before);
    });
}

#[test]
fn what_is_denied_is_not_run_and_is_written_down() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.host_config(BUILT_IN);
        claim::run(env, &[], "echo hi").assert_exit(0).assert_stdout("hi\n");
        claim::run(env, &[], "echo \"rm -rf /\"").assert_exit(0).assert_stdout("rm -rf /\n");
        let denied = claim::run(env, &["--reviewed"], "echo first; env A=1 sh -c 'rm -rf /'");
        denied.assert_exit(125).assert_stdout("").assert_stderr_has("shell/delete-root");
        let events = env.run(["events", "--json"]);
        let text = events.stdout_text().into_owned();
        assert!(text.contains("sandbox.rejected") && text.contains("command-allowed"), "{text}");
        let record = env.run(["show", "last", "--json"]).assert_exit(0).json();
        assert_eq!(record["outcome"]["class"], "refused");
    });
}

#[test]
fn what_needs_a_look_waits_for_a_yes() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.host_config("policy: {commands: {review: ['git push *']}}\n");
        let script = "echo pushing; false && git push; true";
        claim::run(env, &[], script)
            .assert_exit(3)
            .assert_stdout("")
            .assert_stderr_has("--reviewed");
        claim::run(env, &["--reviewed"], script).assert_exit(0).assert_stdout("pushing\n");
        claim::run(env, &[], "git --version >/dev/null; echo fine").assert_stdout("fine\n");
    });
}

#[test]
fn a_list_of_what_is_allowed() {
    let env = env();
    env.host_config("policy: {commands: {default: deny, allow: ['echo *', 'sh *']}}\n");
    claim::run(&env, &[], "echo hi").assert_exit(0);
    claim::run(&env, &[], "echo hi; touch x").assert_exit(125).assert_stderr_has("touch x");
    claim::run(&env, &["--reviewed"], "$X").assert_exit(125);
}

#[test]
fn a_project_tightens_and_does_not_loosen() {
    let env = env();
    env.project_config("policy: {commands: {deny: ['make publish *']}}\n");
    claim::run(&env, &[], "make publish").assert_exit(125);
    claim::run(&env, &[], "echo make publish").assert_exit(0);
    env.host_config("policy: {commands: {builtin: true, deny: ['touch *']}}\n");
    env.project_config(
        "policy: {commands: {builtin: false, deny: [], default: allow, allow: ['touch *']}}\n",
    );
    claim::run(&env, &[], "touch x").assert_exit(125);
    claim::run(&env, &[], "curl x | sh").assert_exit(125);
}

#[test]
fn sessions_hold_every_command_against_them() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.host_config("policy: {commands: {builtin: true, review: ['touch *']}}\n");
        let start = ["session", "start"].into_iter().chain(claim::sandbox(env));
        let session = env.run(start).assert_exit(0).stdout_text().trim().to_owned();
        let exec = |flags: &[&str], script: &str| {
            let head = ["session", "exec", session.as_str()];
            env.run(head.iter().chain(flags).chain(&["--", "sh", "-c", script]))
        };
        exec(&[], "echo hi").assert_exit(0).assert_stdout("hi\n");
        exec(&[], "curl x | sh").assert_exit(125).assert_stderr_has("shell/pipe-to-shell");
        exec(&["--reviewed"], "curl x | sh").assert_exit(125);
        exec(&[], "touch x").assert_exit(3).assert_stderr_has("--reviewed");
        exec(&["--reviewed"], "touch x").assert_exit(0);
        exec(&[], "ls").assert_exit(0).assert_stdout("x\n");
        env.run(["session", "stop", session.as_str(), "--quiet"]).assert_exit(0);
        let events = env.run(["events", "--json"]).stdout_text().into_owned();
        assert!(
            events.contains("command-allowed") && events.contains("command-reviewed"),
            "{events}"
        );
    });
}
