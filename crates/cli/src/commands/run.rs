//! `cofferdam run`: one command in a sandbox.

mod args;
mod fetch;
mod processes;
mod result;
mod summary;

use std::io::{self, IsTerminal as _, Write};
use std::os::fd::AsFd as _;

use cofferdam_core::backend::Backend;
use cofferdam_core::outcome::{OutcomeClass, exit_code};
use cofferdam_core::paths::Arg;
use cofferdam_core::record::{Record, Unsealed};
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::spec::{Mode, Staging, Terminal};
use cofferdam_sandbox::backend::Streams;
use cofferdam_sandbox::reconcile::reconcile;
use cofferdam_sandbox::run::{Prepared, RunError, perform};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::state::StateDir;
use cofferdam_sandbox::terminal::{Held, calm};

use super::apply::apply_auto;
use crate::asking::{Turned, Wanted, not_run, open_state, say, tell};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::report::Report;
pub(crate) use args::{
    BoundArgs, MeansArgs, RunArgs, RunOptions, SandboxArgs, flag, flags, secrets,
};
pub(crate) use processes::refused as refused_processes;
pub(crate) use summary::lines as summary_lines;

pub(crate) fn run(args: &RunArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let options = &args.options;
    Ok(run_wanted(options, &wanted(args, context)?, context, out)?.exit)
}

/// A command that was run, or would have been.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Exit,
    /// There is none of a plan that was only shown.
    pub(crate) record: Option<Record>,
}

/// One command, from the decision to what is said about its end.
pub(crate) fn run_wanted(
    args: &RunOptions,
    wanted: &Wanted<'_>,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Ran, Failure> {
    let further = |prepared: &Prepared| {
        applicable(args, prepared)?;
        match args.dry_run {
            true => Ok(()),
            false => fetch::fetch(args, context, prepared),
        }
    };
    let prepared = match wanted.decide_and(context, further) {
        Ok(prepared) => prepared,
        Err(turned) => return Err(turn_down(args, context, wanted, turned)?),
    };
    if args.dry_run {
        json::print(out, &prepared.shown())?;
        return Ok(Ran { exit: Exit::Fine, record: None });
    }
    let report = report(args, context)?;
    warn(&prepared);
    if let (false, Staging::Copy { reason }) = (args.quiet, &prepared.plan.workspace.staging) {
        say(&format!("note: it works on a copy of the workspace, for {reason}"));
    }
    let state = open_state(context)?;
    reconcile(&state, &context.actor).map_err(not_run)?;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let own = (!args.json).then(|| (stdout.as_fd(), stderr.as_fd()));
    let streams = Streams {
        stdin: Some(stdin.as_fd()),
        stdout: own.map(|(stdout, _)| stdout),
        stderr: own.map(|(_, stderr)| stderr),
    };
    let record = carry_out(&state, context, &prepared, streams)?;
    let exit = finish(args, &state, report.as_ref(), &record, out)?;
    if args.apply {
        bring_home(args, context, &record);
    }
    Ok(Ran { exit, record: Some(record) })
}

/// Whether there can be something to apply, where that is asked for. Without a sandbox there is a warning of its own.
fn applicable(args: &RunOptions, prepared: &Prepared) -> Result<(), Refusal> {
    let mode = prepared.plan.workspace.mode;
    if !args.apply || mode == Mode::Stage || !prepared.plan.backend.confines() {
        return Ok(());
    }
    let mode = mode.name();
    Err(Refusal {
        rule: Rule::Consistent,
        field: "--apply".to_owned(),
        message: format!("--apply brings home what was staged, and --mode {mode} stages nothing"),
        remedy: "leave one of the two out: what is to be applied takes --mode stage".to_owned(),
    })
}

/// Carries the plan out; where the command gets a terminal, ours is lent to it meanwhile.
pub(crate) fn carry_out(
    state: &StateDir,
    context: &Context,
    prepared: &Prepared,
    streams: Streams<'_>,
) -> Result<Record, Failure> {
    let is_native = prepared.plan.backend == Backend::Native;
    let lent = match (prepared.plan.terminal, streams.stdin) {
        (Terminal::Tty, Some(stdin)) if has_terminal() => {
            let program = std::env::current_exe()?;
            // That of a container is set where its keys are read.
            let hold = if is_native { Held::new } else { Held::guarded };
            Some(hold(&program, stdin).map_err(not_run)?)
        }
        // An engine's own has no need of ours.
        (Terminal::Tty, _) if !is_native => None,
        (Terminal::Tty, _) => return Err(no_terminal().hint("leave --tty out")),
        (Terminal::Streams, _) => None,
    };
    let stdout = io::stdout();
    let performed = perform(state, &context.actor, prepared, streams);
    let was_lent = lent.is_some();
    drop(lent);
    if was_lent && performed.as_ref().is_ok_and(|record| !has_exited(record)) {
        // Whoever waits for it at the other end has gone then.
        calm(stdout.as_fd()).ok();
    }
    match performed {
        // The command has run, and its exit code is what the caller waits for.
        Err(RunError::Unrecorded { record, source }) => {
            let error = anyhow::Error::new(source);
            say(&format!(
                "warning: how it ended could not be written down: {error:#}; make room, and `cofferdam gc` \
                 writes what can still be known"
            ));
            Ok(*record)
        }
        performed => performed.map_err(not_run),
    }
}

pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether it came to an end by itself, and could leave the terminal as it found it.
fn has_exited(record: &Record) -> bool {
    record.outcome.as_ref().is_some_and(|outcome| outcome.class == OutcomeClass::Exited)
}

pub(crate) fn no_terminal() -> Failure {
    let message = "a terminal can only be given from one: input and output must be a terminal";
    not_run(anyhow::Error::msg(message))
}

/// A run for somebody who asks for many: without streams of its own, its sandbox made by a launcher.
pub(crate) fn prepare_for_driver(args: &RunArgs, context: &Context) -> Result<Prepared, Failure> {
    wanted(args, context)?.decide(context).map_err(|turned| turned.failure)
}

fn wanted<'a>(args: &'a RunArgs, context: &Context) -> Result<Wanted<'a>, Failure> {
    let command = args.command.iter().cloned().map(Arg).collect();
    args.options.wanted(command, context)
}

/// Refused: written down, reported, exit 125.
fn turn_down(
    args: &RunOptions,
    context: &Context,
    wanted: &Wanted<'_>,
    turned: Box<Turned>,
) -> Result<Failure, Failure> {
    if !args.dry_run {
        let record = wanted.turn_down(context, &turned)?;
        if let Some(report) = report(args, context)? {
            report.write(&record).map_err(not_run)?;
        }
    }
    Ok(turned.failure)
}

fn finish(
    args: &RunOptions,
    state: &StateDir,
    report: Option<&Report>,
    record: &Record,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    if let Some(Err(error)) = report.map(|report| report.write(record)) {
        // The command has run, and its exit code is what the caller waits for.
        say(&format!("warning: the report is missing: {error:#}"));
    }
    if args.json {
        json::print_line(out, record)?;
    }
    let Some(outcome) = &record.outcome else { return Ok(Exit::NotRun) };
    if let Some(Unsealed { reason, is_tried_again, .. }) = &record.unsealed {
        let next = match is_tried_again {
            true => "`cofferdam gc` tries again".to_owned(),
            false => format!("it stays in {}", Store::new(state).dir(record.run).display()),
        };
        say(&format!(
            "warning: what it changed is kept, but could not be sealed: {reason}; {next}"
        ));
    }
    if let Some(message) = &outcome.message {
        say(&format!("{}: {message}", outcome_word(outcome.class)));
    } else if !args.quiet {
        let ended = record.finished_at.unwrap_or(record.started_at).unix_millis();
        let whole = ended.saturating_sub(record.started_at.unix_millis());
        let seconds = record.usage.as_ref().map_or(whole, |usage| usage.wall_ms);
        say(&format!(
            "run {} {} on {} after {}.{:03} s",
            record.run.short(),
            outcome_word(outcome.class),
            record.backend.map_or("nothing", Backend::name),
            seconds / 1000,
            seconds % 1000
        ));
    }
    let limit = record.plan.as_ref().map(|plan| plan.limits.pids);
    refused_processes(record.usage.as_ref(), limit).iter().for_each(|words| say(words));
    record.result.as_ref().inspect(|report| result::warn(report));
    if !args.quiet && !args.json {
        let numbers = record.result.as_ref().and_then(result::numbers);
        numbers.iter().for_each(|line| say(line));
        match summary::lines(state, record) {
            Ok(lines) => lines.iter().for_each(tell),
            Err(error) => say(&format!("warning: what it changed cannot be shown: {error}")),
        }
    }
    // The command has ended, but we were told to before we were done.
    let canceled = record.unsealed.as_ref().and_then(|unsealed| unsealed.signal);
    Ok(Exit::Command(match canceled.and_then(|signal| u8::try_from(signal).ok()) {
        Some(signal) => exit_code::SIGNAL_BASE + signal,
        None => outcome.process_exit_code(),
    }))
}

/// Applies what needs no look. The command has run, and its exit code is what the caller waits for.
fn bring_home(args: &RunOptions, context: &Context, record: &Record) {
    let succeeded = record.outcome.as_ref().is_some_and(|outcome| {
        outcome.class == OutcomeClass::Exited && outcome.exit_code == Some(0)
    });
    if !succeeded {
        return say("nothing is applied, because the command did not succeed");
    }
    match apply_auto(record, context) {
        Ok(Some(words)) if !args.quiet => say(&words),
        Ok(_) => {}
        Err(failure) => say(&format!("warning: nothing is applied: {:#}", failure.error)),
    }
}

/// How an outcome is said in a sentence.
pub(crate) fn outcome_word(class: OutcomeClass) -> &'static str {
    match class {
        OutcomeClass::Exited => "exited",
        OutcomeClass::Signaled => "was killed by a signal",
        OutcomeClass::TimedOut => "timed out",
        OutcomeClass::Oom => "ran out of memory",
        OutcomeClass::Canceled => "was canceled",
        OutcomeClass::Refused => "was refused",
        OutcomeClass::SandboxFailure => "failed in the sandbox itself",
    }
}

/// Where the report goes, if one is asked for.
fn report(args: &RunOptions, context: &Context) -> Result<Option<Report>, Failure> {
    let path = args.report.as_ref().map(|path| context.resolve(path));
    let opened = path.map(|path| Report::open(&path)).transpose();
    opened.map_err(|error| not_run(error).hint("name a file in a directory that you can write to"))
}

/// Says so, loudly and whatever `--quiet` says, when there is no sandbox.
pub(crate) fn warn(prepared: &Prepared) {
    if prepared.selection.fell_back {
        let reasons: Vec<_> = prepared
            .selection
            .passed_over
            .iter()
            .map(|p| format!("{}: {}", p.backend, p.reason))
            .collect();
        say(&format!(
            "WARNING: NO SANDBOX. None is usable here ({}), and the host file says \
             fallback_to_direct; the command runs on the bare host and can do whatever you can",
            reasons.join("; ")
        ));
    } else if !prepared.plan.backend.confines() {
        say("WARNING: NO SANDBOX. The command runs on the bare host and can do whatever you can");
    }
}
