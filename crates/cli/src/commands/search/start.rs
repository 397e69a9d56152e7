//! Runs a loop: reads its file, puts the steps' sandboxes together, and tells how it goes.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use cofferdam_core::check::Profile;
use cofferdam_core::config::Key;
use cofferdam_core::inert::Inert;
use cofferdam_core::outcome::exit_code;
use cofferdam_core::paths::Arg;
use cofferdam_core::search::{LoopFile, Setting, Step, Stop};
use cofferdam_sandbox::reconcile::reconcile;
use cofferdam_sandbox::request::Request;
use cofferdam_sandbox::search::{
    Asked, End, Place, PlaceError, Search, SearchError, Steps, summary,
};
use serde_json::json as object;

use super::LoopArgs;
use super::live::Live;
use super::report;
use crate::asking::{Wanted, not_run, open_state, say};
use crate::commands::check;
use crate::context::{Context, program};
use crate::exit::Exit;
use crate::failure::{Failure, refused};
use crate::json;
use crate::settings;

pub(super) fn run(
    args: &LoopArgs,
    path: &Path,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let sandbox = &args.sandbox;
    if sandbox.from.is_some() || sandbox.mode.is_some() {
        let message = "a loop stages its candidates and says itself what they begin with";
        return Err(not_run(anyhow!(message)).hint("leave --mode and --from out"));
    }
    let full = context.resolve(path);
    let shown = Inert::path(path).to_string();
    let opened = File::open(&full).with_context(|| format!("cannot read {shown}"));
    let opened = opened.map_err(|error| {
        not_run(error)
            .hint("name a loop's file: docs/usage/loop.md shows one, `cofferdam loop ls` lists the loops that were")
    })?;
    let text = settings::text(path, opened).map_err(not_run)?;
    let file = LoopFile::parse(&text, &path.to_string_lossy()).map_err(|errors| {
        let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
        not_run(anyhow!("{}", lines.join("\n"))).hint("docs/usage/loop.md describes every key")
    })?;
    let steps = steps(args, &file, context)?;
    let workspace = steps.run.spec.workspace.real.0.clone();
    let (state, engines) = (open_state(context)?, context.engines());
    let mut search =
        Search::new(&state, &context.actor, &engines, &file, steps).map_err(failure)?;
    let validator = match file.check {
        Profile::Off => None,
        profile => Some(check::of_profile(profile, &workspace, context)?),
    };
    if let Some(validator) = &validator {
        search = search.checked_by(validator);
    }
    let plans = search.plans().map_err(failure)?;
    let flags = format!("{sandbox:?}");
    let asked = Asked {
        workspace: &workspace,
        file: &shown,
        text: &text,
        flags: &flags,
        actor: &context.actor,
    };
    if args.dry_run {
        let goes_on = Place::unfinished(&state, asked).map_err(not_run)?;
        let shown: Vec<_> = plans.iter().map(|prepared| prepared.shown()).collect();
        json::print(out, &object!({ "goes_on_with": goes_on, "steps": shown }))?;
        return Ok(Exit::Fine);
    }
    plans.iter().for_each(super::super::run::warn);
    reconcile(&state, &context.actor).map_err(not_run)?;
    let begin = if args.fresh { Place::begin } else { Place::resume_or_begin };
    let opened = begin(&state, asked).map_err(|error| match error {
        PlaceError::Taken(_) => not_run(error).hint("wait for it, or use --fresh for another"),
        error => not_run(error),
    })?;
    let id = opened.place.meta.id;
    let mut live = Live::new(args.quiet, &file);
    live.begin(id, opened.is_resumed, &opened.lines);
    let end = search.run(opened, &mut |progress| live.see(&progress));
    live.finish();
    let end = end.map_err(failure)?;
    let summary = summary(&state, &id.to_string())?;
    if args.json {
        json::print(out, &report::as_json(&summary))?;
    } else if !args.quiet {
        report::conclude(&summary, out)?;
    }
    match end {
        End::Interrupted { signal } => {
            let again = format!("{} loop {shown}", program());
            say(&format!("told to end; the same command goes on where it was: {again}"));
            Ok(Exit::Command(exit_code::SIGNAL_BASE + u8::try_from(signal).unwrap_or(0)))
        }
        End::Stopped(Stop::SandboxFailed) => {
            Err(Failure::new(Exit::Failed, anyhow!("{}", Stop::SandboxFailed)).hint(
                "`cofferdam runs` lists the runs, `cofferdam show` says why they failed, and \
                       `cofferdam doctor` what this host lacks",
            ))
        }
        End::Stopped(_) if report::champion(&summary).is_none() => Ok(Exit::Failed),
        End::Stopped(_) => Ok(Exit::Fine),
    }
}

/// The sandboxes of the steps: what the file says for all, what it says for each, then the flags.
fn steps(args: &LoopArgs, file: &LoopFile, context: &Context) -> Result<Steps, Failure> {
    let request = |step: &Step| -> Result<Request, Failure> {
        let command = step.command.iter().map(|word| Arg(word.into())).collect();
        let timeout = step.timeout.map(|span| (Key::SandboxTimeout, span.to_string()));
        let own = [(Key::SandboxMode, "stage".to_owned())].into_iter().chain(timeout);
        let own = own.map(|(key, text)| Setting { key, text });
        let written = file.sandbox.iter().chain(&step.sandbox).cloned();
        let wanted = Wanted {
            settings: own.chain(written).collect(),
            ..Wanted::command(&args.sandbox, command, context)
        };
        wanted.request(context).map_err(|turned| turned.failure)
    };
    Ok(Steps {
        generate: request(&file.generator)?,
        run: request(&file.run)?,
        score: file.score.as_ref().map(request).transpose()?,
    })
}

/// Nothing was run, or the loop could not go on.
fn failure(error: SearchError) -> Failure {
    match error {
        SearchError::Refused { refusal } => refused(&refusal),
        SearchError::BareHost => not_run(error).hint(
            "use --sandbox native, docker or podman; `cofferdam doctor` says what this host has",
        ),
        SearchError::OtherInput { .. } | SearchError::ChampionGone(_) => {
            Failure::new(Exit::Failed, error).hint("begin anew with --fresh")
        }
        error => not_run(error),
    }
}
