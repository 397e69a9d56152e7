//! `cofferdam task create`: a task from flags, or from a file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use cofferdam_core::config::{Entries, Key};
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::state::TaskState;
use cofferdam_core::control::task::{
    ExecutionMode, MountBlock, NewTask, RetryCause, RetryPolicy, SandboxBlock, Task,
};
use cofferdam_core::inert::Inert;
use cofferdam_core::mount::{Access, MountRequest};
use cofferdam_core::quantity::Span;
use serde_json::{Value, json};

use super::{print, project};
use crate::commands::run::{BoundArgs, MeansArgs, flag};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::remote::{Remote, RemoteArgs};

/// Ask the server to run a command.
///
/// With --image it runs in a container on a staged copy of the project (docker-sandbox); without, on a git worktree of its own
/// (isolated-worktree); without a project, in an empty workspace (no-workspace).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task create --project shop --image debian:12 -- make test
  cofferdam task create --project shop --mode shared-workspace --path docs -- ./build-docs.sh
  cofferdam task create --wait --set sandbox.backend=native -- true
  cofferdam task create --project shop --memory 4g --timeout 30m -- ./train.sh
  cofferdam task create --project shop --artifact target/junit.xml -- ./test.sh
  cofferdam task create --file task.json --key nightly-2026-11-16
  cofferdam task create --project shop --retries 3 --retry-on lost,timed-out -- ./flaky.sh")]
pub(super) struct CreateArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// The project, by id or name.
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// What it works on.
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,
    /// Image of the container.
    #[arg(long)]
    image: Option<String>,
    /// A title, for people.
    #[arg(long)]
    title: Option<String>,
    /// The role that it acts in.
    #[arg(long)]
    role: Option<String>,
    /// Directory to start in, below the workspace; with --image.
    #[arg(long, value_name = "DIR", requires = "image")]
    workdir: Option<String>,
    /// Set a variable; may be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Pass a variable of the runner's host through, by name; may be given more than once.
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// Show a path of the runner's host inside; may be given more than once.
    #[arg(long, value_name = "SRC:DST[:rw]")]
    mount: Vec<MountRequest>,
    #[command(flatten)]
    bounds: BoundArgs,
    #[command(flatten)]
    means: MeansArgs,
    /// Any other setting that `cofferdam run` has a flag for, by its key; may be given more than once.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// With shared-workspace: what it works on, so that others wait for it; may be given more than once.
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,
    /// A file that it leaves, relative to the workspace, to be kept by the server; may be given more than once.
    #[arg(long, value_name = "PATH")]
    artifact: Vec<String>,
    /// Keep the JSON file that it writes to $COFFERDAM_RESULT, as the artifact result.json.
    #[arg(long)]
    result: bool,
    /// The greater goes first, within its project.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
    /// How often it is tried in all.
    #[arg(long, value_name = "N", default_value_t = 1)]
    retries: u32,
    /// After which ends it is tried again.
    #[arg(long, value_name = "CAUSE", value_delimiter = ',', requires = "retries")]
    retry_on: Vec<Cause>,
    /// Time before the second try; doubled before each further one.
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    backoff: Span,
    /// Somebody has to approve it first.
    #[arg(long)]
    requires_approval: bool,
    /// A label that the runner must have; may be given more than once.
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
    /// Only make it; `task dispatch` has it run.
    #[arg(long)]
    hold: bool,
    /// The task as JSON, as the API takes it, instead of all the flags above; `-` reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["project", "mode", "image", "command"])]
    file: Option<PathBuf>,
    /// A name for this very request: sent again, it makes no second task.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Wait for its end; the exit code is 0 where it succeeded and 1 where not.
    #[arg(long)]
    wait: bool,
    /// Print the task as JSON.
    #[arg(long)]
    json: bool,
    /// The command and its arguments.
    #[arg(trailing_var_arg = true, value_name = "CMD", required_unless_present = "file")]
    command: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    NoWorkspace,
    SharedWorkspace,
    IsolatedWorktree,
    DockerSandbox,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cause {
    Failed,
    TimedOut,
    Oom,
    SandboxFailure,
    Lost,
}

pub(super) fn run(
    args: &CreateArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let asked = match &args.file {
        Some(path) => from_file(path, context)?,
        None => args.task(&remote)?,
    };
    let task = remote.ask(remote.client().create_task(&asked, args.key.as_deref()))?;
    if !args.wait {
        print(&task, args.json, out)?;
        return Ok(Exit::Fine);
    }
    let task = ended(&remote, task.id)?;
    print(&task, args.json, out)?;
    Ok(if task.state == TaskState::Succeeded { Exit::Fine } else { Exit::Failed })
}

/// Waits until nothing moves it any more.
fn ended(remote: &Remote, id: TaskId) -> Result<Task, Failure> {
    const LOOK: Duration = Duration::from_millis(200);
    loop {
        let task = remote.ask(remote.client().task(id))?;
        if task.state.is_terminal() {
            return Ok(task);
        }
        std::thread::sleep(LOOK);
    }
}

fn from_file(path: &Path, context: &Context) -> Result<NewTask, Failure> {
    let text = match path.as_os_str() == "-" {
        true => std::io::read_to_string(std::io::stdin().lock())?,
        false => {
            let path = context.resolve(path);
            std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", Inert::path(&path)))?
        }
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{} is not a task: {error}", Inert::path(path)))
            .hint("`cofferdam task show --json` prints one")
    })
}

impl CreateArgs {
    fn task(&self, remote: &Remote) -> Result<NewTask, Failure> {
        let project = self.project.as_ref().map(|name| project(remote, name)).transpose()?;
        let execution_mode = match (self.mode, &self.image, project) {
            (Some(mode), ..) => mode.into(),
            (None, Some(_), _) => ExecutionMode::DockerSandbox,
            (None, None, Some(_)) => ExecutionMode::IsolatedWorktree,
            (None, None, None) => ExecutionMode::NoWorkspace,
        };
        let retry = self.retry()?;
        let env = pairs(&self.env, "--env")?;
        let mut settings = self.settings()?;
        let mut sandbox = None;
        let mut command = self.command.clone();
        if let Some(image) = &self.image {
            sandbox = Some(SandboxBlock {
                image: image.clone(),
                command: std::mem::take(&mut command),
                workdir: self.workdir.clone(),
                env,
                pass_env: self.pass_env.clone(),
                mounts: self.mount.iter().map(block).collect::<Result<_, _>>()?,
                ..SandboxBlock::default()
            });
        } else {
            let mounts: Vec<String> = self.mount.iter().map(ToString::to_string).collect();
            let given = [
                ("sandbox.env", json!(env), env.is_empty()),
                ("sandbox.env_passthrough", json!(self.pass_env), self.pass_env.is_empty()),
                ("sandbox.mounts", json!(mounts), mounts.is_empty()),
            ];
            let given = given.into_iter().filter(|(.., is_empty)| !is_empty);
            settings.extend(given.map(|(key, value, _)| (key.to_owned(), value)));
        }
        Ok(NewTask {
            project,
            title: self.title.clone(),
            execution_mode,
            command,
            sandbox,
            role: self.role.clone(),
            settings,
            overrides: Vec::new(),
            paths: self.path.clone(),
            artifacts: self.artifact.clone(),
            result: self.result,
            priority: self.priority,
            retry,
            requires_approval: self.requires_approval,
            timeout: self.bounds.timeout.clone(),
            deadline: None,
            labels: self.label.clone(),
            dispatch: !self.hold,
        })
    }
}

impl CreateArgs {
    fn retry(&self) -> Result<RetryPolicy, Failure> {
        if self.retries > 1 && self.retry_on.is_empty() {
            let message = format!("--retries {}: it is not said after which ends", self.retries);
            return Err(Failure::usage(message)
                .hint("say it with --retry-on, as in `--retry-on lost,timed-out`"));
        }
        Ok(RetryPolicy {
            max_attempts: self.retries,
            on: self.retry_on.iter().map(|cause| RetryCause::from(*cause)).collect(),
            backoff_ms: if self.retries > 1 { self.backoff.millis } else { 0 },
        })
    }
}

impl CreateArgs {
    /// What flags say of settings: those of `run` by their own names, and any by `--set`.
    fn settings(&self) -> Result<BTreeMap<String, Value>, Failure> {
        let mut settings: BTreeMap<String, Value> = pairs(&self.set, "--set")?
            .into_iter()
            .map(|(key, value)| (key, typed(&value)))
            .collect();
        let mut entries = Entries::default();
        let mut given: BTreeMap<Key, Vec<&str>> = BTreeMap::new();
        for (key, text) in self.bounds.said().chain(self.means.said()) {
            // What has not the form of its setting is not sent.
            flag(key, text, &mut entries).map_err(|no| {
                Failure::usage(no.message).hint("see `cofferdam task create --help`")
            })?;
            given.entry(key).or_default().push(text);
        }
        for (key, texts) in given {
            let name = key.name().to_owned();
            if settings.contains_key(&name) {
                let flag = key.flag().unwrap_or_default();
                return Err(Failure::usage(format!("{flag} and --set {name} are one setting"))
                    .hint("give one of them"));
            }
            let value = match key {
                // A field of the task, with a place of its own.
                Key::SandboxTimeout => continue,
                Key::SandboxAllowHosts | Key::SandboxRelax => json!(texts),
                _ => json!(texts.last()),
            };
            settings.insert(name, value);
        }
        Ok(settings)
    }
}

fn pairs(texts: &[String], flag: &str) -> Result<BTreeMap<String, String>, Failure> {
    texts
        .iter()
        .map(|text| match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(Failure::usage(format!("{flag} {}: write NAME=VALUE", Inert::line(text)))),
        })
        .collect()
}

/// A value as a file would have it: lists and mappings are JSON, all else is what it says.
fn typed(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_))) => {
            value
        }
        _ => Value::String(text.to_owned()),
    }
}

fn block(mount: &MountRequest) -> Result<MountBlock, Failure> {
    let text = |path: &Path| match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Failure::usage(format!("--mount {}: it is not text", Inert::path(path)))),
    };
    Ok(MountBlock {
        source: text(&mount.source)?,
        target: text(&mount.target)?,
        writable: mount.access == Access::Write,
    })
}

impl From<Mode> for ExecutionMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::NoWorkspace => Self::NoWorkspace,
            Mode::SharedWorkspace => Self::SharedWorkspace,
            Mode::IsolatedWorktree => Self::IsolatedWorktree,
            Mode::DockerSandbox => Self::DockerSandbox,
        }
    }
}

impl From<Cause> for RetryCause {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Failed => Self::Failed,
            Cause::TimedOut => Self::TimedOut,
            Cause::Oom => Self::Oom,
            Cause::SandboxFailure => Self::SandboxFailure,
            Cause::Lost => Self::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        create: CreateArgs,
    }

    fn line(words: &[&str]) -> CreateArgs {
        let line = [&["create"], words, &["--", "true"]].concat();
        Line::try_parse_from(line).unwrap().create
    }

    fn settings(words: &[&str]) -> Result<Value, String> {
        let settings = line(words).settings();
        settings.map(|settings| json!(settings)).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn the_flags_of_run_become_settings_of_the_task() {
        let words = [
            "--memory",
            "1g",
            "--cpus",
            "0.5",
            "--pids",
            "64",
            "--network",
            "allow",
            "--allow-host",
            "a.example",
            "--allow-host",
            "b.example:443",
            "--idle-timeout",
            "30s",
            "--runtime",
            "crun",
            "--relax",
            "landlock",
            "--timeout",
            "5m",
            "--set",
            "sandbox.backend=native",
        ];
        let expected = json!({
            "sandbox.memory_limit": "1g", "sandbox.cpu_limit": "0.5", "sandbox.pids_limit": "64",
            "sandbox.network": "allow", "sandbox.allow_hosts": ["a.example", "b.example:443"],
            "sandbox.idle_timeout": "30s", "sandbox.runtime": "crun", "sandbox.relax": ["landlock"],
            "sandbox.backend": "native",
        });
        assert_eq!(settings(&words).unwrap(), expected);
        assert_eq!(settings(&[]).unwrap(), json!({}));
    }

    #[test]
    fn what_is_wrong_or_said_twice_is_not_sent() {
        let said = settings(&["--memory", "lots"]).unwrap_err();
        assert!(said.contains("--memory"), "{said}");
        let twice = ["--memory", "1g", "--set", "sandbox.memory_limit=2g"];
        let said = settings(&twice).unwrap_err();
        assert!(said.contains("--memory and --set sandbox.memory_limit"), "{said}");
    }

    #[test]
    fn more_tries_are_for_some_end() {
        let refused = line(&["--retries", "3"]).retry().unwrap_err();
        assert!(format!("{refused:?}").contains("--retry-on"), "{refused:?}");
        let policy = line(&["--retries", "3", "--retry-on", "lost"]).retry().unwrap();
        assert_eq!((policy.max_attempts, policy.on), (3, vec![RetryCause::Lost]));
        assert_eq!(line(&[]).retry().unwrap().max_attempts, 1);
    }
}
