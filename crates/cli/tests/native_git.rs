//! Git works inside, in every layout in which people keep their checkouts, and never writes to the host's
//! repository.
#![expect(clippy::unwrap_used, reason = "in a test, a failed step is the failure")]

use std::path::Path;

use cofferdam_testkit::{TestEnv, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// What an agent does with git all day.
const WORK: &str = "set -e; git status --short; echo inside > new; git add new; \
                    git -c user.email=a@b -c user.name=n commit -qm inside; git log --format=%s; \
                    git diff HEAD~1 --stat | tail -1; git status --short; git rev-parse --show-toplevel";
const WORKED: &str = "inside\nfirst\n 1 file changed, 1 insertion(+)\n/workspace\n";

/// Git on the host, with nobody's settings.
#[track_caller]
fn git(env: &TestEnv, dir: &Path, args: &[&str]) {
    let mut command = env.program("git");
    command.current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1").args([
        "-c",
        "user.email=a@b",
        "-c",
        "user.name=n",
        "-c",
        "protocol.file.allow=always",
    ]);
    command.args(args);
    env.finish(command).assert_exit(0);
}

fn repository(env: &TestEnv, name: &str) -> std::path::PathBuf {
    let file = env.file(format!("../{name}/tracked"), "1\n");
    let dir = file.parent().unwrap().to_owned();
    git(env, &dir, &["init", "-q", "-b", "main", "."]);
    git(env, &dir, &["add", "."]);
    git(env, &dir, &["commit", "-qm", "first"]);
    dir
}

/// Runs the script in `checkout` and sees that nothing in the `watched` directories changed.
#[track_caller]
fn works_in(env: &TestEnv, checkout: &str, watched: &[&str]) {
    let hashes =
        || watched.iter().map(|dir| env.tree_hash(env.top().join(dir))).collect::<Vec<_>>();
    let before = hashes();
    let checkout = env.top().join(checkout);
    let done = claim::run(env, &["--workspace", checkout.to_str().unwrap()], WORK);
    done.assert_exit(0).assert_stdout(WORKED);
    assert_eq!(hashes(), before, "the host's tree changed");
}

#[test]
fn in_a_plain_checkout() {
    claim::as_root_and_as_user(BINARY, |env| {
        repository(env, "repo");
        works_in(env, "repo", &["repo"]);
    });
}

#[test]
fn in_a_linked_worktree() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env, "repo");
        git(env, &repo, &["worktree", "add", "-q", "../linked"]);
        works_in(env, "linked", &["repo", "linked"]);
    });
}

#[test]
fn in_a_worktree_of_a_bare_repository() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env, "repo");
        git(env, &repo, &["clone", "-q", "--bare", ".", "../project/.bare"]);
        git(env, &env.top().join("project/.bare"), &["worktree", "add", "-q", "../main", "main"]);
        works_in(env, "project/main", &["project"]);
    });
}

#[test]
fn in_a_submodule() {
    claim::as_root_and_as_user(BINARY, |env| {
        let library = repository(env, "library");
        let parent = repository(env, "parent");
        let library = library.to_str().unwrap();
        git(env, &parent, &["submodule", "--quiet", "add", library, "lib"]);
        git(env, &parent, &["commit", "-qm", "with a submodule"]);
        works_in(env, "parent/lib", &["parent", "library"]);
        // And in the checkout around it.
        let script = "git status --short; git submodule status | wc -l; git -C lib log --format=%s";
        claim::run(env, &["--workspace", parent.to_str().unwrap()], script)
            .assert_exit(0)
            .assert_stdout("1\nfirst\n");
    });
}

/// The repository belongs to the host in every mode: what git executes stands in there.
#[test]
fn no_mode_writes_to_the_repository() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env, "repo");
        git(env, &repo, &["worktree", "add", "-q", "../linked"]);
        let linked = env.top().join("linked");
        let hooks = repo.join(".git/hooks/pre-commit");
        for mode in ["direct", "readonly"] {
            for checkout in [&repo, &linked] {
                let before = env.tree_hash(repo.join(".git"));
                let script = "cd $(git rev-parse --git-common-dir); (echo evil > hooks/pre-commit) 2>/dev/null && \
                              echo wrote; (echo evil >> config) 2>/dev/null && echo wrote; \
                              mv hooks moved 2>/dev/null && echo moved; git log --format=%s";
                let flags = ["--mode", mode, "--workspace", checkout.to_str().unwrap()];
                claim::run(env, &flags, script).assert_exit(0).assert_stdout("first\n");
                assert_eq!(env.tree_hash(repo.join(".git")), before, "{mode}");
                assert!(!hooks.exists());
            }
        }
        // The rest of a workspace that is written to directly is.
        let flags = ["--mode", "direct", "--workspace", repo.to_str().unwrap()];
        claim::run(env, &flags, "mv .git elsewhere 2>/dev/null || echo kept; echo 2 > tracked")
            .assert_exit(0)
            .assert_stdout("kept\n");
        assert_eq!(std::fs::read_to_string(repo.join("tracked")).unwrap(), "2\n");
    });
}

/// A file `.git` is part of the workspace: it may have been written by an agent.
#[test]
fn a_git_file_shows_no_directory_that_does_not_agree() {
    claim::as_root_and_as_user(BINARY, |env| {
        let secret = env.file("../private/HEAD", "ref: secret\n");
        env.file("../private/objects/key", "secret\n");
        env.file("../private/refs/x", "");
        let private = secret.parent().unwrap();
        for named in [format!("{}", private.display()), "../private".to_owned()] {
            env.file(".git", format!("gitdir: {named}\n"));
            let script =
                format!("cat {}/objects/key /private/objects/key; echo done", private.display());
            let done = claim::run(env, &[], &script);
            done.assert_exit(0)
                .assert_stdout("done\n")
                .assert_stderr_has("git will not work inside");
        }
    });
}

/// Looking does not change anything: an agent that only asks leaves no change behind.
#[test]
fn asking_git_leaves_no_change() {
    claim::as_root_and_as_user(BINARY, |env| {
        let repo = repository(env, "repo");
        // The index remembers another time, which git would write down when it is asked.
        let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let tracked = std::fs::File::options().write(true).open(repo.join("tracked")).unwrap();
        tracked.set_modified(then).unwrap();
        let script = "git status --short; git diff; git log -1 --format=%s";
        let done = claim::run(env, &["--workspace", repo.to_str().unwrap()], script);
        done.assert_exit(0).assert_stdout("first\n");
        assert_eq!(env.latest_record()["changes"]["modified"], 0);
    });
}
