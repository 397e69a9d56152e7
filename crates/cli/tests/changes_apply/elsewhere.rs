//! The directory of a project was moved or removed: what its runs changed is still there to be looked at and thrown away.

use super::*;

/// A run in a project's directory that is another's by then; the run's id.
fn moved_away(env: &TestEnv) -> String {
    let (was, is) = (env.workspace().join("was"), env.workspace().join("is"));
    env.file("was/a", "old\n");
    env.file("was/cofferdam.yaml", "changes: {deny: [w]}\n");
    let flags = ["--workspace", was.to_str().unwrap()];
    claim::run(env, &flags, "echo w > w; echo new > a; echo all: > Makefile").assert_exit(0);
    fs::rename(was, is).unwrap();
    env.runs().pop().unwrap()
}

#[test]
fn what_changed_is_shown_and_judged_by_the_hosts_settings_and_that_is_said() {
    both(|env| {
        let run = moved_away(env);
        let said = "was: the directory is not there, so the host's settings alone judge";
        let shown = env.run(["diff", &run]);
        shown.assert_exit(0).assert_stdout_has("+new").assert_stderr_has(said);
        let listed = env.run(["diff", "--json", &run]).assert_exit(0).json();
        assert_eq!(listed.as_array().unwrap().len(), 3, "{listed}");
        // What needs no judgement is not spoken of.
        for form in ["--stat", "--name-only", "--patch"] {
            let shown = env.run(["diff", form, &run]);
            assert!(!shown.assert_exit(0).stderr_text().contains("judge"), "{shown:?}");
        }
        let gate = env.run(["gate", &run]);
        gate.assert_exit(3).assert_stderr_has(said).assert_stdout_has("build-scripts");
        assert!(!gate.stdout_text().contains("changes.deny"), "{gate:?}");
        env.host_config("changes: {deny: [a]}");
        env.run(["gate", &run]).assert_exit(3).assert_stdout_has("changes.deny");
    });
}

#[test]
fn it_is_discarded_and_another_directory_is_left_alone() {
    both(|env| {
        let run = moved_away(env);
        let before = tree(env);
        env.run(["discard", &run, "w"]).assert_exit(0).assert_stdout_has("2 left pending");
        env.run(["discard", &run]).assert_exit(0).assert_stdout_has("discarded 2 changes");
        assert_eq!(tree(env), before);
        assert_settled(env);
    });
}

#[test]
fn whoever_would_apply_or_undo_is_told_how() {
    let env = env();
    let run = moved_away(&env);
    let before = tree(&env);
    for words in [&["apply", &run][..], &["apply", "--rest", &run], &["undo", &run]] {
        let said = env.run(words);
        said.assert_exit(1).assert_stderr_has("put the directory back at ");
        assert!(!said.stderr_text().contains("--workspace"), "{said:?}");
    }
    env.run(["apply", &run]).assert_stderr_has("diff --patch ").assert_stderr_has("| git apply");
    assert_eq!(tree(&env), before);
    // It is put back, and all is as it was.
    fs::rename(env.workspace().join("is"), env.workspace().join("was")).unwrap();
    env.run(["apply", "--rest", &run]).assert_exit(0);
    assert_eq!(text(&env, "was/a"), "new\n");
}
