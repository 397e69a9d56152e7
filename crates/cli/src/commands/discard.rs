//! `cofferdam discard`: what a run changed, thrown away.

use std::io::Write;

use anyhow::anyhow;
use clap::Args;
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::Selection;
use cofferdam_sandbox::changes::discard as changes;
use cofferdam_sandbox::changes::discard::{DiscardRequest, Discarded};
use cofferdam_sandbox::state::StateDir;
use serde_json::json as object;

use super::apply::failure;
use crate::context::{Context, program};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::sealed::{Sealed, Words};

/// Throw away what a run changed and nobody applied. The host is left as it is.
///
/// What is discarded does not come back. What was applied is not touched: see `cofferdam undo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam discard                 # all that is pending of the newest run
  cofferdam discard 4k2m9x7q .github/")]
pub(crate) struct DiscardArgs {
    #[command(flatten)]
    words: Words,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(
    args: &DiscardArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let me = program();
    let Sealed { record, paths, .. } = Sealed::open(&args.words, context)?;
    let run = record.run.short();
    let done = discard(&record, &paths.selection(), context)?;
    let Discarded { entries, applied, before, left, at_home } = done;
    if entries == 0 && applied > 0 {
        return Err(Failure::from(anyhow!("what was selected of run {run} is applied already"))
            .hint(format!("to take it back: {me} undo {run}")));
    }
    if args.json {
        json::print(
            out,
            &object!({ "run": record.run, "discarded": entries, "applied": applied,
                       "discarded_before": before, "left": left, "at_home": at_home }),
        )?;
    } else if !args.quiet {
        let rest = if left > 0 { format!(", {left} left pending") } else { String::new() };
        let kept = if applied > 0 { format!(", {applied} stay applied") } else { String::new() };
        let s = if entries == 1 { "" } else { "s" };
        writeln!(out, "run {run}: discarded {entries} change{s}{rest}{kept}")?;
    }
    Ok(Exit::Fine)
}

/// Throws away what is pending of a selection, wherever the workspace is by now.
pub(super) fn discard(
    record: &Record,
    selection: &Selection,
    context: &Context,
) -> Result<Discarded, Failure> {
    let request = DiscardRequest {
        state: &StateDir::open(&context.state_dir)?,
        run: record.run,
        sealed: record.changes.as_ref().map_or("", |changes| changes.manifest.as_str()),
        workspace: &record.workspace,
        actor: &context.actor,
        selection,
    };
    changes::discard(request).map_err(|error| failure(error, record))
}
