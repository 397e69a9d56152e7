//! What a task changed, looked at and decided over the server.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use cofferdam_core::control::id::TaskId;
use cofferdam_core::inert::Inert;
use serde::Deserialize as _;
use serde_json::{Value, json as object};

use crate::commands::apply::Numbers;
use crate::context::{Context, program};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::remote::RemoteArgs;
use crate::table::Table;

/// List what a task changed, with what the gate says of each.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task changes 01k3…
  cofferdam task changes 01k3… --json | jq -r '.[].path'")]
pub(super) struct ChangesArgs {
    /// The task's id.
    task: TaskId,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print what `cofferdam diff --json` prints.
    #[arg(long)]
    json: bool,
}

pub(super) fn list(
    args: &ChangesArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let entries = remote.ask(remote.client().changes(args.task))?;
    if args.json {
        json::print(out, &entries)?;
        return Ok(Exit::Fine);
    }
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut table = Table::new(&["CHANGE", "VERDICT", "PATH", "WHY"]);
    for entry in entries.as_array().into_iter().flatten() {
        let reasons = entry["reasons"].as_array().into_iter().flatten().map(text);
        let why = reasons.collect::<Vec<_>>().join("; ");
        table.row([text(&entry["change"]), text(&entry["verdict"]), text(&entry["path"]), why]);
    }
    table.print(out)?;
    Ok(Exit::Fine)
}

/// Show what a task changed as a diff.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task diff 01k3…
  cofferdam task diff 01k3… src/lib.rs")]
pub(super) struct DiffArgs {
    /// The task's id.
    task: TaskId,
    /// Only this path.
    path: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print it as JSON: {path, diff, truncated}.
    #[arg(long)]
    json: bool,
}

pub(super) fn diff(
    args: &DiffArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let diff = remote.ask(remote.client().diff(args.task, args.path.as_deref()))?;
    if args.json {
        json::print(out, &diff)?;
        return Ok(Exit::Fine);
    }
    write!(out, "{}", Inert::block(diff["diff"].as_str().unwrap_or_default()))?;
    if diff["truncated"] == true {
        return Err(Failure::new(Exit::Failed, anyhow::anyhow!("the diff is longer than this"))
            .hint("look at single files: `cofferdam task diff TASK PATH`"));
    }
    Ok(Exit::Fine)
}

/// Apply what a task changed to the project, all or nothing.
///
/// Without --reviewed only what the gate lets pass by itself is applied. Where that is nothing, or something is blocked or was
/// changed on the host meanwhile, nothing is written, and the exit code is 3.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task apply 01k3…                       # what needs no look
  cofferdam task apply --reviewed 01k3… src/
  cofferdam task apply --reviewed --answer class:ci-config=allow 01k3…
  cofferdam task apply --reviewed --answer README.md=merge 01k3…")]
pub(super) struct ApplyArgs {
    /// The task's id.
    task: TaskId,
    /// Only these paths.
    path: Vec<String>,
    /// Somebody has looked at what needs a look.
    #[arg(long)]
    reviewed: bool,
    /// Say yes to what is asked about: `class:NAME=allow`, `budget=allow`, `PATH=allow`, `PATH=merge`.
    #[arg(long, value_name = "QUESTION=ANSWER")]
    answer: Vec<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print what `cofferdam apply --json` prints.
    #[arg(long)]
    json: bool,
}

pub(super) fn apply(
    args: &ApplyArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut answers = BTreeMap::new();
    for text in &args.answer {
        let (question, answer) = text.rsplit_once('=').ok_or_else(|| {
            Failure::usage(format!("--answer {}: write QUESTION=ANSWER", Inert::line(text)))
        })?;
        answers.insert(question.to_owned(), answer.to_owned());
    }
    let remote = args.remote.open(context)?;
    let asked = object!({ "paths": args.path, "reviewed": args.reviewed, "answers": answers });
    let done = remote.ask(remote.client().apply(args.task, &asked))?;
    if done["outcome"] == "refused" {
        return tell(&done, args.json, out);
    }
    // Whoever applied nothing has no numbers.
    let numbers = Numbers::deserialize(&done).unwrap_or_default();
    if args.json {
        json::print(out, &done)?;
        return Ok(if numbers.all_left().is_some() { Exit::Undecided } else { Exit::Fine });
    }
    if let Some(left) = numbers.all_left() {
        return Err(untouched(args, left));
    }
    match done["outcome"].as_str() {
        Some("applied") => writeln!(out, "applied {numbers}")?,
        _ if done["applied_before"] != 0 => writeln!(out, "already applied, nothing to do")?,
        _ => writeln!(out, "nothing to apply")?,
    }
    Ok(Exit::Fine)
}

/// Nothing was refused, and nothing was let pass: somebody must look.
fn untouched(args: &ApplyArgs, left: u64) -> Failure {
    let (me, task) = (program(), args.task);
    let what = if left == 1 { "1 change waits".to_owned() } else { format!("{left} changes wait") };
    let error = anyhow::anyhow!("nothing of task {task} was applied: {what} for a look");
    let failure = Failure::new(Exit::Undecided, error)
        .hint(format!("to look at what it changed: {me} task diff {task}"));
    match args.reviewed {
        true => failure,
        false => failure.hint(format!("to apply it then: {me} task apply --reviewed {task}")),
    }
}

/// Throw away what a task changed and nobody applied.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task discard 01k3…
  cofferdam task discard 01k3… .github/")]
pub(super) struct DiscardArgs {
    /// The task's id.
    task: TaskId,
    /// Only these paths.
    path: Vec<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print what `cofferdam discard --json` prints.
    #[arg(long)]
    json: bool,
}

pub(super) fn discard(
    args: &DiscardArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let done = remote.ask(remote.client().discard(args.task, &args.path))?;
    if args.json {
        json::print(out, &done)?;
    } else if done["discarded"] == 0 && done["discarded_before"] != 0 {
        writeln!(out, "already discarded, nothing to do")?;
    } else {
        writeln!(out, "discarded {}, {} left pending", done["discarded"], done["left"])?;
    }
    Ok(Exit::Fine)
}

/// Take back what was applied last of a task.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task undo 01k3…")]
pub(super) struct UndoArgs {
    /// The task's id.
    task: TaskId,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print what `cofferdam undo --json` prints.
    #[arg(long)]
    json: bool,
}

pub(super) fn undo(
    args: &UndoArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let done = remote.ask(remote.client().undo(args.task))?;
    tell(&done, args.json, out)
}

/// What became of it; refused, somebody must decide.
fn tell(done: &Value, as_json: bool, out: &mut dyn Write) -> Result<Exit, Failure> {
    let refused: Vec<&Value> = done["refused"].as_array().into_iter().flatten().collect();
    if as_json {
        json::print(out, done)?;
    } else {
        let outcome = done["outcome"].as_str().unwrap_or("done");
        writeln!(out, "{}", Inert::line(outcome))?;
        for each in &refused {
            let part = |name: &str| each[name].as_str().unwrap_or_default().to_owned();
            let reasons = each["reasons"].as_array().into_iter().flatten();
            let why: Vec<&str> = reasons.filter_map(Value::as_str).collect();
            let line = format!("{} {}: {}", part("why"), part("path"), why.join("; "));
            writeln!(out, "  {}", Inert::line(&line))?;
        }
    }
    Ok(if done["outcome"] == "refused" { Exit::Undecided } else { Exit::Fine })
}
