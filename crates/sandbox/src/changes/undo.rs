//! Takes an apply back: the steps of its journal, turned around, by the same machinery.
//!
//! The files that come back are the very ones that were there, out of the apply's slots. Where the host
//! has something else by now than what was put there, nothing is done. Applies are undone the latest
//! first; afterwards their entries are pending again.

mod choice;
mod inverse;

use std::collections::BTreeMap;

use cofferdam_core::changes::ContentHash;
use cofferdam_core::event::EventKind;

use super::apply::faults::{Faults, Point};
use super::apply::journal::{Head, Journal, JournalWriter, Lodging, VERSION};
use super::apply::perform::{Carrier, Failed};
use super::apply::slots::{self, SLOTS};
use super::apply::stage::Stage;
use super::apply::{ApplyError, Intent, Progress, Refused, Site, applies};
use super::ledger::{EntryState, Ledger, Operation, OperationKind};
use super::ranges::Ranges;
use super::selection::Selection;
use super::turn::Turn;
use super::{ChangeSet, recover};
use crate::clock;
use inverse::Inverter;

/// What is to be undone.
pub struct UndoRequest<'a> {
    pub site: Site<'a>,
    pub selection: &'a Selection,
    pub intent: Intent,
    pub faults: &'a mut dyn Faults,
    pub progress: &'a mut dyn FnMut(Progress),
}

impl std::fmt::Debug for UndoRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UndoRequest").field("site", &self.site).finish_non_exhaustive()
    }
}

/// What came of it.
#[derive(Debug)]
pub enum Undo {
    Undone {
        of: u64,
        entries: u64,
        /// Of those, how many had the rest of them discarded: they are not offered again.
        discarded: u64,
    },
    /// With [`Intent::Check`]: what would be undone.
    Would { of: u64, entries: u64 },
    /// Something was edited since; nothing was written.
    Refused(Vec<Refused>),
    /// Nothing of that run is applied.
    Nothing,
}

/// Undoes the latest apply of a run, or what of it is selected.
pub fn undo(request: UndoRequest<'_>) -> Result<Undo, ApplyError> {
    let UndoRequest { site, selection, intent, faults, progress } = request;
    let mut turn = Turn::take(site.state, site.workspace.path())?;
    recover::take_over(&mut turn, site.state, site.actor)?;
    let mut set = ChangeSet::open(&site.dir(), site.sealed)?;
    let ledger = Ledger::load(&set)?;
    let Some((apply, standing)) = ledger.latest_apply() else {
        turn.end()?;
        return Ok(Undo::Nothing);
    };
    let of = apply.number;
    let chosen = choice::choose(&mut set, selection, &standing)?;
    let entries = chosen.len();
    let dir = applies(&site.dir()).join(of.to_string());
    let old = Journal::open(&dir).map_err(ApplyError::io("read", &dir))?;
    let old = old.ok_or_else(|| {
        ApplyError::io("read the journal in", &dir)(std::io::ErrorKind::NotFound.into())
    })?;
    let inverter = Inverter::new(site.workspace, &old, &chosen);
    let mut refused = inverter.check()?;
    if refused.is_empty() {
        refused = inverter.check_kept()?;
    }
    if !refused.is_empty() {
        if intent == Intent::Perform {
            site.scribe().event(conflict(set.hash(), &refused))?;
        }
        turn.end()?;
        return Ok(Undo::Refused(refused));
    }
    if intent == Intent::Check {
        turn.end()?;
        return Ok(Undo::Would { of, entries });
    }
    let is_discarded = |index: &u64| ledger.state(*index) == EntryState::Discarded;
    let discarded = chosen.iter().filter(is_discarded).count() as u64;
    let number = site.begin(&mut turn, &ledger)?;
    let carrier = Carrier { site, turn, ledger };
    let planned = plan(&site, number, &set, &old, &chosen, faults);
    let (journal, stage) = match planned {
        Ok(planned) => planned,
        Err(error) => return Err(carrier.abandon(number, error)),
    };
    let operation = Operation {
        number,
        kind: OperationKind::Undo(of),
        at: clock::now(),
        entries: chosen,
        partly: BTreeMap::new(),
    };
    match carrier.carry_out(journal, stage, operation, faults, progress) {
        Ok(()) => Ok(Undo::Undone { of, entries, discarded }),
        Err(Failed(error)) => Err(error),
    }
}

/// Stages what has to be made anew and writes the steps.
fn plan(
    site: &Site<'_>,
    number: u64,
    set: &ChangeSet,
    old: &Journal,
    chosen: &Ranges,
    faults: &mut dyn Faults,
) -> Result<(JournalWriter, Stage), ApplyError> {
    let kept = old.dir().join(SLOTS);
    let kept_dir = slots::reopen(&kept).map_err(ApplyError::io("open", &kept))?;
    let dir = applies(&site.dir()).join(number.to_string());
    let name = format!(".cofferdam-apply-{}-{number}", site.run.short());
    let beside =
        slots::same_mount(site.workspace, &dir).map_err(ApplyError::io("look at", &dir))?;
    // Where the files are on the workspace's own file system, they go back as they are.
    let (path, lodging) = match (beside, &kept_dir) {
        (true, Some(_)) => (kept.clone(), Lodging::State),
        (true, None) => (dir.join(SLOTS), Lodging::State),
        (false, _) => (site.workspace.path().join(name), Lodging::Workspace),
    };
    let head = Head {
        version: VERSION,
        run: site.run,
        manifest: set.hash(),
        workspace: site.workspace.path().into(),
        identity: site.workspace.identity(),
        slots: path.clone().into(),
        lodging,
    };
    let mut journal =
        JournalWriter::create(&dir, head).map_err(ApplyError::io("write to", &dir))?;
    let copied_from = kept_dir.filter(|_| !beside);
    let slots = match slots::reopen(&path).map_err(ApplyError::io("open", &path))? {
        Some(slots) => slots,
        None => slots::make(&path).map_err(ApplyError::io("create", &path))?,
    };
    // Above every number that the apply, or another undo of it, has used.
    let mut stage = Stage::new(slots, number << 32);
    let inverter = Inverter::new(site.workspace, old, chosen);
    let mut steps = inverter.steps().peekable();
    while let Some(step) = steps.next() {
        let step = step?;
        let next = steps.peek().and_then(|next| next.as_ref().ok());
        if step.opens_for(next) {
            continue;
        }
        let path = step.path.clone();
        let failed = |source| ApplyError::Stage { path, source };
        let turned = faults
            .before(Point::Stage)
            .and_then(|()| inverter.turn(&step, &mut stage, copied_from.as_ref()))
            .map_err(failed)?;
        for step in &turned {
            journal.push(step).map_err(ApplyError::io("write to", &dir))?;
        }
    }
    Ok((journal, stage))
}

fn conflict(manifest: ContentHash, refused: &[Refused]) -> EventKind {
    let named = || refused.iter().take(super::apply::NAMED);
    let paths = named().filter_map(|r| r.path.as_ref()).map(ToString::to_string).collect();
    let reasons = named().map(|refused| refused.words.join("; ")).collect();
    EventKind::Conflict { manifest: manifest.to_string(), paths, reasons }
}
