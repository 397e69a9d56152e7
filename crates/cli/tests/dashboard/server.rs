//! A server of a test's own, that can be lost and come back.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cofferdam_testkit::{TestEnv, wait_until};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Every backend confines; this one is on every machine, and starts fastest.
const HOST: &str = "sandbox:\n  backend: native\n  relax: [limits]\n";

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    /// Of scope `admin`.
    pub(crate) token: String,
    running: Option<Child>,
    env: TestEnv,
}

impl Server {
    pub(crate) fn start() -> Self {
        // For figures: a program that was built with care.
        let program = std::env::var_os("TEST_PROGRAM").unwrap_or_else(|| BINARY.into());
        let env = TestEnv::with_binary(program);
        std::fs::write(env.config_dir().join("config.yaml"), HOST).unwrap();
        let (child, said) = launch(&env, "127.0.0.1:0");
        let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
        Self { url: text("url"), token: text("token"), running: Some(child), env }
    }

    /// A git repository with a settings file and a long one, to be the root of a project.
    pub(crate) fn repository(&self) -> PathBuf {
        let root = self.root();
        std::fs::write(root.join("app.yaml"), "name: demo\nport: 8080\ndebug: false\n").unwrap();
        let long: String = (1..=40).map(|number| format!("line {number}\n")).collect();
        std::fs::write(root.join("long.txt"), long).unwrap();
        git(&root, &["init", "-q"]);
        self.commit("first");
        root
    }

    /// Where that is.
    pub(crate) fn root(&self) -> PathBuf {
        self.env.workspace()
    }

    /// All that is in it.
    pub(crate) fn commit(&self, message: &str) {
        git(&self.root(), &["add", "."]);
        git(&self.root(), &["commit", "-qm", message]);
    }

    /// The worktree that a task works in.
    pub(crate) fn worktree(&self, task: &str) -> PathBuf {
        find(self.env.top(), task).unwrap_or_else(|| panic!("no worktree of {task}"))
    }

    /// It is there, and says nothing until it is woken by `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.running.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// From one moment to the next.
    pub(crate) fn kill(&mut self) {
        let mut child = self.running.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// At the same address.
    pub(crate) fn again(&mut self) {
        let address = self.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        self.running = Some(launch(&self.env, &address).0);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(mut child) = self.running.take() else { return };
        Command::new("kill").arg(child.id().to_string()).status().ok();
        if !wait_until(Duration::from_secs(20), || child.try_wait().ok().flatten().is_some()) {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

fn git(root: &Path, words: &[&str]) {
    let who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"];
    let mut git = Command::new("git");
    assert!(git.args(who).args(words).current_dir(root).status().unwrap().success());
}

fn launch(env: &TestEnv, address: &str) -> (Child, Value) {
    let mut command = env.cofferdam();
    command
        .args(["serve", "--json", "--listen", address])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, serde_json::from_str(&line).unwrap_or_else(|_| panic!("the server said {line:?}")))
}

fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    for entry in std::fs::read_dir(dir).ok()?.flatten() {
        let path = entry.path();
        // Git keeps its own notes of a worktree under the same name.
        if !path.is_dir() || path.is_symlink() || path.ends_with(".git") {
            continue;
        }
        if path.ends_with(Path::new("worktrees").join(name)) {
            return Some(path);
        }
        if let Some(found) = find(&path, name) {
            return Some(found);
        }
    }
    None
}
