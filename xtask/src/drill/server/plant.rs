//! A server and a runner as processes of their own, and who of them is killed.

use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::api::Api;
use crate::cargo::{output_of, works};
use crate::dice::Dice;
use crate::drill::processes::{self, Signal};
use crate::drill::report::Report;
use crate::drill::scene::{PATIENCE, Scene};
use crate::drill::traces;

/// How long a runner may be silent: short, so that what is lost is found in time.
const LEASE: &str = "2s";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Victim {
    Server,
    Runner,
    Both,
    /// The process that makes sandboxes for the runner.
    Launcher,
    /// One that a task runs in.
    Container,
    /// The daemon that all containers are of, where it is the drill's own.
    Engine,
}

impl Victim {
    /// Who there is, where tasks run in this kind of sandbox.
    pub(super) fn of(scene: &Scene) -> Vec<Self> {
        let last = if scene.sandbox == "native" { Self::Launcher } else { Self::Container };
        let mut all = vec![Self::Server, Self::Runner, Self::Both, last];
        all.extend(scene.has_own_engine().then_some(Self::Engine));
        all
    }
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "the server",
            Self::Runner => "the runner",
            Self::Both => "both at once",
            Self::Launcher => "the launcher",
            Self::Container => "a container",
            Self::Engine => "the engine's daemon",
        })
    }
}

/// How the server is reached, before and after it was killed.
#[derive(Debug, Clone)]
pub(super) struct Line {
    address: String,
    token: String,
}

impl Line {
    pub(super) fn open(&self) -> Result<Api> {
        Api::new(&self.address, &self.token)
    }
}

pub(super) struct Plant<'a> {
    scene: &'a Scene,
    database: Option<String>,
    line: Line,
    runner_token: String,
    server: Child,
    runner: Child,
}

impl<'a> Plant<'a> {
    pub(super) fn start(scene: &'a Scene, database: Option<String>) -> Result<Self> {
        let (server, said) = serve(scene, "127.0.0.1:0", database.as_deref())?;
        let text =
            |name: &str| said[name].as_str().map(str::to_owned).context("it says where it is");
        let address = text("url")?.trim_start_matches("http://").to_owned();
        let line = Line { address, token: text("token")? };
        let made = line.open()?.post("/v1/tokens", r#"{"name":"one","scopes":["runner"]}"#)?;
        let runner_token = made["secret"].as_str().context("a token has a secret")?.to_owned();
        let runner = run(scene, &line, &runner_token)?;
        Ok(Self { scene, database, line, runner_token, server, runner })
    }

    pub(super) fn line(&self) -> Line {
        self.line.clone()
    }

    /// Kills and starts again; whether there was anybody to kill.
    pub(super) fn kill(&mut self, victim: Victim, dice: &mut Dice) -> Result<bool> {
        match victim {
            Victim::Server => {
                end(&mut self.server)?;
                self.serve_again()?;
            }
            Victim::Runner => {
                end(&mut self.runner)?;
                self.runner = run(self.scene, &self.line, &self.runner_token)?;
            }
            Victim::Both => {
                end(&mut self.server)?;
                end(&mut self.runner)?;
                self.runner = run(self.scene, &self.line, &self.runner_token)?;
                self.serve_again()?;
            }
            Victim::Launcher => {
                let top = self.scene.place.top();
                let found = processes::below(top).into_iter().find(|p| p.role() == "launcher");
                return Ok(
                    found.is_some_and(|launcher| processes::send(Signal::Kill, launcher.pid))
                );
            }
            Victim::Container => {
                let runs = traces::going_on(&self.scene.state());
                let ids = traces::containers_of(self.scene, &[], &runs)?;
                let Some(id) = ids.get(dice.below(ids.len())) else { return Ok(false) };
                return Ok(works(&mut traces::docker(self.scene, &["kill", id])?));
            }
            // It is back when this returns; what it ran meanwhile is lost or a failure of the sandbox.
            Victim::Engine => self.scene.kill_engine()?,
        }
        Ok(true)
    }

    /// One that ends by itself, or that hangs, is wrong.
    pub(super) fn stop(mut self, report: &mut Report) -> Result<()> {
        for (name, child) in [("runner", &mut self.runner), ("server", &mut self.server)] {
            let ended = child.try_wait()?;
            report.expect(ended.is_none(), || format!("the {name} has ended by itself: {ended:?}"));
            if ended.is_none()
                && !works(Command::new("kill").args(["-TERM", &child.id().to_string()]))
            {
                bail!("cannot stop the {name}");
            }
            let status = patiently(child)?;
            report.expect(status.is_some_and(|status| status.success()), || {
                format!("the {name}, told to end: {status:?}")
            });
        }
        Ok(())
    }

    fn serve_again(&mut self) -> Result<()> {
        self.server = serve(self.scene, &self.line.address, self.database.as_deref())?.0;
        Ok(())
    }
}

impl Drop for Plant<'_> {
    /// For a drill that broke off; who has ended already is not there to be killed.
    fn drop(&mut self) {
        for child in [&mut self.runner, &mut self.server] {
            if matches!(child.try_wait(), Ok(None)) && end(child).is_err() {
                eprintln!("xtask: process {} is left", child.id());
            }
        }
    }
}

fn end(child: &mut Child) -> Result<()> {
    child.kill().context("cannot kill")?;
    child.wait()?;
    Ok(())
}

fn patiently(child: &mut Child) -> Result<Option<std::process::ExitStatus>> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > until {
            end(child)?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a server and waits until it says that it answers.
fn serve(scene: &Scene, address: &str, database: Option<&str>) -> Result<(Child, Value)> {
    let mut command = scene.command(&["serve", "--json", "--no-runner", "--lease", LEASE]);
    command.args(["--rate-limit", "0", "--listen", address]);
    command.args(database.map(|url| format!("--database={url}")));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log(scene, "server")?);
    let mut child = command.spawn().context("cannot start the server")?;
    let mut line = String::new();
    let stdout = child.stdout.take().context("its output is a pipe")?;
    BufReader::new(stdout).read_line(&mut line)?;
    let said = serde_json::from_str(&line).with_context(|| {
        let log = output_of(
            Command::new("tail").args(["-n", "3"]).arg(scene.place.top().join("server.log")),
        );
        format!("the server said {line:?}: {}", String::from_utf8_lossy(&log.unwrap_or_default()))
    })?;
    Ok((child, said))
}

fn run(scene: &Scene, line: &Line, token: &str) -> Result<Child> {
    let mut command = scene.command(&["runner", "--name", "one", "--capacity", "6", "--api"]);
    command.arg(format!("http://{}", line.address)).env("COFFERDAM_TOKEN", token);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log(scene, "runner")?);
    command.spawn().context("cannot start a runner")
}

fn log(scene: &Scene, name: &str) -> Result<File> {
    let path = scene.place.top().join(format!("{name}.log"));
    let file = File::options().create(true).append(true).open(&path);
    file.with_context(|| format!("cannot make {}", path.display()))
}
