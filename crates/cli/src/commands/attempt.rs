//! `cofferdam attempt`: one forbidden thing, tried. Started by the scripts of `cofferdam attack`, never by people.

use clap::Args;
use cofferdam_sandbox::attack::trying::{Tried, attempt};

use crate::exit::Exit;
use crate::failure::Failure;

/// Try one thing that a sandbox forbids: 0 where it succeeds, 1 where not.
#[derive(Debug, Args)]
pub(crate) struct AttemptArgs {
    #[arg(required = true)]
    words: Vec<String>,
}

pub(crate) fn run(args: &AttemptArgs) -> Result<Exit, Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match attempt(&words) {
        Ok(Tried::Reached) => Ok(Exit::Fine),
        Ok(Tried::Refused) => Ok(Exit::Failed),
        Err(unknown) => Err(Failure::new(Exit::Usage, unknown)),
    }
}
