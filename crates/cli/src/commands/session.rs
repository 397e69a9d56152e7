//! `cofferdam session`: a sandbox that takes many commands.

mod checkpoint;
mod exec;
mod jobs;
mod ls;
mod start;
mod stop;

use std::ffi::OsString;
use std::io::Write;

use clap::{Args, FromArgMatches as _, Subcommand};
use cofferdam_core::record::Record;
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::session::{Client, ClientError, is_session, latest, newest, reachable};
use cofferdam_sandbox::state::StateDir;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, refused};
pub(super) use start::silence;

/// Hold a sandbox for many commands, at once or one after the other.
///
/// What the commands change is kept apart from the workspace until the session ends, and is then reviewed once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam session start
  cofferdam session exec last -- make test
  cofferdam session exec last --detach --name web -- python3 -m http.server
  cofferdam session kill last web
  cofferdam session stop last")]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    Start(Box<start::StartArgs>),
    /// Hold a session for whoever started this process.
    #[command(hide = true)]
    Hold(Box<start::HoldArgs>),
    Exec(Box<exec::ExecArgs>),
    Ls(ls::LsArgs),
    Jobs(jobs::JobsArgs),
    Output(jobs::OutputArgs),
    Kill(jobs::KillArgs),
    Checkpoint(checkpoint::CheckpointArgs),
    Rollback(checkpoint::RollbackArgs),
    Stop(stop::StopArgs),
}

/// `exec` and what follows, if that is all that there is to understand.
pub(crate) fn parse_exec(words: &[OsString]) -> Option<SessionArgs> {
    let (_, words) = words.split_first().filter(|(first, _)| *first == "exec")?;
    let parser = exec::ExecArgs::augment_args(clap::Command::new("exec").no_binary_name(true));
    let matches = parser.try_get_matches_from(words).ok()?;
    let args = exec::ExecArgs::from_arg_matches(&matches).ok()?;
    Some(SessionArgs { command: SessionCommand::Exec(Box::new(args)) })
}

pub(crate) fn run(
    args: &SessionArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match &args.command {
        SessionCommand::Start(args) => start::run(args, out),
        SessionCommand::Hold(args) => start::hold(args, context, out),
        SessionCommand::Exec(args) => exec::run(args, context, out),
        SessionCommand::Ls(args) => ls::run(args, context, out),
        SessionCommand::Jobs(args) => jobs::run(args, context, out),
        SessionCommand::Output(args) => jobs::output(args, context, out),
        SessionCommand::Kill(args) => jobs::kill(args, context),
        SessionCommand::Checkpoint(args) => checkpoint::run(args, context, out),
        SessionCommand::Rollback(args) => checkpoint::rollback(args, context, out),
        SessionCommand::Stop(args) => stop::run(args, context),
    }
}

/// A session that was named.
pub(crate) struct Found {
    pub(crate) record: Record,
    client: Client,
}

/// The session that a person means: an id, the end of one, or `last` for the newest of this workspace. After a
/// rollback, the id means what came in the place of the first.
pub(crate) fn find(text: &str, context: &Context) -> Result<Found, Failure> {
    let store = Store::new(&StateDir::open(&context.state_dir)?);
    let none = |message: String| {
        Failure::new(Exit::Failed, anyhow::Error::msg(message)).hint(
            "`cofferdam session ls` lists those that go on; `cofferdam session start` starts one",
        )
    };
    let record = if text == "last" {
        newest(&store, &context.cwd)?
            .ok_or_else(|| none(format!("no session goes on in {}", context.cwd.display())))?
    } else {
        store.record(latest(&store, store.find(text, &context.cwd)?))?
    };
    if !is_session(&record) {
        return Err(none(format!("run {} is no session", record.run.short())));
    }
    if record.outcome.is_some() {
        return Err(none(format!("session {} has ended", record.run.short())));
    }
    let client = Client::new(&store.dir(record.run));
    Ok(Found { record, client })
}

/// The same, where the session is all that is wanted: most are found without a look at what they were asked to be.
fn reach(text: &str, context: &Context) -> Result<Client, Failure> {
    let store = Store::new(&StateDir::open(&context.state_dir)?);
    match reachable(&store, text) {
        Some(client) => Ok(client),
        None => Ok(find(text, context)?.client),
    }
}

/// What a session would not do.
fn failure(error: ClientError, exit: Exit) -> Failure {
    match error {
        ClientError::Refused(refusal) => refused(&refusal),
        ClientError::Gone { .. } => Failure::new(exit, error).hint(
            "whoever held it has died: `cofferdam gc` cleans up after it and seals its changes",
        ),
        other => Failure::new(exit, other),
    }
}
