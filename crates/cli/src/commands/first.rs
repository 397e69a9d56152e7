//! `cofferdam first-process`: the first process of a container. Started by an engine, never by people.

use std::ffi::OsString;

use clap::Args;
use cofferdam_sandbox::first;

use crate::exit::Exit;
use crate::failure::Failure;

/// Run a command as the first process of a container.
#[derive(Debug, Args)]
pub(crate) struct FirstArgs {
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &FirstArgs) -> Result<Exit, Failure> {
    match first::run(&args.command) {
        Ok(code) => Ok(Exit::Command(code)),
        Err((code, why)) => Err(Failure::new(Exit::Command(code), anyhow::anyhow!(why))),
    }
}
