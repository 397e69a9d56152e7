//! `cofferdam show`: one run, whole.

use std::io::Write;

use clap::Args;
use cofferdam_core::inert::Inert;
use cofferdam_core::receipt::Held;
use cofferdam_core::record::{ChangeSummary, Record};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::state::StateDir;

use super::runs::{outcome, what_ran};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Show one run: what was asked, what was read back, how it ended.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam show                 # the newest run of this workspace
  cofferdam show 4k2m9x7q --json
  cofferdam show --receipt       # what held, what was read back, what was tried
  cofferdam show --result        # what it wrote to $COFFERDAM_RESULT")]
pub(crate) struct ShowArgs {
    /// The run: its id, the end of it, or `last`.
    #[arg(default_value = "last")]
    run: String,
    /// Print the record as JSON.
    #[arg(long)]
    json: bool,
    /// Print the receipt: each guarantee, what gives it, what was read back, and what the sandbox tried against it.
    #[arg(long, conflicts_with = "result")]
    receipt: bool,
    /// Print the result that the command handed over, and nothing else.
    #[arg(long, conflicts_with = "json")]
    result: bool,
}

pub(crate) fn run(
    args: &ShowArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let store = Store::new(&StateDir::open(&context.state_dir)?);
    let record = store.record(store.find(&args.run, &context.cwd)?)?;
    if args.result {
        return result(&store, &record, out);
    }
    if args.receipt {
        return receipt(&record, args.json, out);
    }
    if args.json {
        json::print(out, &record)?;
    } else {
        print(&record, out)?;
    }
    Ok(Exit::Fine)
}

fn receipt(record: &Record, json: bool, out: &mut dyn Write) -> Result<Exit, Failure> {
    if json {
        json::print(out, &record.receipt)?;
        return Ok(Exit::Fine);
    }
    if record.receipt.is_empty() {
        let message = "it has no receipt: no sandbox stood for it";
        return Err(Failure::new(Exit::Failed, anyhow::Error::msg(message))
            .hint("see why with `cofferdam show`"));
    }
    for held in &record.receipt {
        let state = match held.state {
            Held::Enforced => "enforced",
            Held::Relaxed => "GIVEN UP",
        };
        writeln!(
            out,
            "{:<20} {state}: {}",
            held.guarantee.to_string(),
            Inert::line(&held.mechanism)
        )?;
        if let Some(value) = &held.read_back {
            writeln!(out, "{:<20}   read back: {}", "", Inert::line(value))?;
        }
        for probe in &held.probes {
            let again = if probe.again { ", before the command and after it" } else { "" };
            let answer = Inert::line(&probe.answer);
            writeln!(out, "{:<20}   tried to {}{again}: {answer}", "", probe.act.in_words())?;
        }
    }
    Ok(Exit::Fine)
}

/// The result as it was kept, where it is JSON; read again, so that it is written without signs that a terminal
/// takes for its own.
fn result(store: &Store, record: &Record, out: &mut dyn Write) -> Result<Exit, Failure> {
    let Some(report) = &record.result else {
        let hint = "ask for one with `cofferdam run --result`";
        return Err(
            Failure::new(Exit::Failed, anyhow::Error::msg("no result was asked for")).hint(hint)
        );
    };
    match store.result(record.run)? {
        Some(value) => json::print(out, &value)?,
        None => {
            let why = report.message.clone().unwrap_or_default();
            let message = format!("the result is {}: {}", report.state, Inert::line(&why));
            return Err(Failure::new(Exit::Failed, anyhow::Error::msg(message)));
        }
    }
    Ok(Exit::Fine)
}

fn print(record: &Record, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{:<11} {}", "run", record.run)?;
    writeln!(out, "{:<11} {}", "command", what_ran(record))?;
    let mut line = |name: &str, value: String| writeln!(out, "{name:<11} {}", Inert::line(&value));
    line("workspace", record.workspace.display().to_string())?;
    line("actor", record.actor.clone())?;
    line("backend", record.backend.map_or("none was chosen".to_owned(), |b| b.to_string()))?;
    if let Some(origin) = record.plan.as_ref().and_then(|plan| plan.from.as_ref()) {
        line("from", format!("run {}", origin.run.short()))?;
    }
    line("outcome", outcome(record))?;
    if let Some(message) = record.outcome.as_ref().and_then(|o| o.message.clone()) {
        line("message", message)?;
    }
    line("started", record.started_at.to_string())?;
    if let Some(at) = record.finished_at {
        line("finished", at.to_string())?;
    }
    let output = &record.output;
    let kept = if output.truncated { " (head and tail kept)" } else { "" };
    line("output", format!("{} + {} bytes{kept}", output.stdout_bytes, output.stderr_bytes))?;
    if let Some(usage) = &record.usage {
        line(
            "usage",
            format!(
                "{} ms wall, {} ms user, {} ms system, {} MiB at most",
                usage.wall_ms,
                usage.user_ms,
                usage.system_ms,
                usage.max_rss_bytes >> 20
            ),
        )?;
        if usage.pids_refused > 0 {
            let refused = usage.pids_refused;
            line("refused", format!("{refused} processes or threads, for there were too many"))?;
        }
    }
    if let Some(changes) = &record.changes {
        let ChangeSummary { created, modified, deleted, retyped, .. } = changes;
        let counts =
            format!("{created} created, {modified} modified, {deleted} deleted, {retyped} retyped");
        line("changes", counts)?;
        if changes.left_out > 0 {
            line("left out", format!("{} with paths of more than 64 KiB", changes.left_out))?;
        }
    }
    if let Some(result) = &record.result {
        let why = result.message.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        line("result", format!("{}{why}", result.state))?;
        for (name, number) in &result.metrics {
            line("metric", format!("{name} = {number}"))?;
        }
        for (name, why) in &result.missing {
            line("no metric", format!("{name}: {why}"))?;
        }
    }
    if let Some(unsealed) = &record.unsealed {
        line("unsealed", unsealed.reason.clone())?;
    }
    if let Some(cleanup) = &record.cleanup {
        let left = if cleanup.left.is_empty() {
            String::new()
        } else {
            format!(": {}", cleanup.left.join(", "))
        };
        line("clean-up", format!("{:?}{left}", cleanup.receipt).to_lowercase())?;
    }
    for holding in &record.receipt {
        let held = match holding.state {
            Held::Enforced => "holds",
            Held::Relaxed => "NOT HELD",
        };
        let seen = holding.read_back.as_ref().map(|v| format!(" = {v}")).unwrap_or_default();
        line(held, format!("{}: {}{seen}", holding.guarantee, holding.mechanism))?;
    }
    Ok(())
}
