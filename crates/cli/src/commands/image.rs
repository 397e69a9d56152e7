//! `cofferdam image`: the project's own image, built, listed, looked at and removed.

pub(crate) mod build;

use std::io::Write;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Build the project's image, list, check, scan and remove images.
#[derive(Debug, Args)]
pub(crate) struct ImageArgs {
    #[command(subcommand)]
    command: ImageCommand,
}

#[derive(Debug, Subcommand)]
enum ImageCommand {
    Build(build::BuildArgs),
}

pub(crate) fn run(
    args: &ImageArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match &args.command {
        ImageCommand::Build(args) => build::run(args, context, out),
    }
}
