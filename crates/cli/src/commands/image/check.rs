//! `cofferdam image check`: whether an image is fit to work in.

use std::io::Write;

use clap::Args;
use cofferdam_core::image::ImageRef;
use cofferdam_sandbox::image::check::check;
use cofferdam_sandbox::state::StateDir;
use serde_json::json as object;

use super::subject::{WhichArgs, image, none_built};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Try whether an image is fit to work in: shell, user, /tmp, git.
///
/// Starts a container of it that has no network, no right and a read-only root.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam image check                 the project's own
  cofferdam image check debian:12 --json")]
pub(crate) struct CheckArgs {
    /// The image; the project's own where none is named.
    #[arg(value_name = "IMAGE")]
    image: Option<ImageRef>,
    #[command(flatten)]
    which: WhichArgs,
    /// Print the answers as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    args: &CheckArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut which = args.which.look(context)?;
    let root = which.root.clone();
    let engine = which.engine(context)?;
    let image = image(args.image.as_ref(), &root, engine, context)?.ok_or_else(none_built)?;
    let state = StateDir::open(&context.state_dir)?;
    let tried = check(&state, engine, image.as_str())?;
    let is_fit = tried.iter().all(|tried| tried.holds);
    if args.json {
        json::print(out, &object!({ "image": image, "fit": is_fit, "checks": tried }))?;
    } else {
        writeln!(out, "{image}")?;
        for one in &tried {
            match one.holds {
                true => writeln!(out, "ok    {}", one.what)?,
                false => writeln!(out, "FAIL  not: {} ({})", one.what, one.remedy)?,
            }
        }
    }
    Ok(if is_fit { Exit::Fine } else { Exit::Failed })
}
