//! Whoever makes commits inside is told of all of them, wherever they are, and of nothing where there are none.
#![expect(clippy::unwrap_used, reason = "in a test, a failed step is the failure")]

use std::path::{Path, PathBuf};

use cofferdam_testkit::{Finished, TestEnv, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Commits by whoever types it.
const GIT: &str = "git -c user.email=a@b -c user.name=n";

#[track_caller]
fn git(env: &TestEnv, dir: &Path, args: &[&str]) -> Finished {
    let mut command = env.program("git");
    command.current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "user.email=a@b", "-c", "user.name=n"]);
    command.args(["-c", "protocol.file.allow=always"]).args(args);
    let done = env.finish(command);
    done.assert_exit(0);
    done
}

fn repository(env: &TestEnv, name: &str) -> PathBuf {
    let file = env.file(format!("../{name}/tracked"), "1\n");
    let dir = file.parent().unwrap().to_owned();
    git(env, &dir, &["init", "-q", "-b", "main", "."]);
    git(env, &dir, &["add", "."]);
    git(env, &dir, &["commit", "-qm", "first"]);
    dir
}

/// A checkout with a submodule `sub`.
fn with_submodule(env: &TestEnv) -> PathBuf {
    let library = repository(env, "library");
    let app = repository(env, "app");
    git(env, &app, &["submodule", "--quiet", "add", library.to_str().unwrap(), "sub"]);
    git(env, &app, &["commit", "-qm", "with a submodule"]);
    app
}

/// What is said at the end of a run of the script in a checkout.
#[track_caller]
fn told(env: &TestEnv, checkout: &Path, script: &str) -> String {
    let script = format!("set -e; {script}").replace("GIT", GIT);
    let words = ["--workspace", checkout.to_str().unwrap(), "--", "sh", "-c", &script];
    let run = env.run(["run"].into_iter().chain(claim::sandbox(env)).chain(words));
    run.assert_exit(0).stderr_text().into_owned()
}

/// A command about the newest run in a checkout.
fn about(env: &TestEnv, checkout: &Path, words: &[&str]) -> Finished {
    let mut command = env.cofferdam();
    command.current_dir(checkout).args(words);
    env.finish(command)
}

fn subjects(env: &TestEnv, checkout: &Path, branch: &str) -> String {
    git(env, checkout, &["log", "--format=%s", branch]).stdout_text().into_owned()
}

/// The subjects that `diff --log --json` lists, in the order of the alphabet.
fn listed(env: &TestEnv, checkout: &Path) -> Vec<String> {
    let log = about(env, checkout, &["diff", "--log", "--json"]).json();
    let commits = log.as_array().unwrap().iter();
    let mut subjects: Vec<String> =
        commits.map(|commit| commit["subject"].as_str().unwrap().to_owned()).collect();
    subjects.sort();
    subjects
}

/// A repository elsewhere is no part of the workspace, so that its commits are no paths of the summary.
#[test]
fn a_run_says_that_commits_were_made() {
    claim::as_root_and_as_user(BINARY, |env| {
        let app = with_submodule(env);
        git(env, &app, &["worktree", "add", "-q", "../linked"]);
        for checkout in [app.join("sub"), env.top().join("linked"), app.clone()] {
            let said = told(env, &checkout, "echo 2 > tracked; GIT commit -qam work");
            assert!(said.contains("it made 1 commit"), "{said}");
            assert!(said.contains(" --log ") && said.contains(" --branch NAME "), "{said}");
            assert!(said.contains("    ~ tracked\n"), "the files too: {said}");
            about(env, &checkout, &["apply", "--branch", "agent"]).assert_exit(0);
            assert!(subjects(env, &checkout, "agent").starts_with("work\n"));
            git(env, &checkout, &["branch", "-qD", "agent"]);
            // All that is there is commits.
            let back = "echo 3 > tracked; GIT commit -qam there; git revert --no-edit HEAD";
            let said = told(env, &checkout, &back.replace("git revert", "GIT revert"));
            assert!(said.contains("it made 2 commits"), "{said}");
        }
    });
}

/// Nor is a reference that is written to a commit.
#[test]
fn a_run_without_commits_says_nothing_of_them() {
    claim::as_root_and_as_user(BINARY, |env| {
        let app = with_submodule(env);
        git(env, &app, &["worktree", "add", "-q", "../linked"]);
        for checkout in [app.join("sub"), env.top().join("linked")] {
            for script in ["true", "git checkout -q -b other", "git gc -q"] {
                let said = told(env, &checkout, script);
                assert!(said.contains("it changed nothing"), "{script}: {said}");
                assert!(!said.contains("--log") && !said.contains("--branch"), "{said}");
            }
            let said = told(env, &checkout, "echo 2 > tracked; git tag here");
            assert!(!said.contains("--log") && !said.contains("--branch"), "{said}");
        }
    });
}

/// The place of the workspace inside is ours to write down, and no change of the program's.
#[test]
fn a_submodules_settings_are_changed_by_the_program_alone() {
    claim::as_root_and_as_user(BINARY, |env| {
        let sub = with_submodule(env).join("sub");
        let changed = |script: &str| {
            told(env, &sub, script);
            let id = env.latest_record()["run"].as_str().unwrap().to_owned();
            let manifest = env.state_dir().join("runs").join(id).join("git/manifest");
            std::fs::read_to_string(manifest).unwrap().contains("\"config\"")
        };
        assert!(!changed("true"));
        assert!(!changed("echo 2 > tracked; GIT commit -qam work"));
        assert!(changed("git config a.b c"));
    });
}

#[test]
fn commits_of_every_branch_tag_and_stash_are_told_and_come_home() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env, "repo");
        let script = "git checkout -qb feature; echo 1 > one; git add one; GIT commit -qm one; \
                      git checkout -q main; echo 2 > two; git add two; GIT commit -qm two; \
                      git checkout -q --detach HEAD~1; echo 3 > three; git add three; GIT commit -qm three; \
                      GIT tag -am note v1; git tag tree HEAD^{tree}; git checkout -q main; git tag same; \
                      echo 4 > tracked; GIT stash -q";
        let said = told(env, &repo, script);
        assert!(said.contains("it made 5 commits"), "{said}");
        let all = listed(env, &repo);
        assert_eq!(all.len(), 5, "{all:?}");
        for subject in ["one", "two", "three"] {
            assert!(all.iter().any(|one| one == subject), "{all:?}");
        }
        let log = about(env, &repo, &["diff", "--log"]);
        let text = log.stdout_text();
        for name in ["(feature)", "(main, tag same)", "(tag v1)", "(stash)"] {
            assert!(text.contains(name), "{name}: {text}");
        }
        log.assert_stderr_has("5 commits");
        for (branch, taken, left) in [
            ("agent1", "main", &["feature", "tag v1", "stash"][..]),
            ("agent2", "feature", &["tag v1", "stash"]),
            ("agent3", "tag v1", &["stash"]),
            ("agent4", "stash", &[]),
        ] {
            let done = about(env, &repo, &["apply", "--branch", branch]);
            let said = done.assert_exit(0).stdout_text().into_owned();
            assert!(said.contains(&format!("of {taken} on the new branch {branch}")), "{said}");
            for name in ["feature", "tag v1", "stash"] {
                let is_left = said.contains(&format!("left: {name}, "));
                assert_eq!(is_left, left.contains(&name), "{name}: {said}");
            }
        }
        assert_eq!(subjects(env, &repo, "agent1"), "two\nfirst\n");
        assert_eq!(subjects(env, &repo, "agent2"), "one\nfirst\n");
        assert_eq!(subjects(env, &repo, "agent3"), "three\nfirst\n");
        about(env, &repo, &["apply", "--branch", "agent5"]).assert_exit(1);
        assert_eq!(git(env, &repo, &["tag", "--list"]).stdout_text(), "", "branches alone come");
    });
}

/// The branch that is checked out is meant first, whatever the others are called.
#[test]
fn of_a_linked_worktree_its_own_branch_comes_first() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env, "repo");
        git(env, &repo, &["worktree", "add", "-q", "-b", "side", "../linked"]);
        let linked = env.top().join("linked");
        let script = "echo 2 > tracked; GIT commit -qam mine; git branch another; \
                      git checkout -q another; GIT commit -q --allow-empty -m other; git checkout -q side";
        told(env, &linked, script);
        about(env, &linked, &["apply", "--branch", "agent"]).assert_exit(0);
        assert_eq!(subjects(env, &linked, "agent"), "mine\nfirst\n");
    });
}

/// What is reached by one of them alone is not lost sight of.
#[test]
fn a_tag_or_a_stash_alone_is_enough() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env, "repo");
        let tagged = "git checkout -q --detach; echo 2 > tracked; GIT commit -qam tagged; git tag v1; \
                      git checkout -q main; git pack-refs --all";
        told(env, &repo, tagged);
        assert_eq!(listed(env, &repo), ["tagged"]);
        let json = about(env, &repo, &["apply", "--branch", "agent", "--json"]).json();
        assert_eq!(
            (&json["from"], json["left"].as_array().unwrap().len()),
            (&"refs/tags/v1".into(), 0)
        );
        assert_eq!(subjects(env, &repo, "agent"), "tagged\nfirst\n");
        told(env, &repo, "echo 3 > tracked; GIT stash -q");
        assert_eq!(listed(env, &repo).len(), 2);
    });
}

const IN_SUBMODULE: &str = "cd sub; echo work >> tracked; GIT commit -qam insub; cd ..";

/// A gitlink to a commit that nobody has is no good to anybody.
#[test]
fn a_branch_with_a_submodules_commit_that_stays_behind_needs_a_yes() {
    claim::as_root_and_as_user(BINARY, |env| {
        let app = with_submodule(env);
        let said = told(env, &app, &format!("{IN_SUBMODULE}; git add sub; GIT commit -qm bump"));
        assert!(said.contains("it made 1 commit"), "{said}");
        assert!(said.contains("it made commits in the submodule sub"), "{said}");
        let log = about(env, &app, &["diff", "--log"]);
        log.assert_exit(0).assert_stderr_has("in the submodule sub");
        let refused = about(env, &app, &["apply", "--branch", "bump"]);
        refused.assert_exit(3).assert_stderr_has("of the submodule sub");
        refused.assert_stderr_has("--workspace").assert_stderr_has("--allow-path");
        assert_eq!(git(env, &app, &["branch", "--list", "bump"]).stdout_text(), "");
        about(env, &app, &["apply", "--branch", "bump", "--allow-path", "sub"]).assert_exit(0);
        assert!(subjects(env, &app, "bump").starts_with("bump\n"));
    });
}

/// One that the host's submodule has is as good as any other.
#[test]
fn a_branch_with_a_submodules_commit_that_the_host_has_comes_home() {
    claim::as_root_and_as_user(BINARY, |env| {
        let app = with_submodule(env);
        let sub = app.join("sub");
        git(env, &sub, &["commit", "-q", "--allow-empty", "-m", "newer"]);
        git(env, &sub, &["gc", "-q"]);
        told(env, &app, "git add sub; GIT commit -qm bump");
        about(env, &app, &["apply", "--branch", "bump"]).assert_exit(0);
        git(env, &app, &["checkout", "-q", "bump"]);
        git(env, &app, &["submodule", "--quiet", "update"]);
        // And so is one that another run in the submodule itself has brought home.
        told(env, &sub, "echo 2 > tracked; GIT commit -qam work");
        about(env, &sub, &["apply", "--branch", "agent"]).assert_exit(0);
        git(env, &sub, &["checkout", "-q", "agent"]);
        let said = told(env, &app, "git add sub; GIT commit -qm again");
        assert!(!said.contains("in the submodule"), "{said}");
        about(env, &app, &["apply", "--branch", "again"]).assert_exit(0);
    });
}

/// Commits of a submodule alone are told of although there is no branch to be had.
#[test]
fn commits_in_a_submodule_are_told() {
    claim::as_root_and_as_user(BINARY, |env| {
        let app = with_submodule(env);
        let said = told(env, &app, IN_SUBMODULE);
        assert!(said.contains("it made commits in the submodule sub"), "{said}");
        assert!(said.contains(" --log ") && !said.contains(" --branch "), "{said}");
        let log = about(env, &app, &["diff", "--log", "--json"]);
        log.assert_exit(0).assert_stderr_has("in the submodule sub");
        // What git does on its own there is none.
        for script in ["cd sub; git gc -q", "cd sub; git checkout -q -b other; git tag v1"] {
            let said = told(env, &app, script);
            assert!(!said.contains("in the submodule"), "{script}: {said}");
        }
    });
}

/// The gate and `apply` name the same ways out.
#[test]
fn the_gate_names_the_branch_first_as_apply_does() {
    let env = TestEnv::with_binary(BINARY);
    let repo = repository(&env, "repo");
    told(&env, &repo, "echo 2 > tracked; GIT commit -qam work; echo all: > Makefile");
    let gate = about(&env, &repo, &["gate"]);
    let gate = gate.assert_exit(3).stdout_text().into_owned();
    let ways = gate.split("What can be done:\n").nth(1).unwrap().lines();
    let ways: Vec<String> =
        ways.map(|line| line.split('#').next().unwrap().trim().to_owned()).collect();
    assert!(ways[0].ends_with(" --branch NAME"), "{gate}");
    let apply = about(&env, &repo, &["apply"]);
    let apply = apply.assert_exit(3).stderr_text().into_owned();
    let remedies = apply.lines().filter_map(|line| line.strip_prefix("remedy: "));
    let remedies: Vec<String> =
        remedies.map(|remedy| remedy.split_once(": ").unwrap().1.to_owned()).collect();
    assert_eq!(ways, remedies);
    // A branch that leads nowhere new is no commit.
    told(&env, &repo, "git branch other; git tag here");
    for words in [&["gate"][..], &["apply"]] {
        let said = about(&env, &repo, words);
        said.assert_exit(3);
        assert!(!format!("{}{}", said.stdout_text(), said.stderr_text()).contains("--branch"));
    }
}
