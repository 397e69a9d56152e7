//! Claims about sandboxes: each tried as whoever runs the tests, and as an ordinary user.
//!
//! They are about native ones, unless `TEST_BACKEND` names an engine: `cargo xtask test` runs the same claims once
//! for each backend. What only native sandboxes have stands in files of its own and is not among them.

use std::process::{Child, Stdio};

use crate::{Finished, TestEnv};

/// Tries a claim twice: as whoever runs the tests, and as a user without privileges.
pub fn as_root_and_as_user(binary: &str, claim: impl Fn(&TestEnv)) {
    claim(&TestEnv::with_binary(binary));
    claim(&TestEnv::with_binary(binary).unprivileged());
}

/// The words that begin a run in a sandbox of `env`'s backend.
pub fn words(env: &TestEnv) -> Vec<&'static str> {
    ["run", "--quiet"].into_iter().chain(sandbox(env)).collect()
}

/// The flags that name `env`'s backend.
pub fn sandbox(env: &TestEnv) -> Vec<&'static str> {
    let mut words = vec!["--sandbox", env.backend().name()];
    if env.backend().engine().is_none() {
        // Ordinary users have no control group of their own on every host. Claims that are not about limits
        // give them up, so that they can be tried everywhere.
        words.extend(["--relax", "limits"]);
    }
    words
}

/// Runs a shell script in a sandbox, to its end.
#[track_caller]
pub fn run(env: &TestEnv, flags: &[&str], script: &str) -> Finished {
    env.run(words(env).iter().chain(flags).chain(&["--", "sh", "-c", script]))
}

/// Runs a script in a sandbox whose workspace is staged. It must go well, and the host must not notice.
#[track_caller]
pub fn stage(env: &TestEnv, script: &str) {
    let before = env.tree_hash(env.workspace());
    run(env, &[], &format!("set -e; umask 022; {script}")).assert_exit(0);
    let after = env.tree_hash(env.workspace());
    assert_eq!(after, before, "the host changed before anything was applied");
}

/// Starts a shell script in a sandbox and returns at once.
pub fn spawn(env: &TestEnv, flags: &[&str], script: &str) -> Child {
    let mut command = env.cofferdam();
    command.args(words(env)).args(flags).args(["--", "sh", "-c", script]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap_or_else(|e| panic!("cannot start cofferdam: {e}"))
}
