//! Tasks looked at: listed, one of them, and what is proved of it.

use std::io::Write;

use clap::Args;
use cofferdam_core::control::audit::AuditLink;
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::task::Task;
use cofferdam_core::inert::Inert;
use cofferdam_server::client::TaskQuery;

use super::project;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::remote::{PageArgs, RemoteArgs};
use crate::table::Table;

/// List tasks, the newest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task ls
  cofferdam task ls --project shop --state failed --limit 100
  cofferdam task ls --json | jq -r '.items[].id'")]
pub(super) struct LsArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// Only of this project, by id or name.
    #[arg(long)]
    project: Option<String>,
    /// Only in this state: created, awaiting_approval, queued, claimed, running, cancel_requested, succeeded, failed,
    /// timed_out, canceled, lost.
    #[arg(long)]
    state: Option<String>,
    /// Only with this text in the title.
    #[arg(long)]
    text: Option<String>,
    #[command(flatten)]
    page: PageArgs,
    /// Print the page as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn list(args: &LsArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let project = args.project.as_ref().map(|name| project(&remote, name)).transpose()?;
    let (state, text) = (args.state.clone(), args.text.clone());
    let PageArgs { limit, after } = args.page.clone();
    let query = TaskQuery { project, state, text, limit: Some(limit), after };
    let page = remote.ask(remote.client().tasks(&query))?;
    if args.json {
        json::print(out, &page)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["TASK", "STATE", "CREATED", "WHAT"]);
    for task in &page.items {
        let created = task.created_at.to_string();
        table.row([task.id.to_string(), task.state.to_string(), created, what(task)]);
    }
    table.print(out)?;
    PageArgs::more(page.next.as_ref(), out)?;
    Ok(Exit::Fine)
}

fn what(task: &Task) -> String {
    let command = task.asked.sandbox.as_ref().map_or(&task.asked.command, |block| &block.command);
    task.asked.title.clone().unwrap_or_else(|| command.join(" "))
}

/// Show a task.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task show 01k3…
  cofferdam task show 01k3… --json | jq .exit_code")]
pub(super) struct ShowArgs {
    /// The task's id.
    task: TaskId,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the task as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn show(
    args: &ShowArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let task = remote.ask(remote.client().task(args.task))?;
    if args.json {
        json::print(out, &task)?;
        return Ok(Exit::Fine);
    }
    let result = &task.result;
    let code = result.exit_code.map(|code| code.to_string());
    let changes = result.changes.as_ref().map(|changes| {
        format!(
            "{} created, {} modified, {} deleted, {} retyped",
            changes.created, changes.modified, changes.deleted, changes.retyped
        )
    });
    let lines = [
        ("task", Some(task.id.to_string())),
        ("state", Some(task.state.to_string())),
        ("what", Some(what(&task))),
        ("by", Some(task.actor.clone())),
        ("attempt", (task.attempt > 0).then(|| task.attempt.to_string())),
        ("outcome", result.outcome.clone()),
        ("exit code", code),
        ("message", result.message.clone()),
        ("backend", result.backend.clone()),
        ("container", result.container_id.clone()),
        ("run", result.run.clone()),
        ("created", Some(task.created_at.to_string())),
        ("started", result.started_at.map(|at| at.to_string())),
        ("finished", result.finished_at.map(|at| at.to_string())),
        ("changes", changes),
    ];
    for (name, value) in lines {
        if let Some(value) = value {
            writeln!(out, "{name:<10} {}", Inert::line(&value))?;
        }
    }
    Ok(Exit::Fine)
}

/// Show what can be proved of a task: from what was asked for to what reached the host.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task audit 01k3…
  cofferdam task audit 01k3… --json | jq .container_id")]
pub(super) struct AuditArgs {
    /// The task's id.
    task: TaskId,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn audit(
    args: &AuditArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let audit = remote.ask(remote.client().task_audit(args.task))?;
    if args.json {
        json::print(out, &audit)?;
        return Ok(Exit::Fine);
    }
    let lines = [
        ("container", audit.container_id),
        ("exit code", audit.exit_code.map(|code| code.to_string())),
        ("error", audit.error),
    ];
    for (name, value) in lines {
        writeln!(out, "{name:<10} {}", Inert::line(&value.unwrap_or_else(|| "-".to_owned())))?;
    }
    let mut table = Table::new(&["EVENT", "WHEN", "STEP", "WHAT", "WHO", "VALUE"]);
    for link in audit.links {
        let (seq, step, what) = (link.seq.to_string(), json::name(&link.step), decided(&link));
        table.row([seq, link.ts.to_string(), step, what, link.actor, link.value]);
    }
    table.print(out)?;
    Ok(Exit::Fine)
}

/// What was decided, about what, and what came of it.
fn decided(link: &AuditLink) -> String {
    let Some(what) = &link.what else { return "-".to_owned() };
    let outcome = link.outcome.map(|outcome| format!(": {}", json::name(&outcome)));
    let paths = (!link.paths.is_empty()).then(|| format!(" {}", link.paths.join(" ")));
    let (paths, outcome) = (paths.unwrap_or_default(), outcome.unwrap_or_default());
    format!("{}{paths}{outcome}", json::name(what))
}
