//! Secrets in contents, by their looks.
//!
//! [`scan`] says which rule found something and in which line, never what: a finding can be printed and
//! recorded. The rules stand in [`rules`], each with text that it must and must not find. What looks random
//! enough is taken for a secret only beside a name that says so; a scan that cries at every hash is soon
//! switched off.
//!
//! Deliberately absent: a promise. A secret of other looks, or one that was made to be missed, is missed.

pub mod rules;

use serde::Serialize;

use rules::Rule;

/// Where something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it looks like, in words.
    pub rule: &'static str,
    /// Counted from one.
    pub line: u64,
}

/// How much of a file is looked at.
pub const LOOKED_AT: usize = 4 * 1024 * 1024;
/// Enough to know that something must be done.
const MOST_FINDINGS: usize = 100;
/// Of one rule in one file. What comes after is not compared with what was there before.
const MOST_HITS: usize = 1000;

/// What looks like a secret in the first [`LOOKED_AT`] bytes.
pub fn scan(bytes: &[u8]) -> Vec<Finding> {
    findings(bytes, &hits(bytes))
}

/// What looks like a secret and was not there before.
pub fn introduced(before: &[u8], after: &[u8]) -> Vec<Finding> {
    let old = hits(before);
    let mut new = hits(after);
    new.retain(|hit| !old.iter().any(|old| old.value == hit.value));
    findings(after, &new)
}

struct Hit<'a> {
    rule: &'static Rule,
    start: usize,
    value: &'a [u8],
}

impl Hit<'_> {
    fn overlaps(&self, other: &Self) -> bool {
        let end = |hit: &Hit<'_>| hit.start + hit.value.len();
        self.start < end(other) && other.start < end(self)
    }
}

/// In the order of their places; of two that overlap, that of the earlier rule.
fn hits(bytes: &[u8]) -> Vec<Hit<'_>> {
    let bytes = &bytes[..bytes.len().min(LOOKED_AT)];
    let mut found: Vec<Hit<'_>> = Vec::new();
    for rule in rules::ALL {
        let matches = rule.values(bytes).take(MOST_HITS);
        let hits = matches.map(|(start, value)| Hit { rule, start, value });
        found.extend(hits);
    }
    // Stable: at one place the earlier rule comes first.
    found.sort_by_key(|hit| hit.start);
    found.dedup_by(|later, earlier| later.overlaps(earlier));
    found
}

fn findings(bytes: &[u8], hits: &[Hit<'_>]) -> Vec<Finding> {
    let (mut line, mut counted) = (1, 0);
    let mut found: Vec<Finding> = Vec::new();
    for hit in hits.iter().take(MOST_FINDINGS) {
        let breaks = bytes[counted..hit.start].iter().filter(|byte| **byte == b'\n');
        line += breaks.fold(0, |count, _| count + 1);
        counted = hit.start;
        let finding = Finding { rule: hit.rule.name, line };
        if found.last() != Some(&finding) {
            found.push(finding);
        }
    }
    found
}

#[cfg(test)]
mod tests;
