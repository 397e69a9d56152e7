//! `cofferdam session start`, and the process that then holds the session.

use std::cell::RefCell;
use std::io::{self, BufRead as _, BufReader, Write};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use clap::Args;
use cofferdam_core::id::RunId;
use cofferdam_core::quantity::{NotAQuantity, Span};
use cofferdam_sandbox::changes::carry_checkpoints;
use cofferdam_sandbox::reconcile::reconcile;
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::session::{Held, Terms, detach, hold as hold_session, let_go, succeed};
use serde_json::json as object;

use crate::asking::{Wanted, not_run, open_state};
use crate::commands::run::SandboxArgs;
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Start a session and print its id.
///
/// It goes on until `session stop`. The limits of memory, processors and processes are for all its
/// commands together; the timeouts are for each.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam session start
  cofferdam session start --memory 2g --idle-stop 30m
  id=$(cofferdam session start)")]
pub(crate) struct StartArgs {
    #[command(flatten)]
    hold: HoldArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HoldArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// End it when nothing has run in it for so long: 1s or more.
    #[arg(long, value_name = "SPAN", value_parser = silence)]
    idle_stop: Option<Span>,
    /// End it with the process at the other end of its standard input.
    #[arg(long, hide = true)]
    tether: bool,
    /// Print the id as JSON.
    #[arg(long)]
    json: bool,
}

/// How long nothing may happen. Where that is no time at all, it is over before it began.
pub(crate) fn silence(text: &str) -> Result<Span, String> {
    match text.parse() {
        Ok(span) if span < Span::secs(1) => {
            Err("it would end at once: give it 1s or more, as in 30m".to_owned())
        }
        read => read.map_err(|error: NotAQuantity| error.to_string()),
    }
}

pub(crate) fn run(args: &StartArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    // The same words, to a process of its own that outlives us.
    let mut words = context::words();
    if let Some(word) = words.iter_mut().find(|word| *word == "start") {
        *word = "hold".into();
    }
    let stdin = if args.hold.tether { Stdio::inherit() } else { Stdio::null() };
    let mut holder = Command::new(std::env::current_exe()?)
        .args(words)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the process that holds the session")
        .map_err(not_run)?;
    let mut line = String::new();
    if let Some(stdout) = holder.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    if line.is_empty() {
        // It has said why, on our own standard error.
        let code = holder.wait()?.code().and_then(|code| u8::try_from(code).ok());
        return Ok(code.map_or(Exit::NotRun, Exit::Command));
    }
    out.write_all(line.as_bytes())?;
    Ok(Exit::Fine)
}

/// Holds the session to its end. Says its id on standard output as soon as it can be reached.
pub(crate) fn hold(
    args: &HoldArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    detach().map_err(not_run)?;
    let stdin = io::stdin();
    let terms = Terms {
        tether: args.tether.then(|| stdin.as_fd()),
        idle_stop: args.idle_stop.map(|span| span.duration()),
    };
    let said = RefCell::new(out);
    let mut sandbox = args.sandbox.clone();
    let mut before: Option<RunId> = None;
    loop {
        let ready = |run: RunId| {
            // Whoever started us may be gone; the session is there all the same.
            say(&mut **said.borrow_mut(), run, args.json).ok();
            let_go().ok();
        };
        let Held { record, next } = hold_one(&sandbox, context, terms, before, &ready)?;
        let Some(look) = next else {
            let Some(outcome) = record.outcome else { return Ok(Exit::NotRun) };
            if let Some(message) = &outcome.message {
                // Heard only where it never stood.
                crate::asking::say(message);
            }
            return Ok(Exit::Command(outcome.process_exit_code()));
        };
        before = Some(record.run);
        sandbox.from = Some(look.to_string());
    }
}

/// Holds one session, perhaps in the place of one that was before.
fn hold_one(
    sandbox: &SandboxArgs,
    context: &Context,
    terms: Terms<'_>,
    before: Option<RunId>,
    ready: &dyn Fn(RunId),
) -> Result<Held, Failure> {
    let wanted = Wanted::session(sandbox, context);
    let prepared = match wanted.decide(context) {
        Ok(prepared) => prepared,
        Err(turned) => {
            wanted.turn_down(context, &turned)?;
            return Err(turned.failure);
        }
    };
    let state = open_state(context)?;
    reconcile(&state, &context.actor).map_err(not_run)?;
    // The workspace may be moved or removed while we are here.
    std::env::set_current_dir("/")?;
    let store = Store::new(&state);
    let begun = |run: RunId| {
        if let Some(before) = before {
            // Without them it only knows its own checkpoints.
            carry_checkpoints(&store.dir(before), &store.dir(run)).ok();
            // Without it, its id means the one that has ended.
            succeed(&store.dir(before), run).ok();
        }
        ready(run);
    };
    hold_session(&state, &context.actor, &prepared, terms, &begun).map_err(not_run)
}

fn say(out: &mut dyn Write, run: RunId, as_json: bool) -> io::Result<()> {
    if as_json {
        json::print_line(out, &object!({ "run": run }))?;
    } else {
        writeln!(out, "{}", run.short())?;
    }
    out.flush()
}
