//! Images of projects, in a real engine: built as approved, of what they are made of, and only then; listed,
//! removed, checked and scanned.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod approval;
mod building;
mod corpus;
mod podman;
mod prune;
mod scan;

use std::collections::BTreeSet;

use cofferdam_testkit::docker::{Engine, Which};
use cofferdam_testkit::{Finished, TestEnv};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Programs of the small base.
const PROGRAMS: &[&str] = &[
    "sh", "cat", "cp", "echo", "id", "ls", "touch", "grep", "mkdir", "chown", "test", "true",
    "head", "wc", "git", "date", "sleep", "find",
];

/// What a test works with. The images that it built are gone when it ends.
struct Bench {
    engine: Engine,
    env: TestEnv,
    base: String,
}

impl Bench {
    /// With a small base of its own, named after the test.
    fn new(which: Which, name: &str) -> Self {
        Self::with(BINARY, which, name)
    }

    fn with(binary: &str, which: Which, name: &str) -> Self {
        Self::on(Engine::shared(which), binary, name)
    }

    fn on(engine: Engine, binary: &str, name: &str) -> Self {
        let base = format!("cofferdam-test-{name}:1");
        engine.import_busybox(&base, PROGRAMS, &[]);
        Self { engine, env: TestEnv::with_binary(binary), base }
    }

    /// Writes a Dockerfile on the base, as a user would.
    fn dockerfile(&self, rest: &str) {
        self.env.file("Dockerfile.cofferdam", format!("FROM {}\n{rest}", self.base));
    }

    fn run(&self, words: &[&str]) -> Finished {
        self.engine.command(&self.env, words)
    }

    /// Builds as it stands, which must go well.
    #[track_caller]
    fn build(&self) -> Value {
        let words = ["image", "build", "--sandbox", self.engine.name(), "--approve", "--json"];
        let done = self.run(&words);
        done.assert_exit(0);
        done.json()
    }

    /// Names and ids of all images of the engine.
    fn images(&self) -> BTreeSet<String> {
        let all = self.engine.client(&[
            "images",
            "--no-trunc",
            "--format",
            "{{.Repository}}:{{.Tag}} {{.ID}}",
        ]);
        all.lines().map(str::to_owned).collect()
    }

    fn has(&self, image: &str) -> bool {
        self.images().iter().any(|line| line.contains(image))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let words = ["image", "prune", "--sandbox", self.engine.name(), "--keep", "0", "--json"];
        self.run(&words).assert_exit(0);
        assert!(
            !self.has("cofferdam/")
                || self.run(&["image", "ls", "--sandbox", self.engine.name(), "--json"]).json()
                    == serde_json::json!([])
        );
        self.engine.client(&["rmi", &self.base]);
        assert_eq!(self.engine.left(&self.env.seen_runs()), Vec::<String>::new());
    }
}
