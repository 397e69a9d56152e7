//! `cofferdam first-process`: the first process of a container. Started by an engine, never by people.

use std::ffi::OsString;

use clap::Args;
use cofferdam_sandbox::first::{self, Filter, Variables};

use crate::exit::Exit;
use crate::failure::Failure;

/// Run a command as the first process of a container.
#[derive(Debug, Args)]
pub(crate) struct FirstArgs {
    /// The system call filter that is put on top of the engine's
    #[arg(long, value_parser = filter)]
    filter: Filter,
    /// Take variables from the file that was laid there
    #[arg(long)]
    variables: bool,
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

fn filter(word: &str) -> Result<Filter, String> {
    let named = Filter::ALL.into_iter().find(|filter| filter.word() == word);
    named.ok_or_else(|| format!("no filter is called {word}"))
}

pub(crate) fn run(args: &FirstArgs) -> Result<Exit, Failure> {
    let variables = match args.variables {
        true => Variables::AndThoseOfTheFile,
        false => Variables::AsTold,
    };
    match first::run(&args.command, args.filter, variables) {
        Ok(code) => Ok(Exit::Command(code)),
        Err((code, why)) => Err(Failure::new(Exit::Command(code), anyhow::anyhow!(why))),
    }
}
