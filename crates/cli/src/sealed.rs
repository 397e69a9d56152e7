//! The sealed change set that a command is about, and the paths in it that were named.
//!
//! [`Words`] are the arguments `[RUN] [PATH]...`, the same for all commands about changes. A first word
//! that is no run is a path in the newest run of this workspace.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;
use cofferdam_core::changes::ChangePath;
use cofferdam_core::id::RunId;
use cofferdam_core::inert::Inert;
use cofferdam_core::outcome::OutcomeClass;
use cofferdam_core::paths::clean_absolute;
use cofferdam_core::record::Record;
use cofferdam_core::spec::Mode;
use cofferdam_sandbox::changes::{ChangeSet, Selection};
use cofferdam_sandbox::runs::{FindError, Store};
use cofferdam_sandbox::session::{Live, live, look};
use cofferdam_sandbox::state::StateDir;

use crate::commands::session;
use crate::context::{Context, program};
use crate::exit::Exit;
use crate::failure::Failure;

/// Which run, and which paths of it.
#[derive(Debug, Args)]
pub(crate) struct Words {
    /// The run: its id, the end of it, or `last`, which is also what no run means.
    run: Option<OsString>,
    /// Only these files and directories, seen from here. `./NAME` is never taken for a run.
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// What a session that goes on has changed so far, instead of a run: its id, the end of it, or `last`.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
}

impl Words {
    /// All of one run.
    pub(crate) fn of_run(run: RunId) -> Self {
        Self { run: Some(run.to_string().into()), paths: Vec::new(), session: None }
    }
}

/// A change set that was opened for a command.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) record: Record,
    pub(crate) set: ChangeSet,
    pub(crate) paths: Paths,
}

impl Sealed {
    pub(crate) fn open(words: &Words, context: &Context) -> Result<Self, Failure> {
        let state = StateDir::open(&context.state_dir)?;
        let store = Store::new(&state);
        if let Some(session) = &words.session {
            let session = session::find(session, context)?.record;
            let record = look(&state, &context.actor, &session, None)?;
            let named = words.run.iter().chain(&words.paths).collect();
            return Self::of(&store, record, named, context);
        }
        let mut named: Vec<&OsString> = words.run.iter().chain(&words.paths).collect();
        let run = match words.run.as_ref().and_then(|word| word.to_str()) {
            None => "last",
            Some(word) => match store.find_changed(word, &context.cwd) {
                // An error of its own comes later, where it is not a path either.
                Err(FindError::Unknown(_)) => "last",
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    named.remove(0);
                    word
                }
            },
        };
        let id = store.find_changed(run, &context.cwd)?;
        let record = store.record(id)?;
        Self::of(&store, record, named, context)
    }

    fn of(
        store: &Store,
        record: Record,
        named: Vec<&OsString>,
        context: &Context,
    ) -> Result<Self, Failure> {
        let id = record.run;
        let Some(changes) = &record.changes else { return Err(without_changes(store, &record)) };
        let set = ChangeSet::open(&store.dir(id), &changes.manifest).map_err(|error| {
            Failure::from(error).hint("`cofferdam audit verify` tells what else was changed")
        })?;
        let named: Result<Vec<_>, _> = named
            .into_iter()
            .map(|name| Named::new(name, &record.workspace, &context.cwd))
            .collect();
        Ok(Self { paths: Paths { named: named? }, record, set })
    }

    /// The same paths of this very run. What is newest may be another by the next time somebody asks, and a
    /// look at a session is taken once.
    pub(crate) fn words(&self) -> Words {
        let paths = self.paths.as_typed().map(OsStr::to_owned).collect();
        Words { paths, ..Words::of_run(self.record.run) }
    }

    /// For commands that would not notice a path that fits nothing, or a run that there is not.
    pub(crate) fn check_paths(&mut self) -> Result<(), Failure> {
        if self.paths.are_all() {
            return Ok(());
        }
        for entry in self.set.entries()? {
            self.paths.take(&entry?.path);
        }
        self.paths.check_all_matched(&self.record)
    }
}

/// Why a run has no change set, and what to do.
fn without_changes(store: &Store, record: &Record) -> Failure {
    let run = record.run.short();
    if goes_on(store, record) {
        let me = program();
        return Failure::new(Exit::Failed, anyhow::anyhow!("session {run} is still going on"))
            .hint(format!("to see or apply what it has changed so far, say --session: {me} diff --session {run}"))
            .hint(format!("to end it: {me} session stop {run}"));
    }
    let class = record.outcome.as_ref().map(|outcome| outcome.class);
    let mode = record.plan.as_ref().map(|plan| plan.workspace.mode);
    let show = format!("`cofferdam show {run}` says why");
    let and_gc = format!("{show}; `cofferdam gc` seals what it may have left");
    let (why, remedy) = match (class, mode) {
        (None, _) => {
            ("is still going on, or its owner died", "wait for its end, or run `cofferdam gc`")
        }
        (Some(OutcomeClass::Refused), _) => ("was refused: nothing ran", show.as_str()),
        (Some(OutcomeClass::SandboxFailure), _) => {
            ("failed in the sandbox itself", and_gc.as_str())
        }
        (_, Some(Mode::Direct)) => (
            "worked on the workspace itself (mode direct): its changes are there already",
            "compare with your version control, or run with --mode stage",
        ),
        (_, Some(Mode::Readonly)) => {
            ("could write nothing (mode readonly)", "run with --mode stage to stage changes")
        }
        _ => ("has no sealed changes", "run `cofferdam gc`, which seals what a dead run has left"),
    };
    Failure::new(Exit::Failed, anyhow::anyhow!("run {run} {why}")).hint(remedy)
}

/// Whether it is a session that answers.
fn goes_on(store: &Store, record: &Record) -> bool {
    let is_it = |live: &Live| live.record.run == record.run && live.jobs.is_some();
    live(store).is_ok_and(|all| all.iter().any(is_it))
}

/// The paths that were named on the command line. None named means all.
#[derive(Debug)]
pub(crate) struct Paths {
    named: Vec<Named>,
}

#[derive(Debug)]
struct Named {
    as_typed: OsString,
    /// `None` is the whole workspace.
    path: Option<ChangePath>,
    matched: bool,
}

impl Named {
    fn new(word: &OsString, workspace: &Path, cwd: &Path) -> Result<Self, Failure> {
        let path = typed_path(word, workspace, cwd)?;
        Ok(Self { as_typed: word.clone(), path, matched: false })
    }
}

/// What a word on the command line names in the workspace; `None` is the whole of it.
pub(crate) fn typed_path(
    word: &OsStr,
    workspace: &Path,
    cwd: &Path,
) -> Result<Option<ChangePath>, Failure> {
    // From elsewhere, paths start where the workspace does.
    let from = if cwd.starts_with(workspace) { cwd } else { workspace };
    let outside = || {
        let (word, workspace) = (Inert::os(word), Inert::path(workspace));
        Failure::usage(format!("{word} is not in the workspace {workspace}"))
    };
    let clean = clean_absolute(&from.join(word)).ok_or_else(outside)?;
    let below = clean.strip_prefix(workspace).map_err(|_| outside())?;
    if below.as_os_str().is_empty() {
        return Ok(None);
    }
    ChangePath::new(below).map(Some).map_err(|error| Failure::usage(error.to_string()))
}

/// A path below the workspace that was typed.
pub(crate) fn path_below(
    word: &OsString,
    workspace: &Path,
    cwd: &Path,
) -> Result<ChangePath, Failure> {
    let path = typed_path(word, workspace, cwd)?;
    path.ok_or_else(|| Failure::usage(format!("{} is the whole workspace", Inert::os(word))))
}

impl Paths {
    /// The same as a selection.
    pub(crate) fn selection(&self) -> Selection {
        let paths: Option<Vec<_>> = self.named.iter().map(|named| named.path.clone()).collect();
        Selection::within(paths.unwrap_or_default())
    }

    /// The words that named them.
    pub(crate) fn as_typed(&self) -> impl Iterator<Item = &OsStr> {
        self.named.iter().map(|named| named.as_typed.as_os_str())
    }

    pub(crate) fn are_all(&self) -> bool {
        self.named.is_empty()
    }

    /// Whether an entry was asked for: it is at or below a named path.
    pub(crate) fn take(&mut self, path: &ChangePath) -> bool {
        let mut taken = self.named.is_empty();
        for named in &mut self.named {
            if named.path.as_ref().is_none_or(|above| path.is_within(above)) {
                named.matched = true;
                taken = true;
            }
        }
        taken
    }

    /// To be asked at the end: a name that fits nothing was a mistake.
    pub(crate) fn check_all_matched(&self, record: &Record) -> Result<(), Failure> {
        let Some(named) = self.named.iter().find(|n| !n.matched && n.path.is_some()) else {
            return Ok(());
        };
        let message =
            format!("run {} changed nothing at {}", record.run.short(), Inert::os(&named.as_typed));
        Err(Failure::new(Exit::Failed, anyhow::Error::msg(message)).hint(
            "`cofferdam diff --name-only` lists what it changed; `cofferdam runs` lists runs",
        ))
    }
}
