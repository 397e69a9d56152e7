//! `cofferdam launcher`: makes sandboxes for the process at the far end of its standard input. Started
//! by ourselves, never by people.

use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use clap::Args;
use cofferdam_sandbox::launcher::{Depth, serve};
use cofferdam_sandbox::state::StateDir;

use crate::exit::Exit;
use crate::failure::Failure;

/// Make sandboxes for the process that started this one.
#[derive(Debug, Args)]
pub(crate) struct LauncherArgs {
    /// The state directory.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// How many sandboxes to keep ready for a profile.
    #[arg(long, value_name = "N", default_value_t)]
    depth: Depth,
}

pub(crate) fn run(args: &LauncherArgs) -> Result<Exit, Failure> {
    let state = StateDir::open(&args.state)?;
    let channel = io::stdin().as_fd().try_clone_to_owned()?;
    serve(&state, &channel.into(), args.depth)?;
    Ok(Exit::Fine)
}
