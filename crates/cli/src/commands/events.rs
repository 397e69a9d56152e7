//! `cofferdam events`: the timeline of one run or of all.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use cofferdam_core::event::EventKind;
use cofferdam_core::id::RunId;
use cofferdam_core::inert::Inert;
use cofferdam_sandbox::events::Journal;
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::state::StateDir;
use serde_json::Value;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Show what happened, in order.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam events
  cofferdam events last --json
  cofferdam events -f --type sandbox.rejected")]
pub(crate) struct EventsArgs {
    /// Only this run: its id, the end of it, or `last`.
    run: Option<String>,
    /// Only events of this type.
    #[arg(long = "type", value_name = "TYPE", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(EventKind::TYPES))]
    kind: Option<String>,
    /// Go on as events happen, until interrupted.
    #[arg(short, long)]
    follow: bool,
    /// The newest N only; 0 for all.
    #[arg(long, short = 'n', default_value_t = 0, value_name = "N")]
    limit: usize,
    /// Print the events as they stand in the log, one JSON object a line.
    #[arg(long)]
    json: bool,
}

const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub(crate) fn run(
    args: &EventsArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let state = StateDir::open(&context.state_dir)?;
    let run = match &args.run {
        Some(text) => Some(Store::new(&state).find(text, &context.cwd)?),
        None => None,
    };
    let journal = Journal::new(&state);
    let (lines, mut offset) = journal.read_from(0)?;
    let wanted: Vec<&String> = lines.iter().filter(|line| is_wanted(args, run, line)).collect();
    let skip = if args.limit == 0 { 0 } else { wanted.len().saturating_sub(args.limit) };
    for line in &wanted[skip..] {
        print(args, line, out)?;
    }
    if !args.follow {
        return Ok(Exit::Fine);
    }
    // Until interrupted, or until nobody reads any more.
    loop {
        out.flush()?;
        std::thread::sleep(LOOK_AGAIN);
        let (lines, next) = journal.read_from(offset)?;
        offset = next;
        for line in lines.iter().filter(|line| is_wanted(args, run, line)) {
            print(args, line, out)?;
        }
    }
}

fn is_wanted(args: &EventsArgs, run: Option<RunId>, line: &str) -> bool {
    let Ok(event) = serde_json::from_str::<Value>(line) else { return args.run.is_none() };
    run.is_none_or(|run| event["run"] == run.to_string().as_str())
        && args.kind.as_ref().is_none_or(|kind| event["type"] == kind.as_str())
}

fn print(args: &EventsArgs, line: &str, out: &mut dyn Write) -> std::io::Result<()> {
    if args.json {
        return writeln!(out, "{line}");
    }
    let Ok(Value::Object(event)) = serde_json::from_str::<Value>(line) else {
        return writeln!(out, "(unreadable) {}", Inert::line(line));
    };
    let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or("-");
    let run = text("run").parse::<RunId>().map_or("-".to_owned(), RunId::short);
    // Shown in their own columns, or hashes that only `audit verify` can read.
    const SHOWN: [&str; 9] =
        ["seq", "ts", "run", "workspace", "actor", "type", "prev", "hash", "evidence"];
    let rest: Vec<String> = event
        .iter()
        .filter(|(name, value)| !SHOWN.contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let (ts, kind) = (text("ts"), text("type"));
    writeln!(out, "{ts}  {run}  {kind:<26} {}", Inert::line(&rest.join(" ")))
}
