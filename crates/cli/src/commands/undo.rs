//! `cofferdam undo`: an apply, taken back.

use std::io::Write;

use anyhow::anyhow;
use clap::Args;
use cofferdam_sandbox::changes::Workspace;
use cofferdam_sandbox::changes::apply::{Intent, Refused};
use cofferdam_sandbox::changes::undo::{Undo, UndoRequest, undo};
use cofferdam_sandbox::state::StateDir;
use serde_json::json as object;

use super::apply::{failure, line, must_be_there, refused_json, site};
use crate::context::{Context, program};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::faults::faults;
use crate::json;
use crate::progress::Counter;
use crate::sealed::{Sealed, Words};

/// Take back the latest apply of a run: exactly what was there before comes back.
///
/// All-or-nothing: where a file was edited since it was applied, nothing is written and the exit code is
/// 3. What is undone is pending again. Applies are undone the latest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam undo                    # the latest apply of the newest run
  cofferdam undo --check            # say whether it could be undone
  cofferdam undo 4k2m9x7q src/lib.rs")]
pub(crate) struct UndoArgs {
    #[command(flatten)]
    words: Words,
    /// Write nothing; the exit code says whether it could be undone.
    #[arg(long)]
    check: bool,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(
    args: &UndoArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut sealed = Sealed::open(&args.words, context)?;
    sealed.check_paths()?;
    must_be_there(&sealed.record)?;
    let Sealed { record, paths, .. } = sealed;
    let run = record.run.short();
    let state = StateDir::open(&context.state_dir)?;
    let workspace = Workspace::open(&record.workspace)?;
    let mut counter = Counter::new("undoing", args.quiet || args.json);
    let undone = undo(UndoRequest {
        site: site(&state, &record, &workspace, context),
        selection: &paths.selection(),
        intent: if args.check { Intent::Check } else { Intent::Perform },
        faults: &mut faults(context),
        progress: &mut |progress| counter.count(progress),
    });
    drop(counter);
    let undone = undone.map_err(|error| failure(error, &record))?;
    if args.json {
        json::print(out, &as_json(&record.run.to_string(), &undone))?;
    }
    let speaks = !args.json && !args.quiet;
    match undone {
        Undo::Refused(_) if args.json => Ok(Exit::Undecided),
        Undo::Refused(refused) => Err(refusal(&run, &refused)),
        Undo::Nothing => Err(Failure::from(anyhow!("nothing of run {run} is applied"))
            .hint("name the run whose apply is to be taken back: `cofferdam runs` lists them")),
        Undo::Undone { of, entries, discarded } if speaks => {
            let s = if entries == 1 { "" } else { "s" };
            let now = match (discarded, entries - discarded) {
                (0, _) => "pending again".to_owned(),
                (_, 0) => "discarded, as its rest was".to_owned(),
                (gone, back) => {
                    format!("{back} pending again, {gone} discarded, as their rest was")
                }
            };
            writeln!(out, "run {run}: took back {entries} change{s} of apply {of}; {now}")?;
            Ok(Exit::Fine)
        }
        Undo::Would { of, entries } if speaks => {
            let s = if entries == 1 { "" } else { "s" };
            writeln!(out, "run {run}: would take back {entries} change{s} of apply {of}")?;
            Ok(Exit::Fine)
        }
        Undo::Undone { .. } | Undo::Would { .. } => Ok(Exit::Fine),
    }
}

fn refusal(run: &str, refused: &[Refused]) -> Failure {
    let me = program();
    const SHOWN: usize = 50;
    let mut text = format!("nothing of run {run} was undone:");
    for refused in refused.iter().take(SHOWN) {
        text.push_str(&format!("\n  {}", line(refused)));
    }
    Failure::new(Exit::Undecided, anyhow::Error::msg(text))
        .hint(format!("to take back the others: {me} undo {run} PATH…"))
}

fn as_json(run: &str, undone: &Undo) -> serde_json::Value {
    match undone {
        Undo::Undone { of, entries, discarded } => {
            object!({ "run": run, "outcome": "undone", "of": of, "entries": entries, "discarded": discarded })
        }
        Undo::Would { of, entries } => {
            object!({ "run": run, "outcome": "would_undo", "of": of, "entries": entries })
        }
        Undo::Refused(refused) => {
            let refused: Vec<_> = refused.iter().map(refused_json).collect();
            object!({ "run": run, "outcome": "refused", "refused": refused })
        }
        Undo::Nothing => object!({ "run": run, "outcome": "nothing" }),
    }
}
