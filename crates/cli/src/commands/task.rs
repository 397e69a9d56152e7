//! `cofferdam task`: tasks of a server.

mod artifacts;
mod changes;
mod create;
mod look;
mod output;

use std::io::Write;

use clap::{Args, Subcommand};
use cofferdam_core::control::id::{ProjectId, TaskId};
use cofferdam_core::control::task::Task;
use cofferdam_core::inert::Inert;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::remote::{Remote, RemoteArgs};

/// Ask a server to run something, and see what becomes of it.
///
/// The server is named with --server or COFFERDAM_SERVER; the token comes from COFFERDAM_TOKEN or --token-file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task create --project shop --image debian:12 -- make test
  cofferdam task create --project shop --mode isolated-worktree --wait -- ./agent.sh
  cofferdam task ls --state running
  cofferdam task logs -f 01k3…
  cofferdam task changes 01k3… && cofferdam task apply --reviewed 01k3…")]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    command: TaskCommand,
}

#[derive(Debug, Subcommand)]
enum TaskCommand {
    Create(Box<create::CreateArgs>),
    Ls(look::LsArgs),
    Show(look::ShowArgs),
    Logs(output::LogsArgs),
    /// Let a task be run that was made with --hold.
    #[command(after_help = "Examples:
  cofferdam task dispatch 01k3…")]
    Dispatch(MoveArgs),
    /// End a task, or have it never begin.
    #[command(after_help = "Examples:
  cofferdam task cancel 01k3…
  cofferdam task ls --state running --json | jq -r '.items[].id' | xargs -n1 cofferdam task cancel")]
    Cancel(MoveArgs),
    /// Have a task tried again that failed, timed out or was lost.
    #[command(after_help = "Examples:
  cofferdam task retry 01k3…
  cofferdam task retry 01k3… --json | jq -r .state")]
    Retry(MoveArgs),
    Changes(changes::ChangesArgs),
    Diff(changes::DiffArgs),
    Apply(changes::ApplyArgs),
    Discard(changes::DiscardArgs),
    Undo(changes::UndoArgs),
    Artifacts(artifacts::ArtifactsArgs),
    Audit(look::AuditArgs),
}

/// Move a task on.
#[derive(Debug, Args)]
struct MoveArgs {
    /// The task's id.
    task: TaskId,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the task as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    args: &TaskArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match &args.command {
        TaskCommand::Create(args) => create::run(args, context, out),
        TaskCommand::Ls(args) => look::list(args, context, out),
        TaskCommand::Show(args) => look::show(args, context, out),
        TaskCommand::Logs(args) => output::run(args, context, out),
        TaskCommand::Dispatch(args) => move_on(args, context, out, Verb::Dispatch),
        TaskCommand::Cancel(args) => move_on(args, context, out, Verb::Cancel),
        TaskCommand::Retry(args) => move_on(args, context, out, Verb::Retry),
        TaskCommand::Changes(args) => changes::list(args, context, out),
        TaskCommand::Diff(args) => changes::diff(args, context, out),
        TaskCommand::Apply(args) => changes::apply(args, context, out),
        TaskCommand::Discard(args) => changes::discard(args, context, out),
        TaskCommand::Undo(args) => changes::undo(args, context, out),
        TaskCommand::Artifacts(args) => artifacts::run(args, context, out),
        TaskCommand::Audit(args) => look::audit(args, context, out),
    }
}

#[derive(Debug, Clone, Copy)]
enum Verb {
    Dispatch,
    Cancel,
    Retry,
}

fn move_on(
    args: &MoveArgs,
    context: &Context,
    out: &mut dyn Write,
    verb: Verb,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let client = remote.client();
    let task = match verb {
        Verb::Dispatch => remote.ask(client.dispatch(args.task)),
        Verb::Cancel => remote.ask(client.cancel(args.task)),
        Verb::Retry => remote.ask(client.retry(args.task)),
    }?;
    print(&task, args.json, out)?;
    Ok(Exit::Fine)
}

/// A task in one line, or all of it for a program.
fn print(task: &Task, as_json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    match as_json {
        true => json::print(out, task)?,
        false => writeln!(out, "{} {}", task.id, task.state)?,
    }
    Ok(())
}

/// A project by its id or its name.
pub(super) fn project(remote: &Remote, text: &str) -> Result<ProjectId, Failure> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let mut after = None;
    loop {
        let page = remote.ask(remote.client().projects(after.as_deref()))?;
        if let Some(project) = page.items.iter().find(|project| project.name == text) {
            return Ok(project.id);
        }
        after = page.next;
        if after.is_none() {
            let message = format!("the server has no project named {}", Inert::line(text));
            return Err(Failure::usage(message).hint("`cofferdam project ls` lists them"));
        }
    }
}
