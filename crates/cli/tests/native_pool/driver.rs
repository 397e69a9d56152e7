//! A long-lived process with a launcher, as a test sees it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use cofferdam_testkit::{TestEnv, wait_until};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Driver<'a> {
    env: &'a TestEnv,
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

/// What a launcher has made, by the kernel's own names.
#[derive(Debug)]
pub(crate) struct Made {
    launcher: u32,
    processes: Vec<u32>,
    groups: Vec<String>,
}

impl<'a> Driver<'a> {
    pub(crate) fn start(env: &'a TestEnv) -> Self {
        Self::start_as(env, env.cofferdam())
    }

    /// By somebody else, who passes arguments on.
    pub(crate) fn start_as(env: &'a TestEnv, mut command: Command) -> Self {
        command.args(["drive", "recorded"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { env, stdin: child.stdin.take(), stdout, child }
    }

    /// Runs a script and returns its record.
    pub(crate) fn run(&mut self, flags: &[&str], script: &str) -> Value {
        self.ask(flags, script);
        self.answer()
    }

    pub(crate) fn ask(&mut self, flags: &[&str], script: &str) {
        let words: Vec<&str> = ["--sandbox", "native"]
            .into_iter()
            .chain(flags.iter().copied())
            .chain(["--", "sh", "-c", script])
            .collect();
        writeln!(self.stdin.as_mut().unwrap(), "{}", json!(words)).unwrap();
    }

    pub(crate) fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }

    /// Runs a script in a prepared sandbox: makes sure that there is one, and that it was used.
    pub(crate) fn run_pooled(&mut self, flags: &[&str], script: &str) -> Value {
        self.run_pooled_after(flags, script, || {})
    }

    /// The same, with something done to the host once the sandbox stands. Whatever others do to this
    /// host meanwhile may make one made anew the right answer; not every time.
    pub(crate) fn run_pooled_after(
        &mut self,
        flags: &[&str],
        script: &str,
        act: impl Fn(),
    ) -> Value {
        for _ in 0..8 {
            self.run(flags, "true");
            let ready = self.wait_until_ready();
            act();
            let record = self.run(flags, script);
            if self.came_from(&ready, &record) {
                return record;
            }
        }
        panic!("never from the pool");
    }

    /// Whether the run got a directory that was prepared: the kernel knows where it was last, which is in the run's
    /// own or, when that is sealed, among the waste under the run's name.
    pub(crate) fn came_from(&self, ready: &BTreeMap<String, File>, record: &Value) -> bool {
        let run = record["run"].as_str().unwrap();
        let place = |upper: &File| fs::read_link(format!("/proc/self/fd/{}", upper.as_raw_fd()));
        ready.values().any(|upper| place(upper).unwrap().to_string_lossy().contains(run))
    }

    pub(crate) fn run_dir(&self, record: &Value) -> PathBuf {
        self.env.state_dir().join("runs").join(record["run"].as_str().unwrap())
    }

    pub(crate) fn stdout_of(&self, record: &Value) -> String {
        match fs::read_to_string(self.run_dir(record).join("stdout")) {
            // A run that printed nothing has no such file.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text.unwrap(),
        }
    }

    /// Prepared sandboxes by name, with the directory of what will be the run's changes. All of them stand.
    pub(crate) fn wait_until_ready(&self) -> BTreeMap<String, File> {
        let mut ready = BTreeMap::new();
        let full = wait_until(PATIENCE, || {
            ready = self.prepared();
            ready.len() >= 4 && self.launcher().is_some_and(is_asleep)
        });
        assert!(full, "{ready:?}");
        ready
    }

    fn prepared(&self) -> BTreeMap<String, File> {
        let places = pools(self.env).into_iter().flat_map(|pool| directories(&pool));
        let upper = |dir: &PathBuf| File::open(dir.join("upper")).ok();
        places.filter_map(|dir| Some((name(&dir), upper(&dir)?))).collect()
    }

    /// The child that is called so.
    pub(crate) fn launcher(&self) -> Option<u32> {
        children(self.child.id()).into_iter().find(|pid| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.split(|b| *b == 0).any(|word| word == b"launcher"))
        })
    }

    /// Whether there is a run, and groups that are called after it.
    pub(crate) fn has_groups_of(&self, runs: &[String]) -> bool {
        self.launcher().is_some() && runs.first().is_some_and(|run| has_group(run))
    }

    pub(crate) fn made(&self) -> Made {
        let launcher = self.launcher().unwrap();
        let places = pools(self.env).into_iter().flat_map(|pool| directories(&pool));
        let groups = places.map(|dir| name(&dir)).chain(self.env.runs()).collect();
        Made { launcher, processes: children(launcher), groups }
    }
}

impl Made {
    /// Sees that the launcher and all it made are gone.
    pub(crate) fn assert_gone(&self) {
        assert!(!self.processes.is_empty() && !self.groups.is_empty(), "{self:?}");
        let mut left = Vec::new();
        let gone = wait_until(PATIENCE, || {
            let pids = self.processes.iter().chain([&self.launcher]);
            left = pids.filter(|pid| lives(**pid)).map(ToString::to_string).collect();
            left.extend(self.groups.iter().filter(|name| has_group(name)).cloned());
            left.is_empty()
        });
        assert!(gone, "still there: {left:?}");
    }

    /// A process that was killed takes a moment to die.
    pub(crate) fn wait_until_dead(&self) {
        assert!(wait_until(PATIENCE, || !self.processes.iter().any(|pid| lives(*pid))));
    }

    pub(crate) fn processes(&self) -> &[u32] {
        &self.processes
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.child.wait().unwrap();
    }
}

pub(crate) fn kill(pid: u32) {
    send("-KILL", pid);
}

pub(crate) fn send(signal: &str, pid: u32) {
    let status = std::process::Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

/// A process that kills another as soon as it is told to.
pub(crate) struct Blow(Child);

impl Blow {
    pub(crate) fn at(pid: u32) -> Self {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "echo; read -r _; kill -9 $0", &pid.to_string()]);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self(shell)
    }

    pub(crate) fn strike(&mut self) {
        self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

/// The directories of launchers.
pub(crate) fn pools(env: &TestEnv) -> Vec<PathBuf> {
    directories(&env.state_dir().join("pool"))
}

fn directories(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn name(dir: &Path) -> String {
    dir.file_name().unwrap().to_string_lossy().into_owned()
}

fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn stat(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.chars().take(1).collect())
}

fn lives(pid: u32) -> bool {
    stat(pid).is_some_and(|state| state != "Z")
}

/// Waits for a question and for nothing else: a launcher that has work to do looks up at once.
fn is_asleep(pid: u32) -> bool {
    let quiet = || {
        let wait = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let count = wait.lines().filter(|line| line.contains("voluntary_ctxt_switches"));
        count.map(str::to_owned).collect::<Vec<_>>()
    };
    let sleeps = |pid: u32| stat(pid).is_some_and(|state| state == "S");
    let before = quiet();
    std::thread::sleep(Duration::from_millis(50));
    sleeps(pid) && children(pid).into_iter().all(sleeps) && before == quiet()
}

pub(crate) fn has_group(name: &str) -> bool {
    ["memory", "pids", "cpu", "unified", ""].iter().any(|controller| {
        Path::new("/sys/fs/cgroup").join(controller).join(format!("cofferdam.{name}")).exists()
    })
}
