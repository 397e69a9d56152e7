//! What the judged entries come to.

use std::collections::BTreeSet;

use cofferdam_core::changes::{Breach, Budgets, Class, Entry, Judgement, Totals, Verdict};

use crate::ways::may_name_a_commit;

/// Counted as entries are judged.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) entries: u64,
    /// Of what may come home at all: what is denied takes no room.
    pub(super) totals: Totals,
    pub(super) auto: u64,
    pub(super) review: u64,
    pub(super) deny: u64,
    pub(super) blocked: u64,
    /// Classes that would have to be allowed.
    pub(super) missing: BTreeSet<Class>,
    /// Whether what is blocked says where a reference of the repository leads to: a commit may have been made inside.
    pub(super) commits: bool,
}

impl Tally {
    pub(super) fn count(&mut self, entry: &Entry, judged: &Judgement) {
        self.entries += 1;
        if judged.verdict < Verdict::Deny {
            self.totals.count(entry);
        }
        *match judged.verdict {
            Verdict::Auto => &mut self.auto,
            Verdict::Review => &mut self.review,
            Verdict::Deny => &mut self.deny,
        } += 1;
        self.blocked += u64::from(judged.is_blocked());
        self.missing.extend(&judged.missing);
        self.commits |= judged.is_blocked() && may_name_a_commit(&entry.path);
    }

    /// The strictest of all.
    pub(super) fn verdict(&self) -> Verdict {
        match (self.deny, self.review) {
            (0, 0) => Verdict::Auto,
            (0, _) => Verdict::Review,
            _ => Verdict::Deny,
        }
    }
}

/// The whole selection, held against the budgets.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) tally: Tally,
    pub(super) budgets: Budgets,
    /// Paths of the tree, where they had to be counted and as far as they had.
    pub(super) tree: Option<u64>,
    pub(super) breaches: Vec<Breach>,
    pub(super) budget_allowed: bool,
    /// `apply` for the same, with what was allowed.
    pub(super) again: String,
}

impl Sum {
    pub(super) fn is_over_budget(&self) -> bool {
        !self.breaches.is_empty() && !self.budget_allowed
    }

    /// Whether a plain apply would take all of it.
    pub(super) fn passes(&self) -> bool {
        self.tally.blocked == 0 && !self.is_over_budget()
    }
}
