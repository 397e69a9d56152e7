//! `cofferdam drive`: a long-lived process that starts one sandbox for each line it reads, as servers
//! do. For measurements and tests.
//!
//! A line is a JSON list: the arguments of `cofferdam run`. The answer is a line of JSON.

use std::io::{self, BufRead as _, Write};

use clap::{Args, Parser, ValueEnum};
use cofferdam_sandbox::backend::{Starter, Stock, Streams};
use cofferdam_sandbox::launcher::{Depth, Ended, Launcher, Trials};
use cofferdam_sandbox::reconcile::reconcile;
use cofferdam_sandbox::run::{Prepared, perform_by};
use cofferdam_sandbox::state::StateDir;
use serde_json::json;

use super::run::{RunArgs, prepare_for_driver};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Start a sandbox for each line of standard input.
#[derive(Debug, Args)]
pub(crate) struct DriveArgs {
    how: How,
    /// How many sandboxes the launcher keeps ready.
    #[arg(long, value_name = "N", default_value_t)]
    depth: Depth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum How {
    /// By the launcher, with a record, which is the answer.
    Recorded,
    /// The bare command, from this process.
    Plain,
    /// A sandbox made by this process, without a record.
    Cold,
    /// A sandbox of the launcher's, without a record.
    Pooled,
}

/// A line, as `run` would be given it.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    run: RunArgs,
}

pub(crate) fn run(
    args: &DriveArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let state = StateDir::open(&context.state_dir)?;
    reconcile(&state, &context.actor)?;
    let launcher = match args.how {
        How::Recorded | How::Pooled => {
            Some(Launcher::spawn_with(&std::env::current_exe()?, &state, args.depth)?)
        }
        How::Plain | How::Cold => None,
    };
    let stock = Stock::default();
    let starter = launcher.as_ref().map_or(Starter::Repeatedly(&stock), Starter::Launcher);
    let trials = Trials::open(&state)?;
    let mut last: Option<(String, Prepared)> = None;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let prepared = match last.take() {
            // What is asked for again and again is decided once.
            Some((text, prepared)) if text == line => prepared,
            _ => decide(&line, context)?,
        };
        let Prepared { plan, .. } = &prepared;
        let Ended { exit_code, rest } = match args.how {
            How::Recorded => {
                let none = Streams { stdin: None, stdout: None, stderr: None };
                let record = perform_by(starter, &state, &context.actor, &prepared, none)?;
                json::print_line(out, &record)?;
                last = Some((line, prepared));
                continue;
            }
            How::Plain => trials.plain(plan)?,
            How::Cold | How::Pooled => trials.sandboxed(starter, plan)?,
        };
        json::print_line(out, &json!({ "exit_code": exit_code }))?;
        out.flush()?;
        // After the answer, as a server does.
        let left = rest.finish();
        if !left.is_empty() {
            return Err(anyhow::anyhow!("still there: {}", left.join(", ")).into());
        }
        trials.make_ready()?;
        stock.make_ready();
        last = Some((line, prepared));
    }
    trials.close()?;
    Ok(Exit::Fine)
}

fn decide(line: &str, context: &Context) -> Result<Prepared, Failure> {
    let words: Vec<String> = serde_json::from_str(line)?;
    let run = Line::try_parse_from(words).map_err(anyhow::Error::from)?.run;
    prepare_for_driver(&run, context)
}
