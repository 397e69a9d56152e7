//! `cofferdam image`: the project's own image, built, listed, looked at and removed.

pub(crate) mod build;
mod check;
mod ls;
pub(crate) mod on_demand;
mod prune;
mod scan;
mod subject;

use std::io::Write;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Build the project's image, list, check, scan and remove images.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam image build
  cofferdam image ls
  cofferdam image prune
  cofferdam image scan")]
pub(crate) struct ImageArgs {
    #[command(subcommand)]
    command: ImageCommand,
}

#[derive(Debug, Subcommand)]
enum ImageCommand {
    Build(build::BuildArgs),
    Ls(ls::LsArgs),
    Prune(prune::PruneArgs),
    Check(check::CheckArgs),
    Scan(scan::ScanArgs),
}

pub(crate) fn run(
    args: &ImageArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match &args.command {
        ImageCommand::Build(args) => build::run(args, context, out),
        ImageCommand::Ls(args) => ls::run(args, context, out),
        ImageCommand::Prune(args) => prune::run(args, context, out),
        ImageCommand::Check(args) => check::run(args, context, out),
        ImageCommand::Scan(args) => scan::run(args, context, out),
    }
}
