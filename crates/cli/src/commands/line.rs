//! `cofferdam engine-line`: a connection to an engine behind TLS, for the process at the far end of its standard input.
//! Started by ourselves, never by people.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use clap::Args;
use cofferdam_server::line::{Far, carry};

use crate::exit::Exit;
use crate::failure::Failure;

/// Carry a connection to an engine.
#[derive(Debug, Args)]
pub(crate) struct LineArgs {
    host: String,
    port: u16,
    keys: PathBuf,
}

pub(crate) fn run(args: &LineArgs) -> Result<Exit, Failure> {
    let far = Far { host: args.host.clone(), port: args.port, keys: args.keys.clone() };
    let near = io::stdin().as_fd().try_clone_to_owned()?;
    if let Err(error) = carry(&far, near.into()) {
        // A line for whoever started us, and nobody else: no name of a program, no remedy.
        writeln!(io::stderr(), "{:#}", anyhow::Error::from(error))?;
        return Ok(Exit::Failed);
    }
    Ok(Exit::Fine)
}
