//! Sessions: many commands in one sandbox, from a process that outlives whoever started it. On each backend alike.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod changes;
mod commands;
mod endings;
mod walls;

use cofferdam_testkit::{Finished, TestEnv, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// A session of a test, stopped with it.
struct Session<'a> {
    env: &'a TestEnv,
    id: String,
}

impl<'a> Session<'a> {
    fn start(env: &'a TestEnv, flags: &[&str]) -> Self {
        let head = ["session", "start"].into_iter().chain(claim::sandbox(env));
        let started = env.run(head.chain(flags.iter().copied()));
        started.assert_exit(0);
        Self { env, id: started.stdout_text().trim().to_owned() }
    }

    /// `cofferdam session exec ID FLAGS -- sh -c SCRIPT`
    fn exec(&self, flags: &[&str], script: &str) -> Finished {
        let head = ["session", "exec", self.id.as_str()];
        self.env.run(head.iter().chain(flags).chain(&["--", "sh", "-c", script]))
    }

    fn sub(&self, verb: &str, rest: &[&str]) -> Finished {
        self.env.run(["session", verb, self.id.as_str()].iter().chain(rest))
    }

    fn jobs(&self) -> serde_json::Value {
        self.sub("jobs", &["--json"]).assert_exit(0).json()
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // One that was ended by the test is not there any more.
        self.sub("stop", &["--quiet"]);
    }
}
