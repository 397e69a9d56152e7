//! What needs a yes of its own is not applied without; `deny` is never applied; budgets stop mass damage.

use super::*;

#[test]
fn a_class_needs_its_yes_and_the_rest_need_not_wait() {
    both(|env| {
        env.file("f", "old");
        stage(env, "mkdir -p .github/workflows; echo x > .github/workflows/ci.yml; echo new > f");
        let before = tree(env);
        let refused = env.run(["apply"]);
        refused.assert_exit(3).assert_stderr_has(".github/workflows/ci.yml");
        refused.assert_stderr_has("--allow-class ci").assert_stderr_has("--rest");
        assert_eq!(tree(env), before);
        assert_eq!(events(env, "changes.refused"), 1);
        let json = env.run(["apply", "--json"]);
        json.assert_exit(3);
        assert_eq!(json.json()["refused"][0]["why"], "blocked");
        env.run(["apply", "--rest"]).assert_exit(0);
        assert_eq!(text(env, "f"), "new\n");
        assert!(!env.workspace().join(".github/workflows/ci.yml").exists());
        env.run(["apply", "--allow-path", ".github"]).assert_exit(0);
        assert_eq!(text(env, ".github/workflows/ci.yml"), "x\n");
        env.run(["undo"]).assert_exit(0);
        env.run(["apply", "--allow-class", "ci"]).assert_exit(0);
        assert_eq!(text(env, ".github/workflows/ci.yml"), "x\n");
    });
}

#[test]
fn what_is_denied_cannot_be_allowed() {
    let env = env();
    env.host_config("changes: {deny: [\"*.key\"]}");
    stage(&env, "echo x > a.key; echo y > b; mkfifo pipe");
    env.run(["apply", "--allow-path", "a.key", "--allow-path", "pipe"]).assert_exit(3);
    assert!(names(&env).is_empty());
    env.run(["apply", "--rest", "--allow-path", "a.key", "--allow-path", "pipe"]).assert_exit(0);
    assert_eq!(names(&env), ["b"]);
}

#[test]
fn mass_deletion_needs_a_yes() {
    let env = env();
    for n in 0..300 {
        env.file(format!("d/{n}"), "x");
    }
    stage(&env, "rm -r d");
    let before = tree(&env);
    env.run(["apply"]).assert_exit(3).assert_stderr_has("--allow-budget");
    env.run(["apply", "--rest"]).assert_exit(3);
    assert_eq!(tree(&env), before);
    env.run(["apply", "--allow-budget"]).assert_exit(0);
    assert!(names(&env).is_empty());
    env.run(["undo"]).assert_exit(0);
    assert_eq!(tree(&env), before);
}

/// Of what is proposed, each works: who leaves what is blocked has still to say yes to how much there is.
#[test]
fn what_is_proposed_about_too_much_is_not_refused_again() {
    let env = env();
    env.host_config("changes: {budget: {files: 10}}");
    stage(
        &env,
        "seq 20 | xargs touch; mkdir -p .github/workflows; echo x > .github/workflows/ci.yml",
    );
    let refused = env.run(["apply"]);
    let said = refused.assert_exit(3).stderr_text().into_owned();
    let line = said.lines().find_map(|line| line.strip_prefix("remedy: to leave these: "));
    assert!(line.is_some_and(|line| line.ends_with(" --rest --allow-budget")), "{said}");
    env.run(["apply", "--rest", "--allow-budget"]).assert_exit(0);
    assert!(env.workspace().join("20").exists());
    assert!(!env.workspace().join(".github/workflows/ci.yml").exists());
}

#[test]
fn a_blocked_file_keeps_the_directory_that_it_is_in() {
    let env = env();
    env.host_config("changes: {deny: [\"d/kept\"]}");
    env.file("d/kept", "k");
    env.file("d/other", "o");
    stage(&env, "rm -r d; mkdir n; echo x > n/x");
    env.run(["apply"]).assert_exit(3);
    env.run(["apply", "--rest"]).assert_exit(0);
    assert_eq!(text(&env, "d/kept"), "k");
    assert!(!env.workspace().join("d/other").exists() && env.workspace().join("n/x").exists());
}

#[test]
fn run_applies_what_needs_no_look_and_only_where_it_succeeded() {
    let env = env();
    env.host_config("changes: {auto: [\"docs/\", \"*.txt\"]}");
    env.file("docs/page", "old");
    let run =
        |script: &str| env.run(["run", "--apply", "--relax", "limits", "--", "sh", "-c", script]);
    run("echo new > docs/page; echo x > code.rs; echo t > a.txt; exit 3").assert_exit(3);
    assert_eq!((names(&env), text(&env, "docs/page")), (vec!["docs".into()], "old".into()));
    let done = run("echo new > docs/page; echo x > code.rs; echo t > a.txt; chmod +x a.txt");
    done.assert_exit(0).assert_stderr_has("left pending");
    assert_eq!((names(&env), text(&env, "docs/page")), (vec!["docs".into()], "new\n".into()));
    env.run(["apply", "--allow-class", "executable"]).assert_exit(0);
    assert_eq!(names(&env), ["a.txt", "code.rs", "docs"]);
}

/// Whoever copies the command that is proposed gets what was asked for, and no more.
#[test]
fn what_is_proposed_is_about_what_was_selected() {
    let env = env();
    env.file("f", (1..=30).map(|n| format!("{n}\n")).collect::<String>());
    stage(
        &env,
        "for f in 'a b' other; do echo x > \"$f\"; chmod +x \"$f\"; done; chmod +x f; \
         sed -i 's/^2$/two/; s/^28$/last/' f",
    );
    let said = |args: &[&str]| env.run(args).assert_exit(3).stderr_text().into_owned();
    let by_path = said(&["apply", "a b", "--allow-class=ci"]);
    let proposed = " 'a b' --allow-class ci --allow-class executable\n";
    assert!(by_path.contains(proposed), "{by_path}");
    assert!(by_path.contains(" 'a b' --allow-class ci --rest\n"), "{by_path}");
    let by_hunk = said(&["apply", "--hunk", "f:1"]);
    assert!(by_hunk.contains(" --hunk f:1 --allow-class executable\n"), "{by_hunk}");
    assert!(by_hunk.contains(" --hunk f:1 --rest\n"), "{by_hunk}");
}
