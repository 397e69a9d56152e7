//! `cofferdam gc`: removes what a run left behind when its owner died.

use std::io::Write;

use clap::Args;
use cofferdam_core::id::RunId;
use cofferdam_core::quantity::Span;
use cofferdam_sandbox::prune::{Pending, Pruned, prune};
use cofferdam_sandbox::reconcile::{Settled, Whose, clear_waste, reconcile_all, sweep_engines};
use cofferdam_sandbox::state::StateDir;
use serde_json::json as object;

use crate::context::{Context, program};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Clean up after runs whose owner died.
///
/// Ends their processes, removes what they left outside their directory and closes their records.
/// Touches nothing that is not Cofferdam's. Every `run` does this first, too; runs are removed only where
/// you ask for it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam gc
  cofferdam gc --older-than 30d             # and remove what finished longer ago
  cofferdam gc --older-than 90d --pending   # with what nobody has decided about
  cofferdam gc --json")]
pub(crate) struct GcArgs {
    /// Also remove finished runs that ended longer ago than this, as in 30d, with what they staged and printed. Runs
    /// whose changes nobody has applied or discarded are kept.
    #[arg(long, value_name = "SPAN", value_parser = Span::with_unit)]
    older_than: Option<Span>,
    /// With --older-than: remove also runs whose changes nobody has applied or discarded. What they changed is lost.
    #[arg(long, requires = "older_than")]
    pending: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &GcArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let state = StateDir::open(&context.state_dir)?;
    let pending = if args.pending { Pending::Removed } else { Pending::Kept };
    let remove_old = || match args.older_than {
        Some(age) => prune(&state, &context.actor, age, pending),
        None => Ok(Pruned::default()),
    };
    let mut removed = Vec::new();
    let mut done = match reconcile_all(&state, &context.actor) {
        // What nobody needs any more makes the room to write down what became of the rest.
        Err(error) if args.older_than.is_some() && error.is_for_want_of_space() => {
            removed = remove_old()?.removed;
            reconcile_all(&state, &context.actor)?
        }
        done => done?,
    };
    done.extend(sweep_engines(&state, &context.actor, &context.engines())?);
    let left = clear_waste(&state);
    let more = remove_old()?;
    removed.extend(more.removed);
    let kept = more.kept;
    // What is removed for good has nothing left.
    for run in &mut done {
        if matches!(run.whose, Whose::Run(run) if removed.contains(&run)) {
            run.left.clear();
        }
    }
    let clean = left.is_empty() && done.iter().all(|run| run.left.is_empty());
    if args.json {
        json::print(
            out,
            &object!({ "cleaned": done, "removed": removed, "kept": kept, "left": left }),
        )?;
    } else if done.is_empty() && removed.is_empty() && kept.is_empty() && clean {
        writeln!(out, "nothing to clean up")?;
    } else {
        for run in &removed {
            writeln!(out, "run {}: removed for good", run.short())?;
        }
        if !kept.is_empty() {
            writeln!(out, "{}", in_a_sentence(&kept))?;
        }
        for run in &done {
            let whose = match &run.whose {
                Whose::Run(run) => format!("run {}", run.short()),
                Whose::Launcher(name) => format!("launcher {name}"),
                Whose::Trial(_) => "a doctor that died".to_owned(),
                Whose::Engine(backend) => format!("{backend}, for a run that is not known"),
            };
            let mut words: Vec<&str> = run.settled.iter().map(|what| in_words(*what)).collect();
            let removed = format!("removed {}", run.removed.join(", "));
            if !run.removed.is_empty() {
                words.insert(0, &removed);
            }
            if !words.is_empty() {
                writeln!(out, "{whose}: {}", words.join("; "))?;
            }
            for left in &run.left {
                writeln!(out, "{whose}: STILL THERE: {left}")?;
            }
        }
        for left in &left {
            writeln!(out, "STILL THERE: {left}")?;
        }
    }
    Ok(if clean { Exit::Fine } else { Exit::Failed })
}

fn in_words(settled: Settled) -> &'static str {
    match settled {
        Settled::Sealed => "sealed what it changed",
        Settled::Closed => "closed its record",
    }
}

/// Runs that are old enough, and wait for somebody.
fn in_a_sentence(kept: &[RunId]) -> String {
    let me = program();
    let (runs, they) = match kept {
        [run] => (format!("run {}: what it changed", run.short()), "it"),
        runs => (format!("{} runs: what they changed", runs.len()), "them"),
    };
    format!(
        "kept {runs} is pending; decide with `{me} apply` or `{me} discard`, or remove {they} with --pending"
    )
}
