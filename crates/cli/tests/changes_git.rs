//! Commits that were made inside come home as a branch, and nothing else of the program's repository does.
#![expect(clippy::unwrap_used, reason = "in a test, a failed step is the failure")]

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cofferdam_testkit::{Finished, TestEnv, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

const COMMIT: &str = "set -e; git config user.email a@b; git config user.name n; \
                      echo 1 > one; git add one; git commit -qm 'add one'; \
                      echo 2 > two; git add two; git commit -qm 'add two'";

#[track_caller]
fn git(env: &TestEnv, dir: &Path, args: &[&str]) -> Finished {
    let mut command = env.program("git");
    command.current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "user.email=a@b", "-c", "user.name=n"]).args(args);
    let done = env.finish(command);
    done.assert_exit(0);
    done
}

fn repository(env: &TestEnv) -> PathBuf {
    let file = env.file("../repo/tracked", "1\n");
    let dir = file.parent().unwrap().to_owned();
    git(env, &dir, &["init", "-q", "-b", "main", "."]);
    git(env, &dir, &["add", "."]);
    git(env, &dir, &["commit", "-qm", "first"]);
    dir
}

/// Runs the script in a checkout.
#[track_caller]
fn inside(env: &TestEnv, checkout: &Path, script: &str) {
    claim::run(env, &["--workspace", checkout.to_str().unwrap()], script).assert_exit(0);
}

/// A command about the changes of the newest run in a checkout.
fn about(env: &TestEnv, checkout: &Path, words: &[&str]) -> Finished {
    let mut command = env.cofferdam();
    command.current_dir(checkout).args(words);
    env.finish(command)
}

fn subjects(env: &TestEnv, checkout: &Path, branch: &str) -> String {
    git(env, checkout, &["log", "--format=%s", branch]).stdout_text().into_owned()
}

#[track_caller]
fn comes_home(env: &TestEnv, checkout: &Path, repository: &Path) {
    inside(env, checkout, COMMIT);
    let config = std::fs::read(repository.join("config")).unwrap();
    let head = std::fs::read(repository.join("HEAD")).unwrap();

    let log = about(env, checkout, &["diff", "--log"]);
    log.assert_exit(0);
    let text = log.stdout_text();
    assert!(text.contains("    add two\n") && text.contains("    add one\n"), "{text}");
    assert!(!text.contains("first"), "what the host has is not new: {text}");
    let json = about(env, checkout, &["diff", "--log", "--json"]).json();
    assert_eq!(json[0]["subject"], "add two");

    about(env, checkout, &["apply", "--branch", "agent"]).assert_exit(0);
    assert_eq!(subjects(env, checkout, "agent"), "add two\nadd one\nfirst\n");
    git(env, checkout, &["fsck", "--strict"]);
    // The branch is all that came: nothing is checked out, no setting, no other reference.
    assert!(!checkout.join("one").exists());
    assert_eq!(std::fs::read(repository.join("config")).unwrap(), config);
    assert_eq!(std::fs::read(repository.join("HEAD")).unwrap(), head);
    assert_eq!(subjects(env, checkout, "main"), "first\n");
    // A second time there is nothing new, and a name that is taken is not touched.
    about(env, checkout, &["apply", "--branch", "agent"])
        .assert_exit(1)
        .assert_stderr_has("no commit that the host does not have");
    let events = about(env, checkout, &["events", "--json"]);
    assert!(events.stdout_text().contains("changes.imported"));
}

#[test]
fn from_a_plain_checkout() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env);
        comes_home(env, &repo, &repo.join(".git"));
    });
}

/// What git keeps for itself is not what anybody wants to read, nor what to take home.
#[test]
fn commits_are_counted_and_offered_as_a_branch() {
    let env = TestEnv::with_binary(BINARY);
    let checkout = repository(&env);
    let words = ["--workspace", checkout.to_str().unwrap(), "--", "sh", "-c", COMMIT];
    let run = env.run(["run"].into_iter().chain(claim::sandbox(&env)).chain(words));
    let run = run.assert_exit(0).stderr_text().into_owned();
    assert!(run.contains("    + one\n") && run.contains("    + two\n"), "{run}");
    assert!(run.contains(" in .git\n"), "{run}");
    assert!(!run.contains(".git/"), "{run}");

    let refused = about(&env, &checkout, &["apply"]);
    let said = refused.assert_exit(3).stderr_text().into_owned();
    let remedies: Vec<&str> = said.lines().filter(|line| line.starts_with("remedy: ")).collect();
    assert!(remedies[0].ends_with("--branch NAME"), "{remedies:?}");
    assert!(remedies[1].ends_with("--allow-class git-internals"), "{remedies:?}");

    // Without a commit there is no branch to be had.
    inside(&env, &checkout, "git config a.b c; echo 3 > three");
    let refused = about(&env, &checkout, &["apply"]);
    assert!(!refused.assert_exit(3).stderr_text().contains("--branch"), "{refused:?}");
}

#[test]
fn from_a_linked_worktree() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env);
        git(env, &repo, &["worktree", "add", "-q", "../linked"]);
        comes_home(env, &env.top().join("linked"), &repo.join(".git"));
        assert!(repo.join(".git/refs/heads/agent").exists());
    });
}

/// What the program packed is unpacked by us: an index that comes with a pack is not believed.
#[test]
fn packed_objects_and_references_come_too() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env);
        inside(env, &repo, &format!("{COMMIT}; git gc -q; test -s .git/packed-refs"));
        about(env, &repo, &["apply", "--branch", "agent"]).assert_exit(0);
        assert_eq!(subjects(env, &repo, "agent"), "add two\nadd one\nfirst\n");
    });
}

/// Every way in which a repository makes git execute something, planted inside.
const TRAPS: &str = r#"
for h in pre-commit post-checkout reference-transaction post-index-change post-update; do
  printf '#!/bin/sh\ntouch "$CANARY"\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done
for k in core.fsmonitor core.sshCommand core.pager core.editor diff.external credential.helper gpg.program \
  uploadpack.packObjectsHook core.alternateRefsCommand alias.log filter.x.clean filter.x.smudge diff.x.textconv; do
  git config $k "touch $CANARY"; done
git config core.hooksPath .git/hooks
git config include.path /tmp/evil
echo '* filter=x diff=x' > .gitattributes
echo '* filter=x diff=x' > .git/info/attributes
"#;

#[test]
fn nothing_that_was_planted_is_executed_or_comes_along() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env);
        let canary = env.top().join("workspace/canary");
        let script = format!("{COMMIT}; CANARY={}; {TRAPS}", canary.display());
        inside(env, &repo, &script);
        let before = env.tree_hash(repo.join(".git"));
        for words in [
            &["diff"][..],
            &["diff", "--stat"],
            &["diff", "--patch"],
            &["diff", "--log"],
            &["gate"],
            &["apply", "--check"],
            &["apply"],
        ] {
            about(env, &repo, words);
            assert!(!canary.exists(), "{words:?} executed what was planted");
        }
        assert_eq!(env.tree_hash(repo.join(".git")), before, "without a yes of its own");
        about(env, &repo, &["apply", "--branch", "agent"]).assert_exit(0);
        assert!(!canary.exists());
        assert!(!repo.join(".git/hooks/pre-commit").exists());
        let config = std::fs::read_to_string(repo.join(".git/config")).unwrap();
        assert!(!config.contains("canary") && !config.contains("evil"), "{config}");
        assert!(!repo.join(".gitattributes").exists());
    });
}

/// Repositories whose objects are named by SHA-256: commits come home, and binary patches fit.
#[test]
fn of_a_repository_with_long_names() {
    claim::as_root_and_as_user(BINARY, |env| {
        let file = env.file("../repo/tracked", "1\n");
        let repo = file.parent().unwrap().to_owned();
        git(env, &repo, &["init", "-q", "-b", "main", "--object-format=sha256", "."]);
        env.file("../repo/binary", b"\0old");
        git(env, &repo, &["add", "."]);
        git(env, &repo, &["commit", "-qm", "first"]);
        inside(env, &repo, &format!("{COMMIT}; printf '\\0new' > binary; git gc -q"));
        let log = about(env, &repo, &["diff", "--log", "--json"]).json();
        assert_eq!(
            (&log[0]["subject"], log[0]["id"].as_str().unwrap().len()),
            (&"add two".into(), 64)
        );
        let patch = about(env, &repo, &["diff", "--patch", "binary"]);
        patch.assert_exit(0);
        assert!(patch.stdout_text().contains("GIT binary patch"), "{patch:?}");
        std::fs::write(env.top().join("patch"), &patch.stdout).unwrap();
        git(env, &repo, &["apply", "--check", "../patch"]);
        about(env, &repo, &["apply", "--branch", "agent"]).assert_exit(0);
        assert_eq!(subjects(env, &repo, "agent"), "add two\nadd one\nfirst\n");
        git(env, &repo, &["fsck", "--strict"]);
    });
}

#[test]
fn a_broken_object_does_not_come_home() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env);
        // A tree that names a file `.git/config`, which would be written on checkout.
        let script = "set -e; git config user.email a@b; git config user.name n; \
                      blob=$(echo evil | git hash-object -w --stdin); \
                      inner=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree); \
                      tree=$(printf '040000 tree %s\\t.git\\n' $inner | git mktree); \
                      commit=$(git commit-tree -m evil $tree -p HEAD); \
                      git update-ref refs/heads/main $commit";
        inside(env, &repo, script);
        let before = git(env, &repo, &["for-each-ref"]).stdout;
        about(env, &repo, &["apply", "--branch", "agent"]).assert_exit(1).assert_stderr_has("git");
        assert_eq!(git(env, &repo, &["for-each-ref"]).stdout, before);
    });
}

#[test]
fn a_name_that_is_none_or_taken_is_refused() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env);
        inside(env, &repo, COMMIT);
        for name in
            ["--upload-pack=x", "a..b", "", "a b", "x.lock", "../../config", "HEAD", "@{-1}"]
        {
            about(env, &repo, &["apply", &format!("--branch={name}")]).assert_exit(1);
        }
        about(env, &repo, &["apply", "--branch", "main"])
            .assert_exit(1)
            .assert_stderr_has("there is a branch");
        assert_eq!(subjects(env, &repo, "main"), "first\n");
    });
}

/// Root that brings commits into somebody's repository leaves nothing of root's there; whoever else does
/// leaves what is their own.
#[test]
fn what_comes_home_belongs_to_the_repositorys_owner() {
    let env = TestEnv::with_binary(BINARY);
    let repo = repository(&env);
    let us = std::fs::metadata("/proc/self").unwrap().uid();
    let owner = if us == 0 { 12345 } else { us };
    let mut chown = env.program("chown");
    chown.args(["-R", &owner.to_string(), repo.to_str().unwrap()]);
    env.finish(chown).assert_exit(0);
    inside(&env, &repo, &COMMIT.replace("git config", "git config --global"));
    about(&env, &repo, &["apply", "--branch", "agent"]).assert_exit(0);
    let mut find = env.program("find");
    find.args([repo.to_str().unwrap(), "!", "-user", &owner.to_string()]);
    env.finish(find).assert_exit(0).assert_stdout("");
}

/// Steps of an agent add up, its commits too.
#[test]
fn a_run_that_goes_on_from_another_has_its_commits() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env);
        git(env, &repo, &["worktree", "add", "-q", "-b", "other", "../linked"]);
        for checkout in [repo, env.top().join("linked")] {
            inside(env, &checkout, COMMIT);
            let script = "set -e; git log --format=%s; echo 3 > three; git add three; \
                          git commit -qm 'add three'";
            let flags = ["--workspace", checkout.to_str().unwrap(), "--from", "last"];
            let mut command = env.cofferdam();
            command.current_dir(&checkout).args(claim::words(env)).args(flags);
            command.args(["--", "sh", "-c", script]);
            env.finish(command).assert_exit(0).assert_stdout("add two\nadd one\nfirst\n");
            let name = checkout.file_name().unwrap().to_str().unwrap();
            about(env, &checkout, &["apply", "--branch", name]).assert_exit(0);
            assert_eq!(subjects(env, &checkout, name), "add three\nadd two\nadd one\nfirst\n");
            git(env, &checkout, &["branch", "-qD", name]);
        }
    });
}

/// What is hidden looks empty inside: `git commit -a` would empty it. A template is not hidden.
#[test]
fn a_commit_that_empties_what_was_hidden_does_not_come_home_unasked() {
    let env = TestEnv::with_binary(BINARY);
    let checkout = repository(&env);
    for (name, text) in [(".env.example", "KEY=made-up\n"), (".env.test", "KEY=of-tests\n")] {
        std::fs::write(checkout.join(name), text).unwrap();
    }
    git(&env, &checkout, &["add", "."]);
    git(&env, &checkout, &["commit", "-qm", "settings"]);
    let script = "set -e; cat .env.example; cat .env.test; git config user.email a@b; git config user.name n; \
                  echo 2 > tracked; git commit -qm fine tracked; git status --short; git commit -qam all";
    let done = claim::run(&env, &["--workspace", checkout.to_str().unwrap()], script);
    done.assert_exit(0);
    assert_eq!(done.stdout_text(), "KEY=made-up\n M .env.test\n");

    let refused = about(&env, &checkout, &["apply", "--branch", "agent"]);
    refused.assert_exit(3).assert_stderr_has("hidden from the program: .env.test");
    refused.assert_stderr_has("--allow-path");
    let there = git(&env, &checkout, &["branch", "--list", "agent"]);
    assert_eq!(there.stdout_text(), "", "nothing has come");

    let other = ["apply", "--branch", "agent", "--allow-path", "tracked"];
    about(&env, &checkout, &other).assert_exit(3);
    let allowed = ["apply", "--branch", "agent", "--allow-path", ".env.test"];
    about(&env, &checkout, &allowed).assert_exit(0);
    assert_eq!(subjects(&env, &checkout, "agent"), "all\nfine\nsettings\nfirst\n");
}

/// Commits that leave alone what is hidden, and merges of the host's own changes to it, are as good as ever.
#[test]
fn a_commit_beside_what_was_hidden_comes_home() {
    let env = TestEnv::with_binary(BINARY);
    let checkout = repository(&env);
    git(&env, &checkout, &["checkout", "-q", "-b", "settings"]);
    std::fs::write(checkout.join(".env.test"), "KEY=of-tests\n").unwrap();
    git(&env, &checkout, &["add", "."]);
    git(&env, &checkout, &["commit", "-qm", "settings"]);
    git(&env, &checkout, &["checkout", "-q", "main"]);
    let script = "set -e; git config user.email a@b; git config user.name n; echo 2 > tracked; \
                  git commit -qm work tracked; \
                  git merge -q --no-edit -s ours settings";
    inside(&env, &checkout, script);
    about(&env, &checkout, &["apply", "--branch", "agent"]).assert_exit(0);
    assert!(subjects(&env, &checkout, "agent").contains("work\n"));
}
