//! `cofferdam apply --branch`: commits that were made inside, as a branch of the host's repository.

use std::io::Write;

use cofferdam_core::inert::Inert;
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::{History, HistoryError, Imported, Importing};
use cofferdam_sandbox::state::StateDir;

use super::ApplyArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::sealed::Paths;

pub(super) fn import(
    args: &ApplyArgs,
    branch: &str,
    record: &Record,
    paths: &Paths,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    if !paths.are_all() {
        return Err(Failure::usage("a branch has all of a commit: leave the paths out"));
    }
    let state = StateDir::open(&context.state_dir)?;
    let allowed = args.allowed.allowances(&record.workspace, &context.cwd)?.paths;
    let wanted = Importing { branch, allowed: &allowed };
    let imported = History::of_run(&state, record)
        .and_then(|history| history.import(&state, record, &context.actor, wanted))
        .map_err(failure)?;
    if args.json {
        json::print(out, &imported)?;
    } else if !args.quiet {
        let Imported { branch, commit, commits } = &imported;
        let (s, run) = (if *commits == 1 { "" } else { "s" }, record.run.short());
        let name = Inert::line(branch);
        writeln!(out, "run {run}: {commits} commit{s} on the new branch {name}, at {commit}")?;
        writeln!(out, "look at it with `git log {name}`; `git branch -D {name}` takes it back")?;
    }
    Ok(Exit::Fine)
}

fn failure(error: HistoryError) -> Failure {
    let remedy = match &error {
        HistoryError::Exists(_) => "choose another name, or remove that branch first",
        HistoryError::BadName(_) => "see `git help check-ref-format` for what a name may be",
        HistoryError::Nothing => "`cofferdam diff` shows what changed without being committed",
        HistoryError::NoRepository(_) => "only a workspace with a git repository has branches",
        HistoryError::Hidden(_) => {
            let hint = "what is hidden looks empty inside, and is committed so: bring the files home without --branch, or \
                        have it as it is with --allow-path PATH";
            return Failure::new(Exit::Undecided, error).hint(hint);
        }
        _ => return error.into(),
    };
    Failure::new(Exit::Failed, error).hint(remedy)
}
