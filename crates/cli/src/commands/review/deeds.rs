//! What is done after a yes: the same as `apply`, `discard` and `undo` do.

use cofferdam_core::changes::{Allowances, ChangePath};
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::apply::{Intent, Outcome, Refused, Why};
use cofferdam_sandbox::changes::undo::{Undo, UndoRequest, undo};
use cofferdam_sandbox::changes::{Selection, Workspace};
use cofferdam_sandbox::state::StateDir;

use super::order::{Deed, Order};
use crate::commands::apply::{apply_chosen, failure, in_a_sentence, line, site};
use crate::commands::discard::discard;
use crate::context::Context;
use crate::failure::Failure;
use crate::faults::faults;

pub(super) struct Deeds<'a> {
    pub(super) record: &'a Record,
    pub(super) context: &'a Context,
}

/// What came of it.
pub(super) enum Done {
    Made(String),
    /// Nothing was written, and why.
    Refused(Vec<String>),
    /// The same, where only the budgets are in the way.
    OverBudget(Vec<String>),
}

impl Deeds<'_> {
    pub(super) fn carry_out(&self, deed: &Deed) -> Result<Done, Failure> {
        match deed {
            Deed::Apply(order) => self.apply(order),
            Deed::Discard(paths) => self.discard(paths),
            Deed::Undo => self.undo(),
        }
    }

    fn apply(&self, order: &Order) -> Result<Done, Failure> {
        let mut selection = Selection::exactly(order.whole.iter().cloned());
        for (path, hunks) in &order.hunks {
            selection = selection.with_hunks(path.clone(), hunks.clone());
        }
        let allowed = Allowances { classes: Vec::new(), paths: order.agreed.clone() };
        let Self { record, context } = self;
        let outcome = apply_chosen(record, &selection, &allowed, order.over_budget, context)?;
        Ok(match &outcome {
            Outcome::Refused(report) => {
                let words = refusal("Nothing was applied:", &report.refused);
                match report.refused.iter().all(|refused| refused.why == Why::Budget) {
                    true => Done::OverBudget(words),
                    false => Done::Refused(words),
                }
            }
            outcome => Done::Made(in_a_sentence(record, outcome)),
        })
    }

    fn discard(&self, paths: &[ChangePath]) -> Result<Done, Failure> {
        let chosen = Selection::exactly(paths.iter().cloned());
        let done = discard(self.record, &chosen, self.context)?;
        let run = self.record.run.short();
        Ok(Done::Made(format!("run {run}: discarded {} changes", done.entries)))
    }

    fn undo(&self) -> Result<Done, Failure> {
        let state = StateDir::open(&self.context.state_dir)?;
        let workspace = Workspace::open(&self.record.workspace)?;
        let undone = undo(UndoRequest {
            site: site(&state, self.record, &workspace, self.context),
            selection: &Selection::all(),
            intent: Intent::Perform,
            faults: &mut faults(self.context),
            progress: &mut |_| {},
        });
        let run = self.record.run.short();
        Ok(match undone.map_err(|error| failure(error, self.record))? {
            Undo::Undone { of, entries, .. } | Undo::Would { of, entries } => Done::Made(format!(
                "run {run}: took back {entries} changes of apply {of}; they are pending"
            )),
            Undo::Refused(refused) => Done::Refused(refusal("Nothing was undone:", &refused)),
            Undo::Nothing => Done::Refused(vec![format!("Nothing of run {run} is applied.")]),
        })
    }
}

/// Each path with its reason, as far as they fit on a screen.
fn refusal(heading: &str, refused: &[Refused]) -> Vec<String> {
    const SHOWN: usize = 12;
    let mut words = vec![heading.to_owned()];
    words.extend(refused.iter().take(SHOWN).map(line));
    if refused.len() > SHOWN {
        words.push(format!("and {} more", refused.len() - SHOWN));
    }
    words
}
