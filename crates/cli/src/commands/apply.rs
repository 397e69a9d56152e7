//! `cofferdam apply`: what a run changed, brought to the host.

mod branch;
mod hunks;
mod judge;
mod report;

use std::ffi::OsString;
use std::io;
use std::io::Write;

use clap::Args;
use cofferdam_core::changes::{Allowances, Gate};
use cofferdam_core::config::Entries;
use cofferdam_core::inert::Inert;
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::apply::{
    ApplyError, ApplyRequest, Extent, Intent, Merging, Outcome, Site, apply,
};
use cofferdam_sandbox::changes::{
    ChangeSet, IgnoreError, Inspector, LedgerError, Selection, Workspace, ignored,
};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::state::StateDir;

use crate::allowed::Allowed;
use crate::context::{Context, program, quoted};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::faults::faults;
use crate::progress::Counter;
use crate::sealed::{Paths, Sealed, Words};
use crate::settings;
use crate::ways;
use judge::{GateJudge, Wanted};
pub(super) use report::{Numbers, in_a_sentence, line, refused_json};

/// Apply what a run changed: all of it, some paths, or some hunks.
///
/// All-or-nothing: where something is blocked, or was changed on the host since the run began, nothing is
/// written, each path is named with the reason, and the exit code is 3. `cofferdam undo` takes it back.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam apply                          # the newest run of this workspace
  cofferdam apply --check                  # say what would be done, write nothing
  cofferdam apply 4k2m9x7q src/ Makefile --allow-class build-scripts
  cofferdam apply --rest                   # leave what is blocked, apply what is not
  cofferdam apply --no-ignored             # leave build output and whatever else git ignores
  cofferdam apply --hunk src/lib.rs:1,3    # two hunks, as `cofferdam diff` numbers them
  cofferdam apply --branch agent           # commits made inside, as a branch
  cofferdam apply --merge                  # merge with what you edited meanwhile")]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    words: Words,
    #[command(flatten)]
    allowed: Allowed,
    /// Write nothing; the exit code says whether all could be applied.
    #[arg(long)]
    check: bool,
    /// Merge a text that was changed on the host meanwhile, where the changes do not touch.
    #[arg(long)]
    merge: bool,
    /// Apply what can be applied, and leave the rest pending.
    #[arg(long)]
    rest: bool,
    /// Leave what git ignores, by the `.gitignore` files that the host had before the run; it stays pending.
    /// What git tracks is not ignored.
    #[arg(long, conflicts_with = "branch")]
    no_ignored: bool,
    /// Only what `changes.auto` says needs no look, as `run --apply` does; the rest stays pending.
    #[arg(long, conflicts_with_all = ["merge", "rest", "hunks", "allow_classes", "allow_paths", "allow_budget"])]
    auto: bool,
    /// Of this file only these hunks, by number (repeatable). Where some of it is applied already, `diff`
    /// shows a mark with each number, which is to be given too: the numbers are of what is left.
    #[arg(long = "hunk", value_name = "PATH:N,...[@MARK]")]
    hunks: Vec<OsString>,
    /// Instead of files: make a new branch of the commits that were made inside. No setting and no hook
    /// comes along.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["check", "merge", "rest", "hunks", "auto"])]
    branch: Option<String>,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(
    args: &ApplyArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let Sealed { record, mut set, paths } = Sealed::open(&args.words, context)?;
    must_be_there(&record)?;
    if let Some(branch) = &args.branch {
        return branch::import(args, branch, &record, &paths, context, out);
    }
    let mut selection = match args.hunks.is_empty() || !paths.are_all() {
        true => paths.selection(),
        // Hunks alone are all that is meant.
        false => Selection::exactly([]),
    };
    for (path, hunks) in hunks::named(&args.hunks, &record, context)? {
        selection = selection.with_hunks(path, hunks);
    }
    let allowances = args.allowed.allowances(&record.workspace, &context.cwd)?;
    let wanted = match args.auto {
        true => Wanted::Automatic,
        false => Wanted::Reviewed { budget_allowed: args.allowed.allow_budget },
    };
    let mut judge = judge(&record, &set, &allowances, wanted, context)?;
    if args.no_ignored {
        let found = ignored(&mut set, &Workspace::open(&record.workspace)?);
        judge = judge.without(found.map_err(unclear)?);
    }
    let asked = Asked {
        selection: &selection,
        extent: if args.rest || args.auto { Extent::Rest } else { Extent::Whole },
        merging: if args.merge { Merging::Clean } else { Merging::Never },
        intent: if args.check { Intent::Check } else { Intent::Perform },
    };
    let mut counter = Counter::new("applying", args.quiet || args.json);
    let outcome = perform(&record, context, &asked, &mut judge, &mut counter)?;
    drop(counter);
    let is_refused = matches!(outcome, Outcome::Refused(_));
    judge.commits = judge.commits && is_refused && ways::are_there_commits(&record, context);
    if let Some(error) = judge.error.take() {
        return Err(
            Failure::from(error).hint("`cofferdam audit verify` tells what else was changed")
        );
    }
    if args.json {
        let ignored = args.no_ignored.then_some(judge.left_out.in_all);
        report::json(out, &record, &outcome, ignored)?;
    }
    let again = args.again(&record, &paths);
    report::finish(out, args, &again, &record, &outcome, &judge)
}

impl ApplyArgs {
    /// This command again, to be given one more flag.
    fn again(&self, record: &Record, paths: &Paths) -> String {
        let mut words = ways::command(record, paths);
        for hunks in &self.hunks {
            words.push_str(&format!(" --hunk {}", quoted(hunks)));
        }
        words.push_str(&self.allowed.as_flags());
        let flags =
            [(self.merge, " --merge"), (self.rest, " --rest"), (self.no_ignored, " --no-ignored")];
        for (given, flag) in flags {
            words.push_str(if given { flag } else { "" });
        }
        words
    }
}

/// Without the rules nobody knows what they leave out.
fn unclear(error: IgnoreError) -> Failure {
    Failure::from(error).hint("name the paths to apply, and leave out --no-ignored")
}

struct Asked<'a> {
    selection: &'a Selection,
    extent: Extent,
    merging: Merging,
    intent: Intent,
}

/// After a run with `--apply`: what needs no look is applied, the rest is left. The words are for the user.
pub(crate) fn apply_auto(record: &Record, context: &Context) -> Result<Option<String>, Failure> {
    let Some(changes) = &record.changes else { return Ok(None) };
    must_be_there(record)?;
    if changes.created + changes.modified + changes.deleted + changes.retyped == 0 {
        return Ok(None);
    }
    let store = Store::new(&StateDir::open(&context.state_dir)?);
    let set = ChangeSet::open(&store.dir(record.run), &changes.manifest)?;
    let mut judge = judge(record, &set, &Allowances::default(), Wanted::Automatic, context)?;
    let asked = Asked {
        selection: &Selection::all(),
        extent: Extent::Rest,
        merging: Merging::Never,
        intent: Intent::Perform,
    };
    let mut counter = Counter::new("applying", true);
    let outcome = perform(record, context, &asked, &mut judge, &mut counter)?;
    match judge.error {
        Some(error) => Err(error.into()),
        None => Ok(Some(report::in_a_sentence(record, &outcome))),
    }
}

/// What was chosen in a review: all of it, or nothing.
pub(super) fn apply_chosen(
    record: &Record,
    selection: &Selection,
    allowances: &Allowances,
    budget_allowed: bool,
    context: &Context,
) -> Result<Outcome, Failure> {
    let store = Store::new(&StateDir::open(&context.state_dir)?);
    let sealed = record.changes.as_ref().map_or("", |changes| changes.manifest.as_str());
    let set = ChangeSet::open(&store.dir(record.run), sealed)?;
    let wanted = Wanted::Reviewed { budget_allowed };
    let mut judge = judge(record, &set, allowances, wanted, context)?;
    let asked = Asked {
        selection,
        extent: Extent::Whole,
        merging: Merging::Never,
        intent: Intent::Perform,
    };
    let outcome = perform(record, context, &asked, &mut judge, &mut Counter::new("", true))?;
    match judge.error {
        Some(error) => Err(error.into()),
        None => Ok(outcome),
    }
}

/// Changes are applied to the directory that they were made from, and to no other.
pub(super) fn must_be_there(record: &Record) -> Result<(), Failure> {
    let Record { run, workspace, .. } = record;
    if workspace.is_dir() {
        return Ok(());
    }
    let (me, run) = (program(), run.short());
    let place = Inert::path(workspace);
    let error = anyhow::anyhow!("{place} is not there: it is where run {run} worked");
    Err(Failure::from(error).hint(format!("put the directory back at {place}")).hint(format!(
        "or take the changes to where it is now: {me} diff --patch {run} | git apply"
    )))
}

fn judge(
    record: &Record,
    set: &ChangeSet,
    allowances: &Allowances,
    wanted: Wanted,
    context: &Context,
) -> Result<GateJudge, Failure> {
    let resolved = settings::load(context, &record.workspace, Entries::default())
        .map_err(|error| error.failure(Exit::Failed))?;
    let rules = resolved.settings().changes;
    let gate = Gate::new(&rules, allowances)?;
    let inspector = Inspector::new(gate, set.objects()).on(&record.workspace);
    Ok(GateJudge::new(inspector, &rules.budget, wanted, record.workspace.to_path_buf()))
}

fn perform(
    record: &Record,
    context: &Context,
    asked: &Asked<'_>,
    judge: &mut GateJudge,
    counter: &mut Counter,
) -> Result<Outcome, Failure> {
    let state = StateDir::open(&context.state_dir)?;
    let workspace = Workspace::open(&record.workspace)?;
    let request = ApplyRequest {
        site: site(&state, record, &workspace, context),
        selection: asked.selection,
        extent: asked.extent,
        merging: asked.merging,
        intent: asked.intent,
        judge,
        faults: &mut faults(context),
        progress: &mut |progress| counter.count(progress),
    };
    apply(request).map_err(|error| failure(error, record))
}

/// Where a run's changes are worked on.
pub(super) fn site<'a>(
    state: &'a StateDir,
    record: &'a Record,
    workspace: &'a Workspace,
    context: &'a Context,
) -> Site<'a> {
    let sealed = record.changes.as_ref().map_or("", |changes| changes.manifest.as_str());
    let origin = record.plan.as_ref().map(|plan| plan.workspace.source.identity);
    Site { state, run: record.run, sealed, workspace, origin, actor: &context.actor }
}

/// The remedies for what can go wrong on the way.
pub(super) fn failure(error: ApplyError, record: &Record) -> Failure {
    let me = program();
    let run = record.run.short();
    if error.is_about_other_hunks() {
        return Failure::new(Exit::Undecided, error).hint(format!(
            "look again: `{me} diff {run}` shows the hunks that are left, each with the number and mark that \
             --hunk takes: PATH:N@MARK"
        ));
    }
    if error.is_conflict() {
        return Failure::new(Exit::Undecided, error)
            .hint(format!("try again, or look at it with `{me} diff {run}`"));
    }
    let hint = match &error {
        ApplyError::Ledger(LedgerError::State(state)) if state.is_for_want_of_space() => {
            return error.into();
        }
        ApplyError::NoSuchChange { .. } => {
            "`cofferdam diff --name-only` lists what it changed".to_owned()
        }
        ApplyError::Turn(_) => "wait for it to end, and try again".to_owned(),
        ApplyError::Set(_) | ApplyError::Manifest(_) | ApplyError::Ledger(_) => {
            "`cofferdam audit verify` tells what was changed".to_owned()
        }
        ApplyError::NoSuchHunk { .. } | ApplyError::NoHunks { .. } => {
            format!("`{me} diff {run}` shows the hunks with their numbers")
        }
        ApplyError::TakenBack { .. } | ApplyError::Stage { .. } | ApplyError::Io { .. }
            if is_forbidden(&error) =>
        {
            "where `lsattr` shows that it, or its directory, is immutable or append-only, take that off \
             with `chattr -i -a`, and try again"
                .to_owned()
        }
        ApplyError::TakenBack { .. } | ApplyError::Stage { .. } | ApplyError::Io { .. } => {
            "make room, or give yourself the right to write there, and try again".to_owned()
        }
        ApplyError::Unfinished { .. } => "run `cofferdam gc`".to_owned(),
        _ => return error.into(),
    };
    Failure::from(error).hint(hint)
}

/// Whether the kernel forbids it to everybody, whatever the modes say: EPERM, not EACCES.
fn is_forbidden(error: &ApplyError) -> bool {
    const EPERM: i32 = 1;
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let code = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        if code == Some(EPERM) {
            return true;
        }
        cause = error.source();
    }
    false
}
