//! What the gate says, in the terms of apply.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Context as _;
use cofferdam_core::changes::{Budgets, ChangePath, Class, Entry, Totals, Verdict};
use cofferdam_core::config::Budget;
use cofferdam_sandbox::changes::apply::{Judge, Opinion};
use cofferdam_sandbox::changes::{Inspector, count_paths, mode_difference};

use crate::ways::may_name_a_commit;

/// How many notes are shown one by one.
const TOLD: usize = 20;

/// What is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A person said yes to all that needs a look.
    Reviewed { budget_allowed: bool },
    /// Only what needs none.
    Automatic,
}

/// Judges by the settings' rules, and remembers what is to be told.
#[derive(Debug)]
pub(super) struct GateJudge {
    inspector: Inspector,
    budgets: Budgets,
    wanted: Wanted,
    tree: PathBuf,
    totals: Totals,
    /// What git ignores, where that is to be left.
    ignored: BTreeSet<ChangePath>,
    pub(super) left_out: LeftOut,
    /// The classes whose yes is missing.
    pub(super) missing: BTreeSet<Class>,
    /// Whether something is blocked that no flag allows.
    pub(super) denies: bool,
    /// Whether what is blocked says where a reference of the repository leads to: a commit may have been made inside.
    pub(super) commits: bool,
    /// What is applied otherwise than the program left it.
    pub(super) notes: Notes,
    /// The set could not be read: then nothing that was said counts.
    pub(super) error: Option<anyhow::Error>,
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) told: Vec<(ChangePath, String)>,
    pub(super) in_all: usize,
}

/// What was left because git ignores it.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The first of it: of a directory that is left, only that.
    pub(super) told: Vec<ChangePath>,
    pub(super) in_all: u64,
}

impl LeftOut {
    fn add(&mut self, path: &ChangePath) {
        self.in_all += 1;
        let is_told = self.told.last().is_some_and(|above| path.is_within(above));
        if !is_told && self.told.len() < TOLD {
            self.told.push(path.clone());
        }
    }
}

impl GateJudge {
    /// These are left, whatever the rules say of them.
    pub(super) fn without(self, ignored: BTreeSet<ChangePath>) -> Self {
        Self { ignored, ..self }
    }

    pub(super) fn new(
        inspector: Inspector,
        budget: &Budget,
        wanted: Wanted,
        tree: PathBuf,
    ) -> Self {
        Self {
            inspector,
            budgets: Budgets::from(budget),
            wanted,
            tree,
            totals: Totals::default(),
            ignored: BTreeSet::new(),
            left_out: LeftOut::default(),
            missing: BTreeSet::new(),
            denies: false,
            commits: false,
            notes: Notes::default(),
            error: None,
        }
    }

    fn note(&mut self, entry: &Entry) {
        let stripped = entry.stripped.iter().map(|what| format!("{} not applied", what.in_words()));
        let mode = mode_difference(entry).map(|(asked, given)| {
            format!("mode {:03o} is applied as {:03o}", asked.bits(), given.bits())
        });
        for text in stripped.chain(mode) {
            self.notes.in_all += 1;
            if self.notes.told.len() < TOLD {
                self.notes.told.push((entry.path.clone(), text));
            }
        }
    }
}

impl Judge for GateJudge {
    fn entry(&mut self, entry: &Entry) -> Opinion {
        if self.ignored.contains(&entry.path) {
            self.left_out.add(&entry.path);
            return Opinion::Later;
        }
        let judged = self
            .inspector
            .judge(entry)
            .with_context(|| format!("cannot look into the content of {}", entry.path));
        let judged = match judged {
            Ok(judged) => judged,
            Err(error) => {
                let words = vec![format!("{error:#}")];
                self.error.get_or_insert(error);
                return Opinion::Blocked(words);
            }
        };
        let automatic = self.wanted == Wanted::Automatic;
        if automatic && (judged.is_blocked() || judged.verdict > Verdict::Auto) {
            return Opinion::Later;
        }
        if judged.is_blocked() {
            self.missing.extend(judged.missing);
            self.denies |= judged.verdict == Verdict::Deny;
            self.commits |= may_name_a_commit(&entry.path);
            return Opinion::Blocked(judged.blocks);
        }
        self.totals.count(entry);
        self.note(entry);
        Opinion::Fine
    }

    fn whole(&mut self) -> Vec<String> {
        // Not even the rest of a set that is not what was sealed is applied.
        if let Some(error) = &self.error {
            return vec![format!("{error:#}")];
        }
        if self.wanted == (Wanted::Reviewed { budget_allowed: true }) {
            return Vec::new();
        }
        let tree = match self.budgets.tree_worth_counting(&self.totals) {
            None => None,
            Some(limit) => match count_paths(&self.tree, limit) {
                Ok(count) => Some(count),
                Err(error) => {
                    let error = anyhow::Error::new(error);
                    let words = vec![format!("{error:#}")];
                    self.error.get_or_insert(error);
                    return words;
                }
            },
        };
        let breaches = self.budgets.breaches(&self.totals, tree);
        breaches.into_iter().map(|breach| breach.message).collect()
    }
}
