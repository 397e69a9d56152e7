//! What became of a loop: a table, JSON, or a page.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use cofferdam_core::search::{LoopFile, Verdict};
use cofferdam_sandbox::search::{Line, PlaceError, Summary, list as loops, summary};
use cofferdam_sandbox::state::{StateDir, write_atomically};
use serde_json::{Value, json as object};

use super::html;
use crate::commands::diff;
use crate::context::{Context, program};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::sealed::Words;
use crate::table::Table;

/// Show what became of a loop.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam loop report
  cofferdam loop report 4k2m9x7q --json
  cofferdam loop report --html report.html      # one file, with a plot and the champion's diff")]
pub(super) struct ReportArgs {
    /// The loop: its id, the end of it, or `last`.
    #[arg(default_value = "last")]
    id: String,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    /// Write a page that needs nothing else.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
}

/// List the loops, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam loop ls
  cofferdam loop ls --json")]
pub(super) struct LsArgs {
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    args: &ReportArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let state = StateDir::open(&context.state_dir)?;
    let summary = summary(&state, &args.id).map_err(|error| match error {
        PlaceError::Unknown(_) => {
            Failure::new(Exit::Failed, error).hint("`cofferdam loop ls` lists them")
        }
        error => error.into(),
    })?;
    if args.json {
        json::print(out, &as_json(&summary))?;
    } else if let Some(path) = &args.html {
        // A champion that was removed since is told of without its diff.
        let text = champion(&summary)
            .and_then(|line| line.runs.first())
            .and_then(|run| diff::plain(&Words::of_run(*run), context).ok());
        let page = html::page(&summary, text.as_deref());
        write_atomically(&context.resolve(path), page.as_bytes())?;
    } else {
        table(&summary, out)?;
        conclude(&summary, out)?;
    }
    Ok(Exit::Fine)
}

pub(super) fn list(args: &LsArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let all = loops(&StateDir::open(&context.state_dir)?)?;
    if args.json {
        let items: Vec<Value> = all.iter().map(brief).collect();
        json::print(out, &items)?;
        return Ok(Exit::Fine);
    }
    if all.is_empty() {
        writeln!(out, "there is no loop yet; run one with `cofferdam loop FILE`")?;
        return Ok(Exit::Fine);
    }
    let mut table =
        Table::new(&["LOOP", "STARTED", "DONE", "CHAMPION", "ENDED", "FILE", "WORKSPACE"]);
    for summary in &all {
        let best = champion(summary).and_then(|line| line.trial.value);
        table.row([
            summary.meta.id.short(),
            summary.meta.started_at.to_string()[..19].to_owned(),
            summary.history.len().to_string(),
            best.map(|value| value.to_string()).unwrap_or_default(),
            summary.stopped.map_or("not yet".to_owned(), |stop| stop.to_string()),
            summary.meta.file.clone(),
            summary.meta.workspace.display().to_string(),
        ]);
    }
    table.print(out)?;
    Ok(Exit::Fine)
}

/// The decision that stands.
pub(super) fn champion(summary: &Summary) -> Option<&Line> {
    summary.history.iter().rev().find(|line| line.trial.verdict == Verdict::Champion)
}

pub(super) fn as_json(summary: &Summary) -> Value {
    let mut value = brief(summary);
    value["history"] = object!(summary.history);
    value
}

fn brief(summary: &Summary) -> Value {
    object!({
        "id": summary.meta.id,
        "workspace": summary.meta.workspace,
        "file": summary.meta.file,
        "hash": summary.meta.hash,
        "started_at": summary.meta.started_at,
        "stopped": summary.stopped,
        "iterations": summary.history.len(),
        "champion": champion(summary),
        "tally": tally(summary),
    })
}

/// How many of each verdict.
pub(super) fn tally(summary: &Summary) -> BTreeMap<String, u64> {
    let mut tally = BTreeMap::new();
    for line in &summary.history {
        let name = match &line.trial.verdict {
            Verdict::Champion => "champion".to_owned(),
            Verdict::Beaten => "beaten".to_owned(),
            Verdict::Rejected { reason, .. } => reason.to_string(),
        };
        *tally.entry(name).or_default() += 1;
    }
    tally
}

/// The number that was searched for, as far as the file can still be read.
pub(super) fn metric(summary: &Summary) -> String {
    LoopFile::parse(&summary.text, &summary.meta.file)
        .map_or_else(|_| "value".to_owned(), |file| file.objective.metric)
}

/// All decisions.
fn table(summary: &Summary, out: &mut dyn Write) -> std::io::Result<()> {
    let metric = metric(summary);
    let mut table = Table::new(&["ITERATION", "VERDICT", &metric, "FILES", "BYTES", "WHY"]);
    for line in &summary.history {
        let (verdict, why) = match &line.trial.verdict {
            Verdict::Champion => ("champion", String::new()),
            Verdict::Beaten => ("beaten", String::new()),
            Verdict::Rejected { reason, detail } => ("rejected", format!("{reason}: {detail}")),
        };
        table.row([
            line.trial.iteration.to_string(),
            verdict.to_owned(),
            line.trial.value.map(|value| value.to_string()).unwrap_or_default(),
            line.trial.files.to_string(),
            line.trial.bytes.to_string(),
            why,
        ]);
    }
    table.print(out)
}

/// How it ended, and what to do with the champion.
pub(super) fn conclude(summary: &Summary, out: &mut dyn Write) -> std::io::Result<()> {
    let ended = summary.stopped.map_or("not ended yet".to_owned(), |stop| stop.to_string());
    writeln!(
        out,
        "loop {}: {ended} after {} iterations",
        summary.meta.id.short(),
        summary.history.len()
    )?;
    let mut counts = Table::new(&["VERDICT", "TRIALS"]);
    for (name, count) in tally(summary) {
        counts.row([name, count.to_string()]);
    }
    counts.print(out)?;
    let Some(line) = champion(summary) else {
        writeln!(out, "no candidate counts: there is no champion")?;
        let latest = summary.history.last().and_then(|line| line.runs.last());
        return match latest {
            Some(run) => {
                writeln!(out, "  what the last one said:  {} logs {}", program(), run.short())
            }
            None => Ok(()),
        };
    };
    let value = line.trial.value.unwrap_or_default();
    let metric = metric(summary);
    writeln!(out, "champion: iteration {}, {metric} {value}", line.trial.iteration)?;
    if let Some(run) = line.runs.first() {
        let (program, run) = (program(), run.short());
        writeln!(out, "  look at it:  {program} diff {run}")?;
        writeln!(out, "  take it:     {program} apply {run}")?;
    }
    Ok(())
}
