//! `cofferdam shell`: an interactive shell in a sandbox.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use clap::Args;
use cofferdam_core::config::{Entries, Key, Layer};
use cofferdam_core::paths::Arg;
use cofferdam_core::spec::Terminal;
use cofferdam_sandbox::backend::Streams;
use cofferdam_sandbox::reconcile::reconcile;

use super::run::{SandboxArgs, carry_out, has_terminal, no_terminal, summary_lines, warn};
use crate::asking::{Wanted, not_run, open_state, say, tell};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Open a shell in a sandbox, on this terminal.
///
/// What is changed is kept apart from the workspace; when the shell ends, a summary says what to do with it. Where no
/// setting says how long it may take, that is a day. The exit code is the shell's own, as with `run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam shell
  cofferdam shell --network none -- bash --norc
  cofferdam shell -- python3")]
pub(crate) struct ShellArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// The command and its arguments [default: your own shell, where the sandbox has it].
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    command: Vec<std::ffi::OsString>,
}

/// Nobody wants to be thrown out of a shell after ten minutes, unless somebody has said so.
const A_DAY: &str = "24h";

pub(crate) fn run(args: &ShellArgs, context: &Context) -> Result<Exit, Failure> {
    let command = match args.command.as_slice() {
        [] => vec![Arg(shell(context).into())],
        words => words.iter().cloned().map(Arg).collect(),
    };
    let wanted = Wanted {
        terminal: Terminal::Tty,
        defaults: defaults()?,
        ..Wanted::command(&args.sandbox, command, context)
    };
    let prepared = match wanted.decide(context) {
        Ok(prepared) => prepared,
        Err(turned) => {
            wanted.turn_down(context, &turned)?;
            return Err(turned.failure);
        }
    };
    if !has_terminal() {
        return Err(no_terminal().hint("run a command with `cofferdam run`"));
    }
    warn(&prepared);
    let state = open_state(context)?;
    reconcile(&state, &context.actor).map_err(not_run)?;
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let streams =
        Streams { stdin: Some(stdin.as_fd()), stdout: Some(stdout.as_fd()), stderr: None };
    let record = carry_out(&state, context, &prepared, streams)?;
    let Some(outcome) = &record.outcome else { return Ok(Exit::NotRun) };
    if let Some(message) = &outcome.message {
        say(message);
    }
    match summary_lines(&state, &record) {
        Ok(lines) => lines.iter().for_each(tell),
        Err(error) => say(&format!("warning: what it changed cannot be shown: {error}")),
    }
    Ok(Exit::Command(outcome.process_exit_code()))
}

/// What a shell has in the place of built-in defaults.
fn defaults() -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    entries.set_text(Key::SandboxTimeout, A_DAY, Layer::Default, "shell").map_err(not_run)?;
    Ok(entries)
}

/// The user's own shell if it is one of the system's, which the sandbox shows; else the one that is everywhere.
fn shell(context: &Context) -> String {
    let own = context.variable("SHELL").and_then(|shell| shell.to_str());
    let is_seen = |shell: &&str| {
        let path = Path::new(shell);
        (path.starts_with("/bin") || path.starts_with("/usr")) && path.exists()
    };
    own.filter(is_seen).unwrap_or("/bin/sh").to_owned()
}
