//! Applies changes to the workspace: all that was asked for, or nothing.
//!
//! 1. `survey`: what is to be done about each entry; conflicts and the gate's objections end it here. `split`: no file
//!    goes from its old name where it is not put at its new one.
//! 2. `plan`: everything new is staged in slots, every step is written to a journal, both reach the disk.
//! 3. `perform`: the steps, each one call; a step that fails takes back all before it.
//! 4. `finish`: the ledger and the audit log learn of it; what undo needs is kept.
//!
//! Whoever dies on the way leaves a turn behind, by which [`recover`](super::recover) finds the journal.
//! Deliberately absent: what may be applied. A [`Judge`] says so.

pub(super) mod attributes;
mod combine;
mod error;
pub(super) mod faults;
pub(super) mod finish;
pub(super) mod ground;
pub(super) mod journal;
pub(super) mod keep;
mod outcome;
pub(super) mod perform;
mod plan;
mod request;
mod site;
pub(super) mod slots;
mod split;
pub(super) mod stage;
pub(super) mod step;
mod survey;

use std::collections::{BTreeMap, HashMap};

use super::ledger::{Ledger, Operation, OperationKind};
use super::turn::Turn;
use super::{ChangeSet, recover};
use crate::clock;
pub use error::ApplyError;
pub use faults::{Faults, NoFaults, Point};
pub(super) use outcome::NAMED;
pub use outcome::{Applied, Held, Outcome, Refused, Why};
use outcome::{objections, report};
use perform::{Carrier, Failed};
use plan::Planner;
pub use request::{ApplyRequest, Extent, Intent, Judge, Merging, Opinion, Progress};
pub use site::Site;
pub(super) use site::{applies, scribe};
pub use step::StepError;
use survey::{Survey, Surveyor};

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
    let mut survey = surveyor.survey(&mut set, judge)?;
    if extent == Extent::Rest || survey.refused_in_all == 0 {
        split::hold_back(&mut set, selection, &mut survey)?;
    }
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
