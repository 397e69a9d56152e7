//! Looks at a session in a linked worktree, whose repository lies outside, and where the program works in a copy.

use super::copies::OnOverlay;
use super::round_trip::furnish;
use super::*;

const GIT: &str = "git -c user.name=a -c user.email=a@b";

/// A session in a linked worktree: commits are seen, brought home as a branch, and gone back to.
fn commits_are_looked_at_and_gone_back_to(env: &TestEnv) {
    furnish(
        env,
        &format!(
            "export HOME=/nowhere; git init -q ../main; cd ../main; echo 1 > f; git add f; \
             {GIT} commit -qm one; rmdir ../workspace; git worktree add -q ../workspace -b side"
        ),
    );
    let main = env.tree_hash(env.top().join("main"));
    let flags = ["--sandbox", "native", "--relax", "limits"];
    let started = env.run(["session", "start"].iter().chain(&flags));
    let id = started.assert_exit(0).stdout_text().trim().to_owned();
    let exec = |script: &str| {
        let done = env.run(["session", "exec", &id, "--", "sh", "-ec", script]);
        done.assert_exit(0).stdout_text().into_owned()
    };
    let look = |words: &[&str]| {
        let done = env.run(words.iter().chain(&["--session", &id]));
        done.assert_exit(0).stdout_text().into_owned()
    };
    exec(&format!("echo 2 > f; {GIT} commit -qam two; echo new > g"));
    assert_eq!(look(&["diff", "--name-only"]), "f\ng\n");
    let log = look(&["diff", "--log"]);
    assert!(log.contains("two"), "{log}");
    env.run(["session", "checkpoint", &id, "good"]).assert_exit(0);
    exec(&format!("rm f g; echo junk > junk; {GIT} commit -qam three; git branch stray"));
    env.run(["session", "rollback", &id, "good"]).assert_exit(0);
    let state =
        "git log --format=%s; git branch --format='%(refname:short)'; git status -s; cat f g";
    assert_eq!(exec(state), "two\none\nmain\nside\n?? g\n2\nnew\n".replace("main", &first(env)));
    assert_eq!(env.tree_hash(env.top().join("main")), main, "the host's repository is as it was");
    look(&["apply", "--branch", "home"]);
    let log = env.program("git").args(["log", "--format=%s", "home"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&log.stdout), "two\none\n");
    env.run(["session", "stop", "--quiet", &id]).assert_exit(0);
    env.run(["audit", "verify"]).assert_exit(0);
}

/// What git calls the first branch here.
fn first(env: &TestEnv) -> String {
    let main = env.top().join("main");
    let mut git = env.program("git");
    let name =
        git.args(["-C", main.to_str().unwrap(), "branch", "--show-current"]).output().unwrap();
    String::from_utf8_lossy(&name.stdout).trim().to_owned()
}

#[test]
fn in_a_linked_worktree() {
    commits_are_looked_at_and_gone_back_to(&env());
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn in_a_linked_worktree_that_is_copied() {
    let env = env();
    let _state = OnOverlay::at(&env);
    commits_are_looked_at_and_gone_back_to(&env);
}
