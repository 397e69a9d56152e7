//! `cofferdam image ls`: the images that were built of projects.

use std::io::Write;

use clap::Args;
use cofferdam_core::quantity::ByteSize;
use cofferdam_sandbox::image::shelf::{self, Shelved};
use cofferdam_sandbox::state::StateDir;

use super::subject::WhichArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::table::Table;

/// List the images that were built of projects.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam image ls
  cofferdam image ls --json")]
pub(crate) struct LsArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &LsArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut which = args.which.look(context)?;
    let state = StateDir::open(&context.state_dir)?;
    let shelf = shelf::list(&state, which.engine(context)?)?;
    if args.json {
        json::print(out, &shelf)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["IMAGE", "ID", "SIZE", "USE", "PROJECT"]);
    shelf.iter().for_each(|image| table.row(row(image)));
    table.print(out)?;
    Ok(Exit::Fine)
}

pub(super) fn row(image: &Shelved) -> [String; 5] {
    let use_ = match image {
        Shelved { is_used: true, .. } => "in use",
        Shelved { is_current: true, .. } => "current",
        _ => "-",
    };
    let project =
        image.workspace.as_ref().map_or("-".to_owned(), |path| path.display().to_string());
    [name(image), short(&image.id), mib(image.size), use_.to_owned(), project]
}

pub(super) fn name(image: &Shelved) -> String {
    image.names.first().cloned().unwrap_or_else(|| "(no name)".to_owned())
}

pub(super) fn short(id: &str) -> String {
    id.trim_start_matches("sha256:").chars().take(12).collect()
}

pub(super) fn mib(bytes: u64) -> String {
    ByteSize(bytes.div_ceil(1 << 20) << 20).to_string()
}
