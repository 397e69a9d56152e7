//! Secrets in contents, by their looks.
//!
//! [`scan`] says which rule found something and in which line, never what: a finding can be printed and
//! recorded; [`in_words`] does the same for a name, or for where a link leads. Text of two bytes a letter is
//! read, too. The rules stand in [`rules`], each with text that it must and must not find. What looks random
//! enough is taken for a secret only beside a name that says so; a scan that cries at every hash is soon
//! switched off.
//!
//! Deliberately absent: a promise. A secret of other looks, or one that was made to be missed, is missed.

pub mod rules;

use crate::weaken::{Weakness, weakened};
use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use rules::Rule;

/// Where something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it looks like, in words.
    pub rule: &'static str,
    pub place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Counted from one.
    Line(u64),
    /// In the name itself.
    Name,
    /// In the target of a link.
    Target,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "in line {line}"),
            Self::Name => f.write_str("in its name"),
            Self::Target => f.write_str("in where it leads"),
        }
    }
}

/// How much of a file is looked at.
pub const LOOKED_AT: usize = 16 * 1024 * 1024;
/// Enough to know that something must be done.
const MOST_FINDINGS: usize = 100;
/// Of one rule in one file. What comes after is not compared with what was there before.
const MOST_HITS: usize = 1000;

/// What looks like a secret in the first [`LOOKED_AT`] bytes.
pub fn scan(bytes: &[u8]) -> Vec<Finding> {
    introduced(b"", bytes)
}

/// What looks like a secret and was not there before.
pub fn introduced(before: &[u8], after: &[u8]) -> Vec<Finding> {
    if weakened(Weakness::Secrets) {
        return Vec::new();
    }
    let (before, after) = (Views::of(before), Views::of(after));
    let old: Vec<Hit<'_>> = before.iter().flat_map(hits).collect();
    let mut found = Vec::new();
    for view in after.iter() {
        let mut new = hits(view);
        new.retain(|hit| !old.iter().any(|old| old.value == hit.value));
        found.extend(findings(view, &new));
    }
    found.truncate(MOST_FINDINGS);
    found
}

/// What looks like a secret in a few words.
pub fn in_words(words: &[u8], place: Place) -> Option<Finding> {
    hits(words).first().map(|hit| Finding { rule: hit.rule.name, place })
}

/// The ways in which bytes are read as text.
struct Views<'a> {
    /// As they are, but for long runs of zeros, in which nothing stands.
    plain: Cow<'a, [u8]>,
    /// Without zeros: so text of two or four bytes a letter, whichever comes first, reads like any other.
    narrow: Option<Vec<u8>>,
}

impl<'a> Views<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let bytes = &bytes[..bytes.len().min(LOOKED_AT)];
        if !bytes.contains(&0) {
            return Self { plain: Cow::Borrowed(bytes), narrow: None };
        }
        let mut plain = bytes.to_vec();
        plain.dedup_by(|byte, before| (*byte, *before) == (0, 0));
        let narrow = plain.iter().copied().filter(|byte| *byte != 0).collect();
        Self { plain: Cow::Owned(plain), narrow: Some(narrow) }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&*self.plain).chain(self.narrow.as_deref())
    }
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
        let finding = Finding { rule: hit.rule.name, place: Place::Line(line) };
        if found.last() != Some(&finding) {
            found.push(finding);
        }
    }
    found
}

#[cfg(test)]
mod tests;
