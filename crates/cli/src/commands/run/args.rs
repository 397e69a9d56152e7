//! What can be said to `run`, and what it means as settings.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args};
use cofferdam_core::backend::BackendChoice;
use cofferdam_core::config::{Entries, Key, Layer};
use cofferdam_core::env::{EnvName, Secret};
use cofferdam_core::paths::Arg;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::spec::{Mode, Network, Proof, Pull, Relax, SandboxSpec, Terminal};

use super::result::ResultArgs;
use crate::asking::{OwnImage, Wanted};
use crate::context::Context;
use crate::failure::{Failure, refused};
use crate::offered::Offered;
use crate::switch::Switch;

/// Run a command in a sandbox.
///
/// The command's output passes through; Cofferdam's own words go to standard error. The exit code is
/// the command's own, or 124 (timed out), 125 (nothing was run), 126/127 (not executable / not found),
/// 128+n (killed by signal n).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam run -- make test
  cofferdam run --timeout 5m --memory 4g -- cargo test
  cofferdam run --pass-env GITHUB_TOKEN --report run.json -- ./agent.sh
  cofferdam run --dry-run -- make test           # show the plan, run nothing")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(super) options: RunOptions,
    /// The command and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(super) command: Vec<OsString>,
}

/// What can be said of a run, whatever it runs.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
    /// Where the command succeeds, apply what `changes.auto` says needs no look; the rest stays pending.
    #[arg(long, env = "COFFERDAM_APPLY", action = ArgAction::SetTrue, value_parser = Switch)]
    pub(crate) apply: bool,
    /// Write the record of the run to a file, as JSON.
    #[arg(long, value_name = "FILE", env = "COFFERDAM_REPORT")]
    pub(crate) report: Option<PathBuf>,
    /// Print the plan as JSON and run nothing.
    #[arg(long, env = "COFFERDAM_DRY_RUN", action = ArgAction::SetTrue, value_parser = Switch)]
    pub(crate) dry_run: bool,
    /// Print the record as JSON on standard output; the command's output is only kept.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(super) result: ResultArgs,
    /// Give the command a terminal.
    #[arg(short, long, env = "COFFERDAM_TTY", action = ArgAction::SetTrue, value_parser = Switch)]
    pub(super) tty: bool,
    /// Print nothing of our own but warnings and errors.
    #[arg(short, long, env = "COFFERDAM_QUIET", action = ArgAction::SetTrue, value_parser = Switch)]
    pub(crate) quiet: bool,
}

impl RunOptions {
    /// Who wants this of a command.
    pub(crate) fn wanted(
        &self,
        command: Vec<Arg>,
        context: &Context,
    ) -> Result<Wanted<'_>, Failure> {
        let terminal = if self.tty { Terminal::Tty } else { Terminal::Streams };
        let result = self.result.rule(context).map_err(|refusal| refused(&refusal))?;
        let image = if self.dry_run { OwnImage::Left } else { OwnImage::Built };
        Ok(Wanted { terminal, result, image, ..Wanted::command(&self.sandbox, command, context) })
    }
}

/// What a sandbox is to be like: the same for a command, a session and a shell.
#[derive(Debug, Clone, Args)]
pub(crate) struct SandboxArgs {
    /// Where to run: auto, docker, podman, native, local (no sandbox at all).
    #[arg(long, value_name = "BACKEND", hide_possible_values = true, value_parser = Offered(&BackendChoice::NAMES))]
    pub(crate) sandbox: Option<String>,
    /// Container image, or `host` for the host's own system tree.
    #[arg(long)]
    pub(crate) image: Option<String>,
    /// When to fetch the image: never, missing, always.
    #[arg(long, value_name = "WHEN", hide_possible_values = true, value_parser = Offered(Pull::NAMES))]
    pub(crate) pull: Option<String>,
    /// The project directory [default: the current directory].
    #[arg(long, value_name = "DIR", env = "COFFERDAM_WORKSPACE")]
    pub(crate) workspace: Option<PathBuf>,
    /// What the command may do to the workspace: stage, direct, readonly.
    #[arg(long, hide_possible_values = true, value_parser = Offered(Mode::NAMES))]
    pub(crate) mode: Option<String>,
    /// Directory to start in, below the workspace.
    #[arg(long, value_name = "DIR", env = "COFFERDAM_WORKDIR")]
    pub(crate) workdir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
    /// Set a variable (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Pass a variable of the host through; its value is never recorded (repeatable).
    #[arg(long, value_name = "NAME")]
    pub(crate) pass_env: Vec<String>,
    /// Show a host path inside, read-only unless it ends in `:rw` (repeatable).
    #[arg(long, value_name = "SRC:DST[:rw]")]
    pub(crate) mount: Vec<String>,
    /// What of the forbidden the sandbox tries itself before the command: quick, full, or paranoid, which tries it
    /// again afterwards.
    #[arg(long, value_name = "LEVEL", hide_possible_values = true, value_parser = Offered(Proof::NAMES))]
    pub(crate) receipt: Option<String>,
    /// The same as `--receipt paranoid`.
    #[arg(long, conflicts_with = "receipt")]
    pub(crate) paranoid: bool,
    #[command(flatten)]
    pub(crate) means: MeansArgs,
    /// Say yes to commands that `policy.commands` wants looked at first.
    #[arg(long)]
    pub(crate) reviewed: bool,
    /// Run under the ceiling of a role from host policy.
    #[arg(long, value_name = "NAME", env = "COFFERDAM_ROLE")]
    pub(crate) role: Option<String>,
    /// Begin with what another run of this workspace changed: its id, the end of it, or `last`.
    #[arg(long, value_name = "RUN", env = "COFFERDAM_FROM")]
    pub(crate) from: Option<String>,
}

/// What it may reach and use up: the same for a task of a server.
#[derive(Debug, Clone, Args)]
pub(crate) struct BoundArgs {
    /// What it can reach: none, allow, bridge, host.
    #[arg(long, hide_possible_values = true, value_parser = Offered(Network::NAMES))]
    pub(crate) network: Option<String>,
    /// A host it may reach with `--network allow` (repeatable).
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) allow_host: Vec<String>,
    /// Memory and swap, as in 512m or 2g.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Processors, as in 2 or 0.5.
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<String>,
    /// Processes and threads.
    #[arg(long, value_name = "N")]
    pub(crate) pids: Option<String>,
    /// Time it may take, as in 90s or 10m.
    #[arg(long, value_name = "SPAN")]
    pub(crate) timeout: Option<String>,
    /// Time it may go without output.
    #[arg(long, value_name = "SPAN")]
    pub(crate) idle_timeout: Option<String>,
}

/// By which means it is held: the same for a task of a server.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeansArgs {
    /// Container runtime, where the engine has it: crun, runsc, kata.
    #[arg(long, value_name = "NAME")]
    pub(crate) runtime: Option<String>,
    /// Give a guarantee up by name: limits, landlock (repeatable).
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = Offered(Relax::NAMES))]
    pub(crate) relax: Vec<String>,
}

impl BoundArgs {
    /// What was given, by key.
    pub(crate) fn said(&self) -> impl Iterator<Item = (Key, &str)> {
        let one = [
            (Key::SandboxNetwork, &self.network),
            (Key::SandboxMemoryLimit, &self.memory),
            (Key::SandboxCpuLimit, &self.cpus),
            (Key::SandboxPidsLimit, &self.pids),
            (Key::SandboxTimeout, &self.timeout),
            (Key::SandboxIdleTimeout, &self.idle_timeout),
        ];
        let hosts = self.allow_host.iter().map(|host| (Key::SandboxAllowHosts, host.as_str()));
        one.into_iter().filter_map(|(key, text)| Some((key, text.as_deref()?))).chain(hosts)
    }
}

impl MeansArgs {
    /// What was given, by key.
    pub(crate) fn said(&self) -> impl Iterator<Item = (Key, &str)> {
        let runtime = self.runtime.iter().map(|name| (Key::SandboxRuntime, name.as_str()));
        runtime.chain(self.relax.iter().map(|name| (Key::SandboxRelax, name.as_str())))
    }
}

/// Adds the flags to the entries of the topmost layer.
pub(crate) fn flags(args: &SandboxArgs, entries: &mut Entries) -> Result<(), Refusal> {
    let receipt =
        if args.paranoid { Some(Proof::Paranoid.name().to_owned()) } else { args.receipt.clone() };
    let single = [
        (Key::SandboxBackend, &args.sandbox),
        (Key::SandboxImage, &args.image),
        (Key::SandboxPull, &args.pull),
        (Key::SandboxMode, &args.mode),
        (Key::SandboxReceipt, &receipt),
    ];
    let lists = [
        (Key::SandboxEnv, &args.env),
        (Key::SandboxEnvPassthrough, &args.pass_env),
        (Key::SandboxMounts, &args.mount),
    ];
    let single = single.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?)));
    let lists = lists.iter().flat_map(|(key, values)| values.iter().map(|v| (*key, v.as_str())));
    let shared = args.bounds.said().chain(args.means.said());
    single.chain(lists).chain(shared).try_for_each(|(key, text)| flag(key, text, entries))
}

/// Adds one flag.
pub(crate) fn flag(key: Key, text: &str, entries: &mut Entries) -> Result<(), Refusal> {
    let flag = key.flag().unwrap_or(key.name());
    entries.set_text(key, text, Layer::Flag, flag).map_err(|error| Refusal {
        rule: Rule::ValueForm,
        field: key.name().to_owned(),
        message: error.to_string(),
        remedy: "see `cofferdam run --help` and `cofferdam config reference`".to_owned(),
    })
}

/// What must not be recorded of a request that did not get far: all that the spec knows, and, where there
/// is none, what the flags name.
pub(crate) fn secrets(
    args: &SandboxArgs,
    context: &Context,
    spec: Option<&SandboxSpec>,
) -> Vec<Secret> {
    let known = spec.into_iter().flat_map(|s| s.env.values()).filter_map(|v| v.secret().cloned());
    let passed = args.pass_env.iter().filter_map(|name| context.variable(name)?.to_str());
    let written = args.env.iter().filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.parse::<EnvName>().ok()?.sounds_secret().then_some(value)
    });
    known.chain(passed.chain(written).map(Secret::new)).collect()
}
