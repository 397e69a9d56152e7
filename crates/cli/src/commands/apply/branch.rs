//! `cofferdam apply --branch`: commits that were made inside, as a branch of the host's repository.

use std::io::{self, Write};

use cofferdam_core::inert::Inert;
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::{History, HistoryError, Imported, Importing, Left, short_name};
use cofferdam_sandbox::state::StateDir;

use super::ApplyArgs;
use crate::context::{Context, program, quoted};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::sealed::Paths;

/// How many places of what was left are shown one by one; JSON has all.
const SHOWN: usize = 20;

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
        say(&imported, record, out)?;
    }
    Ok(Exit::Fine)
}

/// What came, and what did not.
fn say(imported: &Imported, record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let Imported { branch, commit, commits, from, left } = imported;
    let (s, run) = (if *commits == 1 { "" } else { "s" }, record.run.short());
    let (name, from) = (Inert::line(branch), short_name(from));
    let from = Inert::line(&from);
    writeln!(
        out,
        "run {run}: {commits} commit{s} of {from} on the new branch {name}, at {commit}"
    )?;
    writeln!(out, "look at it with `git log {name}`; `git branch -D {name}` takes it back")?;
    for Left { tip, commits } in left.iter().take(SHOWN) {
        let s = if *commits == 1 { "" } else { "s" };
        let from = short_name(&tip.name);
        writeln!(out, "left: {}, {commits} commit{s} more", Inert::line(&from))?;
    }
    if left.len() > SHOWN {
        writeln!(out, "left: and {} more such places", left.len() - SHOWN)?;
    }
    match left.first() {
        Some(next) => {
            let (me, next) = (program(), short_name(&next.tip.name));
            let next = Inert::line(&next);
            writeln!(out, "`{me} apply {run} --branch NAME`, with another name, takes {next} next")
        }
        None => Ok(()),
    }
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
        HistoryError::Absent(paths) => {
            let dir = paths.first().map(|path| quoted(path.as_os_str())).unwrap_or_default();
            let me = program();
            let hint = format!(
                "commit in the submodule itself (`{me} run --workspace {dir}`), bring that home with --branch, and commit \
                 here what came of it; or have the branch as it is with --allow-path {dir}"
            );
            return Failure::new(Exit::Undecided, error).hint(hint);
        }
        _ => return error.into(),
    };
    Failure::new(Exit::Failed, error).hint(remedy)
}
