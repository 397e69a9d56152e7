//! A server and its runners, as a test starts, kills and asks them.

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::state::TaskState;
use cofferdam_core::control::task::Task;
use cofferdam_server::client::{Address, ClientError, Waiting};
use cofferdam_testkit::docker::Engine;
use cofferdam_testkit::{Authority, Finished, TestEnv, wait_until};
use serde_json::Value;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// What a task of a native sandbox is made with.
pub(crate) const NATIVE: [&str; 2] = ["--set", "sandbox.backend=native"];

/// A server, and all that knows where it is.
pub(crate) struct Place<'a> {
    pub(crate) env: &'a TestEnv,
    engine: Option<&'a Engine>,
    server: Child,
    url: String,
    token: String,
    /// Of the authority that vouches for the server, where it speaks TLS.
    ca: Option<PathBuf>,
    runners: Vec<Child>,
}

/// What is told of a process that is ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Signal {
    Stop,
    Continue,
    Terminate,
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    let name = match signal {
        Signal::Stop => "-STOP",
        Signal::Continue => "-CONT",
        Signal::Terminate => "-TERM",
    };
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

impl<'a> Place<'a> {
    /// A server with a runner inside.
    pub(crate) fn new(env: &'a TestEnv, engine: Option<&'a Engine>) -> Self {
        Self::with(env, engine, &[])
    }

    pub(crate) fn with(env: &'a TestEnv, engine: Option<&'a Engine>, flags: &[&str]) -> Self {
        Self::at(env, engine, "127.0.0.1:0", flags, None)
    }

    /// A server that speaks TLS at this address.
    pub(crate) fn over_tls(env: &'a TestEnv, ip: IpAddr, flags: &[&str]) -> Self {
        let papers = Authority::new().vouch(env.top(), &[&ip.to_string()]);
        let [chain, key] = [&papers.chain, &papers.key].map(|path| path.to_str().unwrap());
        let flags = [&["--tls-cert", chain, "--tls-key", key], flags].concat();
        Self::at(env, None, &SocketAddr::new(ip, 0).to_string(), &flags, Some(papers.ca))
    }

    fn at(
        env: &'a TestEnv,
        engine: Option<&'a Engine>,
        address: &str,
        flags: &[&str],
        ca: Option<PathBuf>,
    ) -> Self {
        let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
        let (server, said) = serve(env, engine, address, &flags);
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        let (url, token) = (text("url"), text("token"));
        Self { env, engine, server, url, token, ca, runners: Vec::new() }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn cofferdam(&self) -> Command {
        let mut command = command(self.env, self.engine);
        command.env("COFFERDAM_SERVER", &self.url).env("COFFERDAM_TOKEN", &self.token);
        command.envs(self.ca.as_ref().map(|ca| ("COFFERDAM_CA", ca)));
        command
    }

    /// Runs a command against the server, to its end.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        let mut command = self.cofferdam();
        command.args(args);
        self.env.finish(command)
    }

    /// Makes a task of these words, and gives its id.
    #[track_caller]
    pub(crate) fn task(&self, args: &[&str]) -> TaskId {
        let words: Vec<&str> = ["task", "create", "--json"].iter().chain(args).copied().collect();
        let made = self.run(&words);
        made.assert_exit(0);
        made.json()["id"].as_str().unwrap().parse().unwrap()
    }

    pub(crate) fn client(&self) -> Waiting {
        let (url, token) = (self.url.clone(), self.token.clone());
        let ca = self.ca.as_ref().map(|path| std::fs::read(path).unwrap());
        Waiting::open(&Address { url, token, ca }).unwrap()
    }

    pub(crate) fn show(&self, task: TaskId) -> Result<Task, ClientError> {
        let client = self.client();
        client.wait(client.client().task(task))
    }

    /// Waits until a task is as it should be.
    #[track_caller]
    pub(crate) fn until(&self, task: TaskId, is_so: impl Fn(&Task) -> bool) -> Task {
        let mut last = None;
        let came = wait_until(PATIENCE, || {
            // A server that was just killed answers a moment later.
            last = self.show(task).ok();
            last.as_ref().is_some_and(&is_so)
        });
        assert!(came, "{last:#?}");
        last.unwrap()
    }

    #[track_caller]
    pub(crate) fn ended(&self, task: TaskId) -> Task {
        self.until(task, |task| task.state.is_terminal())
    }

    #[track_caller]
    pub(crate) fn running(&self, task: TaskId) -> Task {
        self.until(task, |task| task.state == TaskState::Running)
    }

    /// A token of scope `runner`.
    pub(crate) fn runner_token(&self, name: &str) -> String {
        let made = self.run(&["token", "create", name, "--scope", "runner"]);
        made.assert_exit(0);
        made.stdout_text().trim().to_owned()
    }

    /// Starts a runner with a state directory of its own, or the one it had before.
    pub(crate) fn runner(&self, name: &str, token: &str, flags: &[&str]) -> Child {
        self.runner_by(command(self.env, self.engine), name, token, flags)
    }

    /// The same, with `command` as what starts the program.
    pub(crate) fn runner_by(
        &self,
        mut command: Command,
        name: &str,
        token: &str,
        flags: &[&str],
    ) -> Child {
        command.envs(self.ca.as_ref().map(|ca| ("COFFERDAM_CA", ca)));
        command
            .env("XDG_STATE_HOME", self.env.top().join(format!("state-{name}")))
            .env("COFFERDAM_TOKEN", token)
            .args(["runner", "--api", &self.url, "--name", name])
            .args(flags)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Has the server stand still, or go on.
    pub(crate) fn signal_server(&self, what: Signal) {
        signal(&self.server, what);
    }

    /// Has it ended with the test.
    pub(crate) fn keep(&mut self, runner: Child) {
        self.runners.push(runner);
    }

    #[track_caller]
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let client = self.client();
        let page = client.wait(client.client().events(Some(kind), None)).unwrap();
        page.items.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    #[track_caller]
    pub(crate) fn chain_holds(&self) {
        let client = self.client();
        let verdict = client.wait(client.client().verify()).unwrap();
        assert!(verdict.holds, "{verdict:?}");
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        for mut runner in self.runners.drain(..) {
            signal(&runner, Signal::Continue);
            signal(&runner, Signal::Terminate);
            signal(&runner, Signal::Terminate);
            runner.wait().unwrap();
        }
        // Twice: what still runs is not waited for.
        signal(&self.server, Signal::Terminate);
        std::thread::sleep(Duration::from_millis(100));
        if self.server.try_wait().unwrap().is_none() {
            signal(&self.server, Signal::Terminate);
        }
        self.server.wait().unwrap();
        self.env.seen_runs();
    }
}

fn command(env: &TestEnv, engine: Option<&Engine>) -> Command {
    match engine {
        None => env.cofferdam(),
        Some(engine) => engine.cofferdam(env),
    }
}

fn serve(
    env: &TestEnv,
    engine: Option<&Engine>,
    address: &str,
    flags: &[String],
) -> (Child, Value) {
    let mut command = command(env, engine);
    command.args(["serve", "--json", "--listen", address]).args(flags);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said = serde_json::from_str(&line).unwrap_or_else(|_| panic!("it said {line:?}"));
    (child, said)
}
