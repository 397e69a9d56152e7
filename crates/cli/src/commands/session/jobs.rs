//! `cofferdam session jobs`, `output` and `kill`: the commands of a session.

use std::io::Write;

use clap::Args;
use cofferdam_core::outcome::OutcomeClass;
use cofferdam_sandbox::session::{Job, kept_output};

use super::{Found, failure, find};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::rendered::Rendered;
use crate::table::Table;

/// List the commands of a session: those that run, and the latest that did.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam session jobs
  cofferdam session jobs 4k2m9x7q --json")]
pub(crate) struct JobsArgs {
    /// The session: its id, the end of it, or `last`.
    #[arg(value_name = "SESSION", default_value = "last")]
    session: String,
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
}

/// Print what is kept of a command's output, of one that still runs too.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam session output last web
  cofferdam session output last 3 --stderr")]
pub(crate) struct OutputArgs {
    /// The session: its id, the end of it, or `last`.
    #[arg(value_name = "SESSION")]
    session: String,
    /// The command: its number or name.
    #[arg(value_name = "JOB")]
    job: String,
    /// Print standard error instead of standard output.
    #[arg(long)]
    stderr: bool,
}

/// Send a signal to a command of a session, and to its process group.
///
/// KILL reaches everything that it started, as far as it can be told from the rest. What a command left running
/// that has ended itself can only be killed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam session kill last web
  cofferdam session kill last 3 --signal TERM")]
pub(crate) struct KillArgs {
    /// The session: its id, the end of it, or `last`.
    #[arg(value_name = "SESSION")]
    session: String,
    /// The command: its number or name.
    #[arg(value_name = "JOB")]
    job: String,
    /// The signal: a number, or HUP, INT, QUIT, KILL, USR1, USR2, TERM, CONT, STOP.
    #[arg(short, long, default_value = "KILL")]
    signal: String,
}

pub(crate) fn run(
    args: &JobsArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let Found { client, .. } = find(&args.session, context)?;
    let jobs = client.jobs().map_err(|e| failure(e, Exit::Failed))?;
    if args.json {
        json::print(out, &jobs)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["JOB", "NAME", "STARTED", "OUTCOME", "COMMAND"]);
    for job in &jobs {
        let cells = [
            job.exec.to_string(),
            job.name.clone().unwrap_or_default(),
            job.started_at.to_string()[..19].to_owned(),
            outcome(job),
        ];
        table.row_and(cells, &Rendered::command(&job.command));
    }
    table.print(out)?;
    Ok(Exit::Fine)
}

fn outcome(job: &Job) -> String {
    use crate::commands::run::outcome_word;
    let Some(outcome) = &job.outcome else { return "running".to_owned() };
    match (outcome.class, outcome.exit_code, outcome.signal) {
        (OutcomeClass::Exited, Some(code), _) => format!("exited {code}"),
        (OutcomeClass::Signaled, _, Some(signal)) => format!("signal {signal}"),
        (class, ..) => outcome_word(class).to_owned(),
    }
}

pub(crate) fn output(
    args: &OutputArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let Found { client, .. } = find(&args.session, context)?;
    let jobs = client.jobs().map_err(|e| failure(e, Exit::Failed))?;
    let named = |job: &&Job| {
        job.exec.to_string() == args.job || job.name.as_deref() == Some(args.job.as_str())
    };
    let job = jobs.iter().rev().find(named).ok_or_else(|| {
        Failure::new(Exit::Failed, anyhow::anyhow!("there is no command {:?} in it", args.job))
    })?;
    let [stdout, stderr] = kept_output(client.dir(), job)?;
    let kept = if args.stderr { stderr } else { stdout };
    out.write_all(&kept.head)?;
    if kept.dropped > 0 {
        writeln!(out, "\n[{} bytes left out]", kept.dropped)?;
        out.write_all(&kept.tail)?;
    }
    Ok(Exit::Fine)
}

pub(crate) fn kill(args: &KillArgs, context: &Context) -> Result<Exit, Failure> {
    let signal = number(&args.signal)
        .ok_or_else(|| Failure::usage(format!("{:?} is no signal", args.signal)))?;
    let Found { client, .. } = find(&args.session, context)?;
    client.kill(&args.job, signal).map_err(|e| failure(e, Exit::Failed))?;
    Ok(Exit::Fine)
}

fn number(text: &str) -> Option<i32> {
    const NAMES: [(&str, i32); 9] = [
        ("HUP", 1),
        ("INT", 2),
        ("QUIT", 3),
        ("KILL", 9),
        ("USR1", 10),
        ("USR2", 12),
        ("TERM", 15),
        ("CONT", 18),
        ("STOP", 19),
    ];
    let plain = text.strip_prefix("SIG").unwrap_or(text);
    let named = NAMES.iter().find(|(name, _)| *name == plain).map(|(_, number)| *number);
    named.or_else(|| text.parse().ok().filter(|number| (1..=31).contains(number)))
}
