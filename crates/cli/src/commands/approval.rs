//! `cofferdam approval`: questions of a server that wait for somebody.

use std::io::Write;

use clap::{Args, Subcommand};
use cofferdam_core::control::approval::Decision;
use cofferdam_core::control::id::ApprovalId;
use cofferdam_core::inert::Inert;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::remote::RemoteArgs;
use crate::rendered::Rendered;
use crate::table::Table;

/// Answer what tasks wait for.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam approval ls
  cofferdam approval approve 01k3… --comment 'looked at the plan'
  cofferdam approval reject 01k3… --comment 'not on a Friday'")]
pub(crate) struct ApprovalArgs {
    #[command(subcommand)]
    command: ApprovalCommand,
}

#[derive(Debug, Subcommand)]
enum ApprovalCommand {
    Ls(LsArgs),
    /// Say yes.
    #[command(after_help = "Examples:
  cofferdam approval approve 01k3… --comment 'looked at the plan'")]
    Approve(DecideArgs),
    /// Say no.
    #[command(after_help = "Examples:
  cofferdam approval reject 01k3… --comment 'not on a Friday'")]
    Reject(DecideArgs),
}

/// List approvals.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam approval ls
  cofferdam approval ls --state all --json")]
struct LsArgs {
    /// Only in this state: pending, approved, rejected, withdrawn; `all` for every one.
    #[arg(long, default_value = "pending")]
    state: String,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the page as JSON.
    #[arg(long)]
    json: bool,
}

/// Say yes or no.
#[derive(Debug, Args)]
struct DecideArgs {
    /// The approval's id.
    approval: ApprovalId,
    /// Why, for the record.
    #[arg(long)]
    comment: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the approval as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    args: &ApprovalArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let (args, says_yes) = match &args.command {
        ApprovalCommand::Ls(args) => return list(args, context, out),
        ApprovalCommand::Approve(args) => (args, true),
        ApprovalCommand::Reject(args) => (args, false),
    };
    let remote = args.remote.open(context)?;
    let (client, said) = (remote.client(), Decision { comment: args.comment.clone() });
    let approval = match says_yes {
        true => remote.ask(client.approve(args.approval, &said)),
        false => remote.ask(client.reject(args.approval, &said)),
    }?;
    match args.json {
        true => json::print(out, &approval)?,
        false => writeln!(out, "{} {}", approval.id, json::name(&approval.state))?,
    }
    Ok(Exit::Fine)
}

fn list(args: &LsArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let state_asked = Some(args.state.as_str()).filter(|state| *state != "all");
    let page = remote.ask(remote.client().approvals(state_asked))?;
    if args.json {
        json::print(out, &page)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["APPROVAL", "STATE", "TASK", "QUESTION"]);
    for approval in &page.items {
        let (id, task) = (approval.id.to_string(), approval.task.to_string());
        // Its words are inert already: once more, and a backslash would be two.
        let lines = approval.question.lines().map(|line| Inert::block(line).to_string());
        let question = Rendered::inert(lines.collect::<Vec<_>>().join("; "));
        table.row_and([id, json::name(&approval.state), task], &question);
    }
    table.print(out)?;
    Ok(Exit::Fine)
}
