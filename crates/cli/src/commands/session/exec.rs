//! `cofferdam session exec`: one command in a session.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use clap::Args;
use cofferdam_core::command::Approval;
use cofferdam_core::env::EnvName;
use cofferdam_core::paths::{Arg, ExactPath};
use cofferdam_core::plan::ExecSpec;
use cofferdam_core::quantity::{ByteSize, Span};
use cofferdam_sandbox::backend::Streams;
use cofferdam_sandbox::session::run_attached;
use serde_json::json as object;

use super::{failure, reach};
use crate::asking::say;
use crate::commands::run::{outcome_word, refused_processes};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Run a command in a session.
///
/// Output passes through, and the exit code is that of `cofferdam run`. What the command leaves running lives on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam session exec last -- make test
  cofferdam session exec last --detach --name web -- python3 -m http.server
  cofferdam session exec 4k2m9x7q --timeout 5m --workdir src -- ./check.sh")]
pub(crate) struct ExecArgs {
    /// The session: its id, the end of it, or `last` for the newest of this workspace.
    #[arg(value_name = "SESSION")]
    session: String,
    /// Time it may take; not more than the session gives each command.
    #[arg(long, value_name = "SPAN")]
    timeout: Option<Span>,
    /// Time it may go without output.
    #[arg(long, value_name = "SPAN")]
    idle_timeout: Option<Span>,
    /// Bytes to keep of each output stream.
    #[arg(long, value_name = "SIZE")]
    output_limit: Option<ByteSize>,
    /// Set a variable (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Directory to start in, below the workspace.
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// A name for it, to kill it by.
    #[arg(long)]
    name: Option<String>,
    /// Say yes to it, where `policy.commands` wants it looked at first.
    #[arg(long)]
    reviewed: bool,
    /// Return as soon as it runs, and print its number.
    #[arg(short, long)]
    detach: bool,
    /// Print what became of it as JSON; its output is only kept.
    #[arg(long)]
    json: bool,
    #[arg(long, value_name = "SIZE", hide = true)]
    memory: Option<String>,
    #[arg(long, value_name = "N", hide = true)]
    cpus: Option<String>,
    #[arg(long, value_name = "N", hide = true)]
    pids: Option<String>,
    /// The command and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(crate) fn run(
    args: &ExecArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let client = reach(&args.session, context).map_err(|failure| {
        // Nothing was run, as with `run`.
        let failure = Failure { exit: Exit::NotRun, ..failure };
        failure.hint("the session comes first, as in `cofferdam session exec last -- make test`")
    })?;
    let spec = spec(args)?;
    let name = args.name.as_deref();
    if args.detach {
        let exec = client.exec_detached(&spec, name).map_err(|e| failure(e, Exit::NotRun))?;
        if args.json {
            json::print_line(out, &object!({ "exec": exec }))?;
        } else {
            writeln!(out, "{exec}")?;
        }
        return Ok(Exit::Fine);
    }
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let streams = Streams {
        stdin: Some(stdin.as_fd()),
        stdout: (!args.json).then(|| stdout.as_fd()),
        stderr: (!args.json).then(|| stderr.as_fd()),
    };
    let job = run_attached(&client, &spec, name, streams).map_err(|e| failure(e, Exit::NotRun))?;
    if args.json {
        json::print_line(out, &job)?;
    }
    let Some(outcome) = &job.outcome else { return Ok(Exit::NotRun) };
    if let Some(message) = &outcome.message {
        say(&format!("{}: {message}", outcome_word(outcome.class)));
    }
    refused_processes(job.usage.as_ref(), None).iter().for_each(|words| say(words));
    Ok(Exit::Command(outcome.process_exit_code()))
}

fn spec(args: &ExecArgs) -> Result<ExecSpec, Failure> {
    let mut env = BTreeMap::new();
    for pair in &args.env {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| not_understood(format!("{pair:?} is not NAME=VALUE")))?;
        let name: EnvName = name.parse().map_err(|e| not_understood(format!("{e}")))?;
        env.insert(name, value.to_owned());
    }
    let shared =
        [("memory_limit", &args.memory), ("cpu_limit", &args.cpus), ("pids_limit", &args.pids)];
    Ok(ExecSpec {
        command: args.command.iter().cloned().map(Arg).collect(),
        env,
        workdir: args.workdir.clone().map(ExactPath),
        timeout: args.timeout,
        idle_timeout: args.idle_timeout,
        output_limit: args.output_limit,
        approval: if args.reviewed { Approval::Reviewed } else { Approval::Asked },
        limits: shared
            .iter()
            .filter(|(_, asked)| asked.is_some())
            .map(|(name, _)| (*name).to_owned())
            .collect(),
    })
}

fn not_understood(message: String) -> Failure {
    Failure::new(Exit::NotRun, anyhow::Error::msg(message))
}
