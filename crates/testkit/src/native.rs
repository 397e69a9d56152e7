//! Claims about the native backend: run as whoever runs the tests, and as an ordinary user.

use std::process::{Child, Stdio};

use crate::{Finished, TestEnv};

/// Ordinary users have no control group of their own on every host. Claims that are not about limits
/// give them up, so that they can be tried everywhere.
pub const NATIVE: [&str; 6] = ["run", "--quiet", "--sandbox", "native", "--relax", "limits"];

/// Tries a claim twice: as whoever runs the tests, and as a user without privileges.
pub fn as_root_and_as_user(binary: &str, claim: impl Fn(&TestEnv)) {
    claim(&TestEnv::with_binary(binary));
    claim(&TestEnv::with_binary(binary).unprivileged());
}

/// Runs a shell script in a native sandbox, to its end.
pub fn run(env: &TestEnv, flags: &[&str], script: &str) -> Finished {
    env.run(NATIVE.iter().chain(flags).chain(&["--", "sh", "-c", script]))
}

/// Starts a shell script in a native sandbox and returns at once.
pub fn spawn(env: &TestEnv, flags: &[&str], script: &str) -> Child {
    let mut command = env.cofferdam();
    command.args(NATIVE).args(flags).args(["--", "sh", "-c", script]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap_or_else(|e| panic!("cannot start cofferdam: {e}"))
}
