//! `cofferdam first-process`: the first process of a container. Started by an engine, never by people.

use std::ffi::OsString;

use clap::Args;
use cofferdam_core::outcome::exit_code;
use cofferdam_sandbox::first::{self, Filter, Owner, Variables};

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
    /// Wait for a word of whoever owns the container, and end with it
    #[arg(long)]
    line: bool,
    /// Take the orders of a session from whoever owns the container
    #[arg(long, conflicts_with_all = ["line", "variables", "command"])]
    serve: bool,
    #[arg(required_unless_present = "serve", trailing_var_arg = true, allow_hyphen_values = true)]
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
    if args.serve {
        let not_run =
            |why: String| Failure::new(Exit::Command(exit_code::NOT_RUN), anyhow::anyhow!(why));
        return first::serve(args.filter).map(|()| Exit::Command(0)).map_err(not_run);
    }
    let owner = if args.line { Owner::Listens } else { Owner::IsFarAway };
    match first::run(&args.command, args.filter, variables, owner) {
        Ok(code) => Ok(Exit::Command(code)),
        Err((code, why)) => Err(Failure::new(Exit::Command(code), anyhow::anyhow!(why))),
    }
}
