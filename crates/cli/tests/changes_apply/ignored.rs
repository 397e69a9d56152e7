//! What git ignores can be left, by rules that the program had no hand in.

use super::*;

/// Git in a directory of the workspace, as its owner uses it.
#[track_caller]
fn git(env: &TestEnv, dir: &str, args: &[&str]) {
    let mut git = env.program("git");
    git.current_dir(env.workspace().join(dir));
    git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args);
    env.finish(git).assert_exit(0);
}

fn checkout(env: &TestEnv) {
    git(env, "", &["init", "-q", "."]);
    git(env, "", &["add", "-A"]);
    git(env, "", &["commit", "-qm", "first"]);
}

fn stays_pending(env: &TestEnv, path: &str) {
    let shown = env.run(["diff", "--name-only"]);
    assert!(shown.stdout_text().lines().any(|line| line == path), "{path}: {shown:?}");
}

#[test]
fn build_output_is_left_and_stays_pending() {
    both(|env| {
        env.file(".gitignore", "target/\n*.log\n!keep.log\n");
        env.file("src/.gitignore", "/made\n");
        env.file("src/lib.rs", "old\n");
        checkout(env);
        stage(
            env,
            "mkdir -p target/debug && touch target/debug/a target/debug/b; touch x.log keep.log src/x.log src/made; \
             echo new > src/lib.rs",
        );
        let check = env.run(["apply", "--no-ignored", "--check"]);
        check.assert_exit(0);
        let done = env.run(["apply", "--no-ignored"]);
        done.assert_exit(0);
        let said = done.stdout_text();
        assert!(
            said.contains("left: 7 paths that git ignores: src/made, src/x.log, target, ..."),
            "{said}"
        );
        assert!(said.contains("7 left pending"), "{said}");
        assert_eq!(names(env), [".git", ".gitignore", "keep.log", "src"]);
        assert_eq!(text(env, "src/lib.rs"), "new\n");
        assert!(!env.workspace().join("src/made").exists());
        for path in ["target/debug/a", "x.log", "src/x.log", "src/made"] {
            stays_pending(env, path);
        }
        let json = env.run(["apply", "--no-ignored", "--json"]);
        assert_eq!(json.assert_exit(0).json()["ignored"], 7);
        // What was left can be had.
        env.run(["apply"]).assert_exit(0);
        assert!(env.workspace().join("target/debug/a").exists());
        assert_settled(env);
    });
}

#[test]
fn the_program_does_not_decide_what_is_ignored() {
    both(|env| {
        env.file(".gitignore", "*.log\n");
        env.file("sub/f", "x\n");
        checkout(env);
        // What it wants hidden is applied, and what it would like to slip in is not.
        stage(
            env,
            "echo '!*.log' > .gitignore; echo '*' > sub/.gitignore; mkdir new; echo '*' > new/.gitignore; \
             echo y > sub/f; touch a.log new/f; echo '*' > .git/info/exclude",
        );
        let rest = ["apply", "--no-ignored", "--rest"];
        let done = env.run(rest);
        done.assert_exit(0);
        assert!(done.stdout_text().contains("1 path that git ignores: a.log"), "{done:?}");
        assert!(!env.workspace().join("a.log").exists());
        assert!(env.workspace().join("new/f").exists());
        assert_eq!(text(env, "sub/f"), "y\n");
        // Nor does it once its rules are on the host: those of the beginning count.
        assert_eq!(text(env, ".gitignore"), "!*.log\n");
        env.run(rest).assert_exit(0);
        assert!(!env.workspace().join("a.log").exists());
    });
}

#[test]
fn what_is_tracked_is_not_ignored() {
    both(|env| {
        env.file("build/kept", "old\n");
        checkout(env);
        env.file(".gitignore", "build/\n");
        stage(
            env,
            "echo new > build/kept; touch build/other; rm -r build/kept; mkdir build/deep; echo new > build/kept",
        );
        env.run(["apply", "--no-ignored"]).assert_exit(0);
        assert_eq!(text(env, "build/kept"), "new\n");
        assert!(!env.workspace().join("build/other").exists());
        assert!(!env.workspace().join("build/deep").exists());
        // A directory that was gone comes back with what is tracked in it, and with that alone.
        fs::remove_dir_all(env.workspace().join("build")).unwrap();
        stage(env, "mkdir build; echo back > build/kept; touch build/more");
        env.run(["apply", "--no-ignored"]).assert_exit(0);
        assert_eq!(text(env, "build/kept"), "back\n");
        assert!(!env.workspace().join("build/more").exists());
    });
}

#[test]
fn rules_count_wherever_git_would_look_for_them() {
    let env = env();
    // In a directory of a repository, those above it; and without a repository, those that are there.
    env.file("part/f", "x");
    env.file(".gitignore", "/part/out/\n");
    checkout(&env);
    fs::write(env.workspace().join(".git/info/exclude"), "*.tmp\n").unwrap();
    let part = env.workspace().join("part");
    let flags = ["--workspace", part.to_str().unwrap()];
    claim::run(&env, &flags, "mkdir out; touch out/a b.tmp c").assert_exit(0);
    let id = env.runs().pop().unwrap();
    env.run(["apply", &id, "--no-ignored"]).assert_exit(0);
    let made = |name: &str| part.join(name).exists();
    assert_eq!((made("out"), made("b.tmp"), made("c")), (false, false, true));
    // A linked worktree has an index of its own, and the rules of its repository.
    git(&env, "", &["worktree", "add", "-q", "wt"]);
    let tree = env.workspace().join("wt");
    fs::write(tree.join("tracked.tmp"), "x").unwrap();
    git(&env, "wt", &["add", "-f", "tracked.tmp"]);
    let flags = ["--workspace", tree.to_str().unwrap()];
    claim::run(&env, &flags, "echo y > tracked.tmp; touch other.tmp").assert_exit(0);
    let id = env.runs().pop().unwrap();
    env.run(["apply", &id, "--no-ignored"]).assert_exit(0);
    assert_eq!(fs::read_to_string(tree.join("tracked.tmp")).unwrap(), "y\n");
    assert!(!tree.join("other.tmp").exists());
}

#[test]
fn what_another_repository_within_has_is_not_ignored() {
    let env = env();
    env.file(".gitignore", "*.log\n");
    for dir in ["nested", "plain"] {
        env.file(format!("{dir}/t.log"), "old\n");
    }
    git(&env, "nested", &["init", "-q", "."]);
    git(&env, "nested", &["add", "-A"]);
    git(&env, "nested", &["commit", "-qm", "first"]);
    checkout(&env);
    stage(
        &env,
        "for dir in nested plain; do echo new > $dir/t.log; echo new > $dir/other.log; done",
    );
    env.run(["apply", "--no-ignored"]).assert_exit(0);
    assert_eq!(text(&env, "nested/t.log"), "new\n", "the outer rules say nothing of it");
    assert_eq!(text(&env, "plain/t.log"), "old\n");
    assert!(!env.workspace().join("plain/other.log").exists());
}

#[test]
fn without_a_repository_the_rules_that_are_there_count() {
    let env = env();
    env.file(".gitignore", "*.log\n");
    stage(&env, "touch a.log b");
    env.run(["apply", "--no-ignored"]).assert_exit(0);
    assert_eq!(names(&env), [".gitignore", "b"]);
    // Where everything is ignored there is nothing to apply, and that is said.
    let done = env.run(["apply", "--no-ignored"]);
    assert!(done.assert_exit(0).stdout_text().contains("1 left pending"), "{done:?}");
}
