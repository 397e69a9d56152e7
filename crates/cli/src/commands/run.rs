//! `cofferdam run`: one command in a sandbox.

mod args;
mod fetch;
mod summary;

use std::io::{self, Write};
use std::os::fd::AsFd as _;

use cofferdam_core::backend::Backend;
use cofferdam_core::config::{Key, Resolved};
use cofferdam_core::inert::Inert;
use cofferdam_core::outcome::{OutcomeClass, exit_code};
use cofferdam_core::paths::{Arg, ExactPath};
use cofferdam_core::policy::forbidden::Places;
use cofferdam_core::record::{Record, Unsealed};
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::spec::{Origin, SandboxSpec, Staging, Terminal};
use cofferdam_sandbox::backend::Streams;
use cofferdam_sandbox::changes::resume::origin;
use cofferdam_sandbox::reconcile::reconcile;
use cofferdam_sandbox::request::{Ask, Request, assemble};
use cofferdam_sandbox::run::{Attempt, Prepared, RunError, perform, prepare, reject};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::state::StateDir;

use super::apply::apply_auto;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, refused};
use crate::json;
use crate::report::Report;
use crate::settings::{self, LoadError};
pub(crate) use args::RunArgs;
use args::{flags, secrets};

pub(crate) fn run(args: &RunArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let attempted = Attempted::new(args, context);
    let request = match request(args, context, &attempted) {
        Ok(request) => request,
        Err(turned) => return turn_down(args, context, &attempted, None, turned),
    };
    let prepared = match prepare(&request, &context.state_dir, &context.engines()) {
        Ok(prepared) => prepared,
        Err(refusal) => {
            return turn_down(args, context, &attempted, Some(&request.spec), refusal.into());
        }
    };
    if args.dry_run {
        json::print(out, &prepared.shown())?;
        return Ok(Exit::Fine);
    }
    if let Err(refusal) = fetch::fetch(args, context, &prepared) {
        return turn_down(args, context, &attempted, Some(&request.spec), refusal.into());
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
    let record = match perform(&state, &context.actor, &prepared, streams) {
        // The command has run, and its exit code is what the caller waits for.
        Err(RunError::Unrecorded { record, source }) => {
            let error = anyhow::Error::new(source);
            say(&format!(
                "warning: how it ended could not be written down: {error:#}; make room, and `cofferdam gc` \
                 writes what can still be known"
            ));
            *record
        }
        performed => performed.map_err(not_run)?,
    };
    let exit = finish(args, &state, report.as_ref(), &record, out)?;
    if args.apply {
        bring_home(args, context, &record);
    }
    Ok(exit)
}

/// A run for somebody who asks for many: without streams of its own, its sandbox made by a launcher.
pub(crate) fn prepare_for_driver(args: &RunArgs, context: &Context) -> Result<Prepared, Failure> {
    let attempted = Attempted::new(args, context);
    let request = request(args, context, &attempted).map_err(|turned| turned.failure)?;
    prepare(&request, &context.state_dir, &context.engines())
        .map_err(|refusal| Turned::from(refusal).failure)
}

/// Who wants to run what, as far as it is known before anything was checked.
struct Attempted {
    command: Vec<Arg>,
    workspace: ExactPath,
}

impl Attempted {
    fn new(args: &RunArgs, context: &Context) -> Self {
        let workspace = args.workspace.as_ref().map(|dir| context.resolve(dir));
        Self {
            command: args.command.iter().cloned().map(Arg).collect(),
            workspace: workspace.unwrap_or_else(|| context.cwd.clone()).into(),
        }
    }
}

/// A request that is turned down: for the record, and for the user.
struct Turned {
    refusal: Refusal,
    failure: Failure,
}

impl From<Refusal> for Turned {
    fn from(refusal: Refusal) -> Self {
        Self { failure: refused(&refusal), refusal }
    }
}

impl From<LoadError> for Turned {
    /// Wrong settings are refused like anything else, but every fault in them is shown.
    fn from(error: LoadError) -> Self {
        if let LoadError::Refused(refusal) = error {
            return refusal.into();
        }
        let failure = error.failure(Exit::NotRun);
        let refusal = Refusal {
            rule: Rule::ValueForm,
            field: "configuration".to_owned(),
            message: failure.error.to_string(),
            remedy: failure.hints.join("; "),
        };
        Self { refusal, failure }
    }
}

fn request(args: &RunArgs, context: &Context, attempted: &Attempted) -> Result<Request, Turned> {
    let resolved = settings::load(context, &attempted.workspace, flags(args)?)?;
    for warning in resolved.warnings() {
        say(&format!("warning: {warning}"));
    }
    let ask = ask(args, context, attempted, &resolved)?;
    let request = assemble(&resolved.settings(), ask)?;
    for note in &request.notes {
        say(&format!("note: {note}"));
    }
    Ok(request)
}

fn ask(
    args: &RunArgs,
    context: &Context,
    attempted: &Attempted,
    resolved: &Resolved,
) -> Result<Ask, Refusal> {
    let settings = resolved.settings();
    let mut passed = std::collections::BTreeMap::new();
    for name in &settings.sandbox.env_passthrough {
        // A name that is not set on the host is not set inside either.
        let Some(value) = context.variable(name.as_str()) else { continue };
        let value = value.to_str().ok_or_else(|| Refusal {
            rule: Rule::ValueForm,
            field: Key::SandboxEnvPassthrough.name().to_owned(),
            message: format!("the value of {name} is not text"),
            remedy: "leave it out: only UTF-8 values can be passed through".to_owned(),
        })?;
        passed.insert(name.clone(), value.to_owned());
    }
    Ok(Ask {
        command: attempted.command.clone(),
        workspace: attempted.workspace.0.clone(),
        workdir: args.workdir.clone().map(ExactPath),
        terminal: if args.tty { Terminal::Tty } else { Terminal::Streams },
        role: args.role.clone(),
        from: from(args, context, attempted)?,
        explicit: resolved.explicit(),
        host_env: context.place().collect(),
        passed,
        home: context.home.clone(),
        places: Places {
            homes: context.homes(),
            state: vec![context.state_dir.clone()],
            config: vec![context.config_dir.clone()],
        },
    })
}

/// The run to go on from, looked up.
fn from(
    args: &RunArgs,
    context: &Context,
    attempted: &Attempted,
) -> Result<Option<Origin>, Refusal> {
    let Some(text) = &args.from else { return Ok(None) };
    let refuse = |message: String| Refusal {
        rule: Rule::ValueForm,
        field: "from".to_owned(),
        message,
        remedy: "name a run of this workspace: `cofferdam runs` lists them".to_owned(),
    };
    let workspace = std::fs::canonicalize(&attempted.workspace)
        .map_err(|error| refuse(format!("{}: {error}", attempted.workspace.display())))?;
    let state = StateDir::open(&context.state_dir).map_err(|error| refuse(error.to_string()))?;
    let store = Store::new(&state);
    let run = store.find(text, &workspace).map_err(|error| refuse(error.to_string()))?;
    origin(&store, run, &workspace).map(Some)
}

/// Refused: written down, reported, exit 125.
fn turn_down(
    args: &RunArgs,
    context: &Context,
    attempted: &Attempted,
    spec: Option<&SandboxSpec>,
    turned: Turned,
) -> Result<Exit, Failure> {
    if !args.dry_run {
        let secrets = secrets(args, context, spec);
        let attempt = Attempt {
            command: &attempted.command,
            workspace: &attempted.workspace,
            secrets: &secrets,
        };
        let state = open_state(context)?;
        let record = reject(&state, &context.actor, attempt, &turned.refusal).map_err(not_run)?;
        if let Some(report) = report(args, context)? {
            report.write(&record).map_err(not_run)?;
        }
    }
    Err(turned.failure)
}

fn finish(
    args: &RunArgs,
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
    if !args.quiet && !args.json {
        match summary::lines(state, record) {
            Ok(lines) => lines.iter().for_each(|line| say(line)),
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
fn bring_home(args: &RunArgs, context: &Context, record: &Record) {
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
fn report(args: &RunArgs, context: &Context) -> Result<Option<Report>, Failure> {
    let path = args.report.as_ref().map(|path| context.resolve(path));
    path.map(|path| Report::open(&path)).transpose().map_err(not_run)
}

/// Says so, loudly and whatever `--quiet` says, when there is no sandbox.
fn warn(prepared: &Prepared) {
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

/// Our own words: on standard error, inert, marked as ours.
fn say(text: &str) {
    // One write, so that lines of several processes do not mix. With standard error gone there is
    // nobody to tell.
    let line = format!("cofferdam: {}\n", Inert::line(text));
    io::stderr().write_all(line.as_bytes()).ok();
}

fn open_state(context: &Context) -> Result<StateDir, Failure> {
    StateDir::open(&context.state_dir).map_err(|error| {
        not_run(error)
            .hint("Cofferdam keeps its records there: make it writable, or set XDG_STATE_HOME")
    })
}

/// A failure before or around the command: nothing was run, or nothing can be said about it.
fn not_run(error: impl Into<anyhow::Error>) -> Failure {
    Failure::new(Exit::NotRun, error)
}
