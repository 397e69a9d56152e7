//! Owners that are killed, and nobody who cleans up meanwhile: then one `gc` of each state directory leaves nothing.
//!
//! Every run looks for what dead owners left in its own state directory, so that the killed are spread over many:
//! in each, all are started before the first of them dies.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use cofferdam_testkit::docker::{Engine, Which, as_root_and_as_user};
use cofferdam_testkit::{TestEnv, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
/// Runs of one state directory.
const AT_ONCE: usize = 4;
/// After the last kill an engine may still be making what it was told to make.
const SETTLING: Duration = Duration::from_secs(3);

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn one_clean_up_after_all_leaves_nothing_in_docker() {
    as_root_and_as_user(BINARY, Which::Docker, drill);
}

#[test]
#[cfg_attr(not(feature = "test-podman"), ignore = "needs a Podman service: cargo xtask test")]
fn one_clean_up_after_all_leaves_nothing_in_podman() {
    as_root_and_as_user(BINARY, Which::Podman, drill);
}

fn drill(engine: &Engine, env: &TestEnv) {
    let span = usual_span(engine, env);
    let foreign = Foreign::new(engine);
    let states: Vec<State> = (0..kills().div_ceil(AT_ONCE)).map(|n| State::new(env, n)).collect();
    let mut step = 0;
    for state in &states {
        let running: Vec<Child> = (0..AT_ONCE).map(|_| state.start(engine, env)).collect();
        let began = Instant::now();
        for mut child in running {
            // From before anything exists to well after the command runs.
            let moment = span * u32::try_from(step % 97).unwrap() / 97;
            step += 37;
            std::thread::sleep(moment.saturating_sub(began.elapsed()));
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
    std::thread::sleep(SETTLING);
    let runs: BTreeSet<String> = states.iter().flat_map(State::runs).collect();
    assert!(!engine.left(&runs).is_empty(), "nobody was killed while there was something to leave");
    for state in &states {
        let done = env.finish(state.cofferdam(engine, env, &["gc"]));
        done.assert_exit(0);
    }
    assert_eq!(engine.left(&runs), Vec::<String>::new());
    assert_eq!(engine.client(&["network", "ls", "-q", "--filter", "label=cofferdam.run"]), "");
    assert!(wait_until(Duration::from_secs(5), || !have_processes(&runs)));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    for state in &states {
        assert!(!mounts.contains(state.top.to_str().unwrap()), "{mounts}");
        assert_eq!(state.left(), Vec::<PathBuf>::new());
        env.finish(state.cofferdam(engine, env, &["audit", "verify"])).assert_exit(0);
    }
    foreign.is_untouched(engine);
}

/// How often somebody is killed: more in the long form of the tests.
fn kills() -> usize {
    let asked = std::env::var("TEST_KILLS").ok();
    asked.map_or(16, |text| text.parse().expect("TEST_KILLS is a number"))
}

/// How long a run takes that has nothing to do, where others are started at once.
fn usual_span(engine: &Engine, env: &TestEnv) -> Duration {
    engine.run(env, &[], "true").assert_exit(0);
    let began = Instant::now();
    engine.run(env, &[], "true").assert_exit(0);
    began.elapsed() * u32::try_from(AT_ONCE).unwrap()
}

/// A state directory of its own.
struct State {
    top: PathBuf,
}

impl State {
    fn new(env: &TestEnv, number: usize) -> Self {
        Self { top: env.home().join(format!("state-{number}")) }
    }

    fn cofferdam(&self, engine: &Engine, env: &TestEnv, args: &[&str]) -> std::process::Command {
        let mut command = engine.cofferdam(env);
        command.env("XDG_STATE_HOME", &self.top).args(args);
        command
    }

    fn start(&self, engine: &Engine, env: &TestEnv) -> Child {
        let words = ["run", "--quiet", "--sandbox", engine.name(), "--", "sleep", "100"];
        let mut command = self.cofferdam(engine, env, &words);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        command.spawn().unwrap()
    }

    fn names(&self, dir: &str) -> Vec<PathBuf> {
        // Of those that were killed at once, some have not even made it.
        let Ok(entries) = fs::read_dir(self.top.join("cofferdam").join(dir)) else {
            return Vec::new();
        };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn runs(&self) -> Vec<String> {
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        self.names("active").into_iter().chain(self.names("runs")).map(name).collect()
    }

    /// Marks, places of mounts, and what is made for a container alone.
    fn left(&self) -> Vec<PathBuf> {
        let made = ["etc", "home", "covers", "work", "lower", "variables", "upper"];
        let of_runs = self.names("runs");
        let of_runs = of_runs.iter().flat_map(|run| made.map(|name| run.join(name)));
        let of_runs = of_runs.filter(|path| path.symlink_metadata().is_ok());
        self.names("active").into_iter().chain(self.names("mounts")).chain(of_runs).collect()
    }
}

fn have_processes(runs: &BTreeSet<String>) -> bool {
    let mut processes = fs::read_dir("/proc").unwrap().flatten();
    processes.any(|process| is_of(&process.path(), runs))
}

fn is_of(process: &Path, runs: &BTreeSet<String>) -> bool {
    let Ok(variables) = fs::read(process.join("environ")) else { return false };
    let text = String::from_utf8_lossy(&variables);
    let run = text.split('\0').find_map(|variable| variable.strip_prefix("COFFERDAM_RUN="));
    run.is_some_and(|run| runs.contains(run))
}

/// Somebody else's container and volume: with names like ours, and labels like ours of another state directory.
struct Foreign {
    name: String,
}

impl Foreign {
    fn new(engine: &Engine) -> Self {
        let name = format!("cofferdam-01m0foreign{}", std::process::id());
        let images = engine.client(&["images", "-q", "cofferdam-host-*"]);
        let image = images.lines().next().unwrap();
        let run = format!("cofferdam.run=01m0foreign{}", std::process::id());
        let labels = ["--label", &run, "--label", "cofferdam.state=0000", "--label", "cofferdam=1"];
        let head = ["create", "--name", &name];
        engine.client(&[&head[..], &labels[..], &[image, "true"]].concat());
        engine.client(&[&["volume", "create"], &labels[..], &[&name]].concat());
        Self { name }
    }

    fn is_untouched(&self, engine: &Engine) {
        engine.client(&["rm", &self.name]);
        engine.client(&["volume", "rm", &self.name]);
    }
}
