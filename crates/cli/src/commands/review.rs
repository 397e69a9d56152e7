//! `cofferdam review`: choose from a run's changes, by file and by hunk, and apply what was chosen.
//!
//! [`model`] is the state and what keys make of it, [`draw`] what is seen of it, [`screen`] the terminal
//! and the loop, [`source`] where changes come from, [`deeds`] what is done with them. Nothing is done
//! without a yes in a [`dialog`].

mod deeds;
mod dialog;
mod draw;
mod file;
mod model;
mod order;
mod screen;
mod source;

use std::io::{self, IsTerminal as _, Write};

use clap::Args;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::sealed::{Sealed, Words};
use deeds::Deeds;
use model::Model;
use source::Source;

/// Look through what a run changed and apply some of it, by file or by hunk.
///
/// What will later be executed needs a yes of its own. Nothing is applied, discarded or undone without one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam review                 # the newest run of this workspace
  cofferdam review 4k2m9x7q src/

`?` lists the keys.")]
pub(crate) struct ReviewArgs {
    #[command(flatten)]
    words: Words,
}

pub(crate) fn run(
    args: &ReviewArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(Failure::usage("review needs a terminal to show itself on").hint(
            "look with `cofferdam diff`, and apply with `cofferdam apply [PATH…] [--hunk PATH:N]`",
        ));
    }
    let sealed = Sealed::open(&args.words, context)?;
    let (record, words) = (&sealed.record, sealed.words());
    let mut source = Source::new(&words, record, context);
    let loaded = source.load()?;
    if loaded.files.is_empty() {
        let run = record.run.short();
        writeln!(io::stderr(), "cofferdam: run {run} has no pending changes")?;
        return Ok(Exit::Fine);
    }
    let mut model = Model::new(source::title(record), loaded);
    let deeds = Deeds { record, context };
    let done = screen::show(&mut model, &mut source, &deeds)?;
    // What was done stays on the terminal after the page is gone.
    done.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(Exit::Fine)
}
