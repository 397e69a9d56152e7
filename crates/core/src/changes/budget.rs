//! How much may be applied at once without somebody having said that so much is meant.
//!
//! [`Totals`] are counted entry by entry, and held against the [`Budgets`]. The share of the tree needs to
//! know how large the tree is, but only up to a point: [`Budgets::tree_worth_counting`] says to which.

use serde::Serialize;

use super::{Change, Entry, FileNode, Node};
use crate::config::Budget;
use crate::weaken::{Weakness, weakened};

/// The most that is applied without a further yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Budgets {
    pub files: u64,
    pub bytes: u64,
    pub deletions: u64,
    /// Percent of what was in the tree.
    pub share: u64,
}

/// What a selection of entries comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Changed paths, directories included.
    pub files: u64,
    /// Bytes of new content.
    pub bytes: u64,
    pub deletions: u64,
    /// Paths that were there before, outside of git's own directory.
    pub touched: u64,
}

/// A budget that is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// The setting.
    pub key: &'static str,
    pub limit: u64,
    pub found: u64,
    pub message: String,
}

/// With fewer paths than this a share says nothing: one file of two is half of the tree.
const SHARE_FROM: u64 = 20;

impl Totals {
    pub fn count(&mut self, entry: &Entry) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(new_bytes(entry));
        self.deletions += u64::from(entry.change == Change::Deleted);
        self.touched += u64::from(entry.before.is_some() && !is_git_directory(entry));
    }
}

impl From<&Budget> for Budgets {
    fn from(budget: &Budget) -> Self {
        Self {
            files: budget.files.into(),
            bytes: budget.bytes.0,
            deletions: budget.deletions.into(),
            share: budget.share.into(),
        }
    }
}

impl Budgets {
    /// The budgets that are not kept. `tree` is how many paths the tree has outside of git's own directory;
    /// of a tree larger than [`Budgets::tree_worth_counting`] any number from there on will do.
    pub fn breaches(&self, totals: &Totals, tree: Option<u64>) -> Vec<Breach> {
        let mut found = Vec::new();
        let mut hold = |key, limit, amount, message: String| {
            if amount > limit && !weakened(Weakness::Budget) {
                let remedy = format!("if that is meant, add --allow-budget or raise {key}");
                let message = format!("{message}: {remedy}");
                found.push(Breach { key, limit, found: amount, message });
            }
        };
        let Self { files, bytes, deletions, share } = *self;
        let said = format!("{} paths are changed, and {files} is the most", totals.files);
        hold("changes.budget.files", files, totals.files, said);
        let said = format!("{} bytes are written, and {bytes} is the most", totals.bytes);
        hold("changes.budget.bytes", bytes, totals.bytes, said);
        let said = format!("{} paths are deleted, and {deletions} is the most", totals.deletions);
        hold("changes.budget.deletions", deletions, totals.deletions, said);
        if let Some(tree) = tree.filter(|_| self.tree_worth_counting(totals).is_some()) {
            // What is gone from the tree since is not in it, so it may be less than what was touched.
            let tree = tree.max(totals.touched);
            // Rounded up: above the limit as soon as anything is.
            let percent = totals.touched.saturating_mul(100).div_ceil(tree);
            let said = format!(
                "{} of {tree} paths in the tree are changed or deleted, {percent} percent, and {share} is \
                 the most",
                totals.touched
            );
            hold("changes.budget.share", share, percent, said);
        }
        found
    }

    /// How far the paths of the tree have to be counted to know whether the share is kept: beyond that it
    /// is. `None` where it is kept whatever the tree is.
    pub fn tree_worth_counting(&self, totals: &Totals) -> Option<u64> {
        let asked = totals.touched >= SHARE_FROM && self.share < 100;
        asked.then(|| totals.touched.saturating_mul(100) / self.share.max(1) + 1)
    }
}

/// Bytes that are not there yet. A further name of a file has none of its own.
fn new_bytes(entry: &Entry) -> u64 {
    let Some(Node::File(after)) = &entry.after else { return 0 };
    let same = |before: &FileNode| {
        before.content.hash().zip(after.content.hash()).is_some_and(|(old, new)| old == new)
    };
    let kept = entry.before.as_ref().and_then(Node::file).is_some_and(same);
    if kept || after.link.is_some() { 0 } else { after.size }
}

fn is_git_directory(entry: &Entry) -> bool {
    entry.path.names().next().is_some_and(|first| first == ".git")
}

#[cfg(test)]
mod tests;
