//! `cofferdam loop`: has candidates written, tries each in a sandbox, keeps the best.

mod html;
mod live;
mod plot;
mod report;
mod start;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::run::SandboxArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Have candidates written, try each in a sandbox, keep the best.
///
/// A YAML file names the generator, the run, the numbers, the objective and the budgets. Nothing reaches the
/// workspace: the champion is a run whose changes wait to be applied. A loop that was cut short goes on where it was.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Exit codes: 0 it ended and has a champion, 1 it failed or has none, 125 nothing was run,
128+n told to end by signal n.

Examples:
  cofferdam loop loop.yaml
  cofferdam loop loop.yaml --dry-run          # check the file, show the plans
  cofferdam loop loop.yaml --fresh            # begin anew
  cofferdam loop report last --html report.html
  cofferdam loop ls"
)]
pub(crate) struct LoopArgs {
    #[command(subcommand)]
    command: Option<LoopCommand>,
    /// The loop's file.
    #[arg(required = true, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Begin anew, even where a loop of this file was cut short.
    #[arg(long)]
    fresh: bool,
    /// Check the file, print the plans as JSON, and run nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the loop as JSON when it ends.
    #[arg(long)]
    json: bool,
    /// Print nothing of our own but warnings and errors.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    sandbox: SandboxArgs,
}

#[derive(Debug, Subcommand)]
enum LoopCommand {
    Report(report::ReportArgs),
    Ls(report::LsArgs),
}

pub(crate) fn run(
    args: &LoopArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match (&args.command, &args.file) {
        (Some(LoopCommand::Report(args)), _) => report::run(args, context, out),
        (Some(LoopCommand::Ls(args)), _) => report::list(args, context, out),
        (None, Some(file)) => start::run(args, file, context, out),
        (None, None) => Err(Failure::usage("name the loop's file")),
    }
}
