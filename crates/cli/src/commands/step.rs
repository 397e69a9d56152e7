//! `cofferdam step`: commands of the project, by name.

mod listing;

use std::ffi::OsString;
use std::io::Write;

use clap::Args;
use cofferdam_core::config::{Entries, Key, Step, Value, nearest};
use cofferdam_core::inert::Inert;
use cofferdam_core::outcome::OutcomeClass;
use cofferdam_core::record::Record;

use super::run::{Ran, RunOptions, run_wanted};
use crate::asking::{Wanted, say};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Files;

/// Run steps of the project, by the names that its configuration gives them.
///
/// A step is a command under `steps` in `cofferdam.yaml` or in the host file. It runs as with `cofferdam run`: with the
/// same options, the same policy and the same exit codes, on any backend. Of several, each begins with what the one before
/// it changed; the first that fails is the last.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam step --list
  cofferdam step test
  cofferdam step lint test --keep-going
  cofferdam step test -- --nocapture          # added to the step's command
  cofferdam step test --sandbox docker --json")]
pub(crate) struct StepArgs {
    #[command(flatten)]
    options: RunOptions,
    /// List the steps, and run none.
    #[arg(short, long, conflicts_with_all = ["names", "added", "keep_going"])]
    list: bool,
    /// Go on after a step that failed; the exit code is that of the first that did.
    #[arg(short, long)]
    keep_going: bool,
    /// Steps, in the order to run them in.
    #[arg(value_name = "NAME", required_unless_present = "list")]
    names: Vec<String>,
    /// Arguments to add to the command of the step.
    #[arg(last = true, value_name = "ARG")]
    added: Vec<OsString>,
}

pub(crate) fn run(
    args: &StepArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let Wanted { workspace, .. } = Wanted::command(&args.options.sandbox, Vec::new(), context);
    let failed = if args.list { Exit::Failed } else { Exit::NotRun };
    let files = Files::read(context, &workspace).map_err(|error| error.failure(failed))?;
    if args.list {
        return listing::list(&files, context, args.options.json, out);
    }
    let named: Result<Vec<Named>, Failure> =
        args.names.iter().map(|name| find(name, &files, context)).collect();
    let named = named?;
    match (named.as_slice(), args.options.report.is_some(), args.added.is_empty()) {
        ([_, _, ..], true, _) => {
            Err(unclear("a report is about one run: name one step, or use --json"))
        }
        ([_, _, ..], _, false) => Err(unclear("arguments can be added to one step only")),
        _ => run_all(args, named, context, out),
    }
}

/// A step that was found, and the files as they count for it.
struct Named<'a> {
    name: &'a str,
    step: Step,
    files: Files,
}

fn find<'a>(name: &'a str, files: &Files, context: &Context) -> Result<Named<'a>, Failure> {
    if let Some((step, files)) = files.for_step(name) {
        return Ok(Named { name, step, files });
    }
    let names = names(files, context)?;
    let meant = nearest(name, names.iter().map(String::as_str));
    let meant = meant.map(|meant| format!(" (did you mean `{meant}`?)")).unwrap_or_default();
    let failure = unclear(&format!("there is no step {}{meant}", Inert::line(name)));
    Err(match names.is_empty() {
        true => failure.hint(
            "name commands under `steps` in cofferdam.yaml, as in `steps: {test: make test}`",
        ),
        false => failure.hint(format!("the steps here are: {}", names.join(", "))),
    })
}

fn names(files: &Files, context: &Context) -> Result<Vec<String>, Failure> {
    let resolved = files
        .clone()
        .resolve(context, Entries::default())
        .map_err(|error| error.failure(Exit::NotRun))?;
    Ok(match resolved.get(Key::Steps).0 {
        Value::Steps(steps) => steps.keys().cloned().collect(),
        _ => Vec::new(),
    })
}

/// Nothing was run, as with `run`.
fn unclear(message: &str) -> Failure {
    Failure::new(Exit::NotRun, anyhow::Error::msg(message.to_owned()))
}

fn run_all(
    args: &StepArgs,
    steps: Vec<Named<'_>>,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let is_many = steps.len() > 1;
    let last = steps.len() - 1;
    let mut options = args.options.clone();
    let mut first_failure = None;
    for (at, Named { name, step, files }) in steps.into_iter().enumerate() {
        if is_many && !options.quiet {
            say(&format!("step {name}"));
        }
        // What all of them changed is in what the last one leaves.
        options.apply = args.options.apply && at == last;
        options.sandbox.workdir =
            args.options.sandbox.workdir.clone().or_else(|| step.workdir.map(|dir| dir.0));
        let command = step.command.words(&args.added);
        let wanted = Wanted { files: Some(files), ..options.wanted(command, context)? };
        let Ran { exit, record } = run_wanted(&options, &wanted, context, out)?;
        if !matches!(exit, Exit::Fine | Exit::Command(0)) {
            first_failure.get_or_insert(exit);
            if !args.keep_going || record.as_ref().is_none_or(is_canceled) {
                if at < last && !options.quiet {
                    say(&format!("step {name} failed; {} not run", rest(last - at)));
                }
                break;
            }
        }
        if let Some(record) = record.filter(|record| record.changes.is_some()) {
            options.sandbox.from = Some(record.run.to_string());
        }
    }
    Ok(first_failure.unwrap_or(Exit::Command(0)))
}

/// Whoever stopped one step wants no other.
fn is_canceled(record: &Record) -> bool {
    record.outcome.as_ref().is_none_or(|outcome| {
        matches!(outcome.class, OutcomeClass::Canceled | OutcomeClass::SandboxFailure)
    })
}

fn rest(count: usize) -> String {
    if count == 1 { "the next is".to_owned() } else { format!("the next {count} are") }
}
