//! `cofferdam image prune`: removes images that were built of projects, and nobody else's.

use std::io::Write;

use clap::Args;
use cofferdam_core::quantity::{ByteSize, Span};
use cofferdam_sandbox::image::shelf::{self, Policy};
use cofferdam_sandbox::state::StateDir;
use serde_json::json as object;

use super::ls::{mib, name, short};
use super::subject::WhichArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Remove images that were built of projects.
///
/// Without a bound, those that no run would use go: older builds, and those of projects that are gone. Images
/// that are not Cofferdam's, and images that a container uses, are never touched.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam image prune --dry-run
  cofferdam image prune --older-than 30d --keep 2
  cofferdam image prune --max-size 10g --json")]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Remove those that were built longer ago than this.
    #[arg(long, value_name = "SPAN", value_parser = Span::with_unit)]
    older_than: Option<Span>,
    /// Remove all but the newest N of each project.
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Remove the oldest until all together take no more than this.
    #[arg(long, value_name = "SIZE")]
    max_size: Option<ByteSize>,
    /// Remove those that no run would use; what is done where no bound is given.
    #[arg(long)]
    unused: bool,
    /// Show what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    args: &PruneArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut which = args.which.look(context)?;
    let state = StateDir::open(&context.state_dir)?;
    let engine = which.engine(context)?;
    let shelf = shelf::list(&state, engine)?;
    let is_bounded = args.older_than.is_some() || args.keep.is_some() || args.max_size.is_some();
    let policy = Policy {
        older_than: args.older_than,
        keep: args.keep,
        max_size: args.max_size,
        unused: args.unused || !is_bounded,
    };
    let chosen = shelf::choose(&shelf, &policy);
    let (mut failed, mut freed) = (Vec::new(), 0);
    for image in &chosen {
        let removed = if args.dry_run { Ok(()) } else { shelf::remove(&state, engine, image) };
        match removed {
            Ok(()) => freed += image.size,
            Err(error) => failed.push(format!("{}: {error}", name(image))),
        }
    }
    if args.json {
        let value = object!({ "dry_run": args.dry_run, "chosen": chosen, "bytes": freed, "failed": failed });
        json::print(out, &value)?;
    } else {
        let word = if args.dry_run { "would remove" } else { "removed" };
        for image in
            chosen.iter().filter(|image| !failed.iter().any(|line| line.starts_with(&name(image))))
        {
            writeln!(out, "{word} {} {} ({})", name(image), short(&image.id), mib(image.size))?;
        }
        for line in &failed {
            writeln!(out, "STILL THERE: {line}")?;
        }
        if chosen.is_empty() {
            writeln!(out, "nothing to remove")?;
        }
    }
    Ok(if failed.is_empty() { Exit::Fine } else { Exit::Failed })
}
