//! `cofferdam runs`: the runs that were, newest first.

use std::io::Write;

use clap::Args;
use cofferdam_core::id::RunId;
use cofferdam_core::outcome::OutcomeClass;
use cofferdam_core::record::Record;
use cofferdam_core::spec::Purpose;
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::state::{StateDir, StateError};
use serde_json::{Value, json as object};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::rendered::Rendered;
use crate::table::Table;

/// List runs, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam runs
  cofferdam runs --here --limit 5
  cofferdam runs --json | jq '.[].outcome.class'")]
pub(crate) struct RunsArgs {
    /// Only runs of the workspace the current directory is in.
    #[arg(long)]
    here: bool,
    /// How many to show; 0 for all.
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    limit: usize,
    /// Print a JSON array of records without their plans.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    args: &RunsArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let store = Store::new(&StateDir::open(&context.state_dir)?);
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let wanted = |(_, record): &(RunId, Result<Record, StateError>)| {
        !args.here || record.as_ref().is_ok_and(|r| context.cwd.starts_with(&r.workspace))
    };
    let listed: Vec<_> = store
        .ids()?
        .into_iter()
        .map(|id| (id, store.record(id)))
        .filter(wanted)
        .take(limit)
        .collect();
    if args.json {
        let items: Vec<Value> = listed.iter().map(|(id, record)| brief(*id, record)).collect();
        json::print(out, &items)?;
        return Ok(Exit::Fine);
    }
    if listed.is_empty() {
        writeln!(out, "no runs yet; start one with `cofferdam run -- COMMAND`")?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["RUN", "STARTED", "BACKEND", "OUTCOME", "COMMAND"]);
    for (id, record) in &listed {
        match record {
            Ok(record) => {
                let cells = [
                    id.short(),
                    record.started_at.to_string()[..19].to_owned(),
                    record.backend.map_or("-".to_owned(), |b| b.to_string()),
                    outcome(record),
                ];
                table.row_and(cells, &what_ran(record));
            }
            Err(error) => table.row([id.short(), String::new(), String::new(), format!("{error}")]),
        }
    }
    table.print(out)?;
    Ok(Exit::Fine)
}

fn brief(id: RunId, record: &Result<Record, StateError>) -> Value {
    match record {
        Ok(record) => object!({
            "run": id, "purpose": purpose(record), "command": record.command, "workspace": record.workspace,
            "backend": record.backend, "outcome": record.outcome, "output": record.output,
            "started_at": record.started_at, "finished_at": record.finished_at,
        }),
        Err(error) => object!({ "run": id, "error": error.to_string() }),
    }
}

fn purpose(record: &Record) -> Purpose {
    record.plan.as_ref().map_or(Purpose::Command, |plan| plan.purpose)
}

/// The command; of what has none, what it was.
pub(crate) fn what_ran(record: &Record) -> Rendered {
    let said = record.outcome.as_ref().and_then(|outcome| outcome.message.as_deref());
    match purpose(record) {
        Purpose::Command => Rendered::command(&record.command),
        Purpose::Session => Rendered::inert("a session"),
        Purpose::Look => Rendered::line(said.unwrap_or("a look at a session")),
    }
}

/// The outcome in a word and its number.
pub(crate) fn outcome(record: &Record) -> String {
    let Some(outcome) = &record.outcome else { return "running".to_owned() };
    match (outcome.class, outcome.exit_code, outcome.signal) {
        (OutcomeClass::Exited, Some(code), _) => format!("exited {code}"),
        (OutcomeClass::Signaled, _, Some(signal)) => format!("signal {signal}"),
        (class, ..) => super::run::outcome_word(class).to_owned(),
    }
}
