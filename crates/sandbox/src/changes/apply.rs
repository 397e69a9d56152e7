//! Applies changes to the workspace: all that was asked for, or nothing.
//!
//! 1. `survey`: what is to be done about each entry; conflicts and the gate's objections end it here.
//! 2. `plan`: everything new is staged in slots, every step is written to a journal, both reach the disk.
//! 3. `perform`: the steps, each one call; a step that fails takes back all before it.
//! 4. `finish`: the ledger and the audit log learn of it; what undo needs is kept.
//!
//! Whoever dies on the way leaves a turn behind, by which [`recover`](super::recover) finds the journal.
//! Deliberately absent: what may be applied. A [`Judge`] says so.

pub(super) mod attributes;
mod combine;
pub(super) mod faults;
pub(super) mod journal;
pub(super) mod keep;
pub(super) mod perform;
mod plan;
pub(super) mod slots;
pub(super) mod stage;
pub(super) mod step;
mod survey;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::manifest::{ManifestError, Moment, Summary};
use cofferdam_core::changes::{ChangePath, ContentHash, Entry};
use cofferdam_core::event::EventKind;
use cofferdam_core::id::RunId;
use cofferdam_core::mount::Identity;

use super::beneath::{Workspace, WorkspaceError};
use super::ledger::{Ledger, LedgerError, Operation, OperationKind};
use super::recover;
use super::selection::Selection;
use super::turn::{Begun, Turn, TurnError};
use super::{ChangeSet, SetError};
use crate::clock;
use crate::runs::{Scribe, Store};
use crate::state::{StateDir, StateError};
pub use faults::{Faults, NoFaults, Point};
use journal::{Head, JournalWriter};
use perform::{Carrier, Failed};
use plan::Planner;
use stage::Stage;
pub use step::StepError;
use survey::{Survey, Surveyor};

/// Which set is worked on, where, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    pub state: &'a StateDir,
    pub run: RunId,
    /// Hash of the manifest, as the run's record has it.
    pub sealed: &'a str,
    pub workspace: &'a Workspace,
    /// Which directory the run was given; in any other, times of files say nothing about it.
    pub origin: Option<Identity>,
    pub actor: &'a str,
}

/// What is to be applied, and how.
pub struct ApplyRequest<'a> {
    pub site: Site<'a>,
    pub selection: &'a Selection,
    pub extent: Extent,
    pub merging: Merging,
    pub intent: Intent,
    pub judge: &'a mut dyn Judge,
    pub faults: &'a mut dyn Faults,
    /// Told now and then how far it is.
    pub progress: &'a mut dyn FnMut(Progress),
}

impl std::fmt::Debug for ApplyRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApplyRequest").field("site", &self.site).finish_non_exhaustive()
    }
}

/// What becomes of the rest where something cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Nothing is applied.
    Whole,
    /// What can be is applied; the rest stays pending.
    Rest,
}

/// What is done about a text that was changed on the host meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merging {
    Never,
    /// It is merged where both sides did not touch the same lines.
    Clean,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    Perform,
    /// Say what would be done, and write nothing.
    Check,
}

/// Says what may be applied.
pub trait Judge {
    fn entry(&mut self, entry: &Entry) -> Opinion;

    /// Objections to all that was said to be fine together, asked once at the end.
    fn whole(&mut self) -> Vec<String>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opinion {
    Fine,
    /// Not now, and nobody needs to be told.
    Later,
    /// Not without another yes; why, in words.
    Blocked(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Staged(u64),
    Made(u64),
}

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    Applied(Applied),
    /// With [`Intent::Check`]: what would be applied.
    Would(Applied),
    /// Nothing was written.
    Refused(Applied),
    /// Nothing of what was selected is pending.
    Nothing {
        applied_before: u64,
        discarded_before: u64,
    },
}

#[derive(Debug, Default)]
pub struct Applied {
    /// Number of the operation, where something was done.
    pub operation: Option<u64>,
    pub summary: Summary,
    /// The host had them already.
    pub already: u64,
    /// Selected, and not applied.
    pub left: u64,
    /// Texts that were merged with what the host made of them.
    pub merged: u64,
    /// Files of which some hunks are still pending.
    pub partly: u64,
    /// What could not be applied; the first of them, where they are many.
    pub refused: Vec<Refused>,
    pub refused_in_all: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// `None` where it is about all together.
    pub path: Option<ChangePath>,
    pub why: Why,
    pub words: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Gate,
    Budget,
    Conflict,
}

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error(transparent)]
    Set(#[from] SetError),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Turn(#[from] TurnError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error("nothing was changed at {path} by that run")]
    NoSuchChange { path: ChangePath },
    #[error("nothing of the latest apply of that run is at {path}")]
    NotApplied { path: ChangePath },
    #[error("{path} cannot be applied by hunk: {why}")]
    NoHunks { path: ChangePath, why: &'static str },
    #[error("{path} has no hunk {number}; it has {hunks}")]
    NoSuchHunk { path: ChangePath, number: usize, hunks: usize },
    #[error("the change set has more entries than can be counted")]
    TooMany,
    #[error("cannot prepare {path}, and nothing was changed")]
    Stage { path: ChangePath, source: io::Error },
    #[error("{path} was changed on the host this very moment, and nothing was applied: {words}")]
    Moved { path: ChangePath, words: String },
    #[error("cannot {action} {}, and nothing was changed", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("nothing was changed{}", stuck(.left))]
    TakenBack { source: StepError, left: Vec<String> },
    #[error(
        "the changes are in place, but what became of them could not be written down; the next command does it"
    )]
    Unfinished { source: Box<ApplyError> },
}

fn stuck(left: &[String]) -> String {
    match left {
        [] => String::new(),
        left => format!(", except that not all could be taken back: {}", left.join("; ")),
    }
}

impl ApplyError {
    pub(super) fn io<'a>(
        action: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// Whether the host was changed while we looked: somebody must decide.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Moved { .. } | Self::TakenBack { source: StepError::Moved { .. }, .. })
    }
}

/// Applies what was asked for.
pub fn apply(request: ApplyRequest<'_>) -> Result<Outcome, ApplyError> {
    let ApplyRequest { site, selection, extent, merging, intent, judge, faults, progress } =
        request;
    let mut turn = Turn::take(site.state, site.workspace.path())?;
    recover::take_over(&mut turn, site.state, site.actor)?;
    let mut set = ChangeSet::open(&site.dir(), site.sealed)?;
    let ledger = Ledger::load(&set)?;
    let base = site.base(&set);
    let surveyor =
        Surveyor { workspace: site.workspace, base, ledger: &ledger, selection, merging };
    let survey = surveyor.survey(&mut set, judge)?;
    let report = report(&survey);
    if survey.chosen().next().is_none() && report.refused_in_all == 0 && report.left == 0 {
        turn.end()?;
        let Survey { applied_before, discarded_before, .. } = survey;
        return Ok(Outcome::Nothing { applied_before, discarded_before });
    }
    let over_budget = report.refused.iter().any(|refused| refused.why == Why::Budget);
    if over_budget || (report.refused_in_all > 0 && extent == Extent::Whole) {
        if intent == Intent::Perform {
            site.scribe().events(objections(set.hash(), &report))?;
        }
        turn.end()?;
        return Ok(Outcome::Refused(report));
    }
    if intent == Intent::Check || survey.chosen().next().is_none() {
        turn.end()?;
        return Ok(match intent {
            Intent::Check => Outcome::Would(report),
            Intent::Perform => Outcome::Applied(report),
        });
    }

    let number = site.begin(&mut turn, &ledger)?;
    let carrier = Carrier { site, turn, ledger };
    let operation = Operation {
        number,
        kind: OperationKind::Apply,
        at: clock::now(),
        entries: survey.chosen().collect(),
        partly: BTreeMap::new(),
    };
    let planned = (|| {
        let (journal, stage) = site.open_operation(number, &set)?;
        let mut planner = Planner {
            workspace: site.workspace,
            base,
            ledger: &carrier.ledger,
            selection,
            merging,
            survey: &survey,
            objects: set.objects(),
            stage,
            journal,
            faults: &mut *faults,
            partly: BTreeMap::new(),
            merged: 0,
            links: HashMap::new(),
            heritage: None,
        };
        for (index, entry) in (0u64..).zip(set.entries()?) {
            let entry = entry?;
            if survey.takes(index) && !survey.has_already(index) {
                planner.entry(index, &entry)?;
                progress(Progress::Staged(index));
            }
        }
        let Planner { stage, journal, partly, merged, .. } = planner;
        let report =
            Applied { operation: Some(number), merged, partly: partly.len() as u64, ..report };
        Ok((journal, stage, Operation { partly, ..operation }, report))
    })();
    let (journal, stage, operation, report) = match planned {
        Ok(planned) => planned,
        Err(error) => return Err(carrier.abandon(number, error)),
    };
    match carrier.carry_out(journal, stage, operation, faults, progress) {
        Ok(()) => Ok(Outcome::Applied(report)),
        Err(Failed(error)) => Err(error),
    }
}

fn report(survey: &Survey) -> Applied {
    Applied {
        summary: survey.summary(),
        already: survey.already,
        left: survey.left,
        refused: survey.refused.clone(),
        refused_in_all: survey.refused_in_all,
        ..Applied::default()
    }
}

/// Paths and reasons that are named in one event.
pub(super) const NAMED: usize = 20;

fn objections(manifest: ContentHash, report: &Applied) -> Vec<EventKind> {
    let manifest = manifest.to_string();
    let of = |conflict: bool| {
        let these = report.refused.iter().filter(move |r| (r.why == Why::Conflict) == conflict);
        let these: Vec<_> = these.take(NAMED).collect();
        let paths = these.iter().filter_map(|r| r.path.as_ref()).map(ToString::to_string).collect();
        let reasons = these.iter().map(|refused| refused.words.join("; ")).collect();
        (these.len(), paths, reasons)
    };
    let mut events = Vec::new();
    let (conflicts, paths, reasons): (_, Vec<String>, Vec<String>) = of(true);
    if conflicts > 0 {
        events.push(EventKind::Conflict { manifest: manifest.clone(), paths, reasons });
    }
    let (blocked, paths, reasons): (_, Vec<String>, Vec<String>) = of(false);
    if blocked > 0 {
        let entries = report.refused_in_all;
        events.push(EventKind::ApplyRefused { manifest, entries, paths, reasons });
    }
    events
}

impl Site<'_> {
    pub(super) fn dir(&self) -> PathBuf {
        Store::new(self.state).dir(self.run)
    }

    pub(super) fn scribe(&self) -> Scribe {
        scribe(self.state, self.run, self.workspace.path(), self.actor)
    }

    /// From when on a host file is not believed to be what it was.
    pub(super) fn base(&self, set: &ChangeSet) -> Moment {
        const NEVER: Moment = Moment { seconds: i64::MIN, nanos: 0 };
        if self.origin == Some(self.workspace.identity()) { set.header().base } else { NEVER }
    }

    /// Writes down that an operation begins, and makes its directory.
    pub(super) fn begin(&self, turn: &mut Turn, ledger: &Ledger) -> Result<u64, ApplyError> {
        let applies = applies(&self.dir());
        crate::state::make_private_dir(&applies)?;
        let mut number = ledger.next_number();
        while applies.join(number.to_string()).exists() {
            number += 1;
        }
        turn.begin(Begun { run: self.run, number })?;
        crate::state::make_private_dir(&applies.join(number.to_string()))?;
        Ok(number)
    }

    pub(super) fn open_operation(
        &self,
        number: u64,
        set: &ChangeSet,
    ) -> Result<(JournalWriter, Stage), ApplyError> {
        let dir = applies(&self.dir()).join(number.to_string());
        let name = format!(".cofferdam-apply-{}-{number}", self.run.short());
        let place = slots::choose(self.workspace, &dir, &name);
        let (path, lodging) = place.map_err(ApplyError::io("look at", &dir))?;
        let head = Head {
            version: journal::VERSION,
            run: self.run,
            manifest: set.hash(),
            workspace: self.workspace.path().into(),
            identity: self.workspace.identity(),
            slots: path.clone().into(),
            lodging,
        };
        let journal =
            JournalWriter::create(&dir, head).map_err(ApplyError::io("write to", &dir))?;
        let slots = slots::make(&path).map_err(ApplyError::io("create", &path))?;
        Ok((journal, Stage::new(slots, 0)))
    }
}

/// Where the operations of a set keep their journals and slots.
pub(super) fn applies(dir: &Path) -> PathBuf {
    dir.join("applies")
}

pub(super) fn scribe(state: &StateDir, run: RunId, workspace: &Path, actor: &str) -> Scribe {
    Scribe::new(state, run, workspace.into(), actor.to_owned(), Default::default())
}
