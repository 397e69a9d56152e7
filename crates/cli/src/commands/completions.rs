//! `cofferdam completions`: scripts for shells.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::failure::Failure;

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam completions bash > ~/.local/share/bash-completion/completions/cofferdam
  cofferdam completions zsh > ~/.zfunc/_cofferdam
  cofferdam completions fish > ~/.config/fish/completions/cofferdam.fish")]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

pub(crate) fn run(
    args: &CompletionsArgs,
    command: &mut Command,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    // Whoever makes the script panics where it cannot be written: a reader may have gone, or a disk be full.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "cofferdam", &mut script);
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Fine)
}
