//! One line of the list: a change, and how much of it was chosen.

use std::collections::BTreeSet;

use cofferdam_core::changes::{ChangePath, ContentHash, Judgement, Verdict};

use super::super::diff::paint::Hue;
use super::draw::fit::rows;

/// A change as the reader sees it.
#[derive(Debug)]
pub(super) struct File {
    /// What is chosen with it: a move is a deletion and a creation.
    pub(super) paths: Vec<ChangePath>,
    /// Inert.
    pub(super) name: String,
    pub(super) change: &'static str,
    /// What the host has there, as the diff shows it; hunks are counted from there.
    pub(super) base: Option<ContentHash>,
    pub(super) judgement: Judgement,
    /// Why it cannot be applied as the host stands.
    pub(super) conflict: Option<String>,
    /// Loaded when it is looked at.
    pub(super) diff: Option<Diff>,
    /// How many hunks can be chosen one by one; known once it was looked at.
    pub(super) hunks: usize,
    pub(super) choice: Choice,
}

#[derive(Debug, Default)]
pub(super) struct Diff {
    pub(super) lines: Vec<DiffLine>,
    /// 0 where it can only be chosen whole.
    pub(super) hunks: usize,
    /// The lines, cut to fit the screen.
    pub(super) rows: Vec<Row>,
}

/// As much of a line as fits.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) hue: Hue,
    pub(super) text: String,
    pub(super) hunk: usize,
    /// Which line it is of.
    pub(super) line: usize,
    /// The line began above.
    pub(super) goes_on: bool,
}

impl Diff {
    /// Nothing of a line is lost: what is not on its first row is on the next ones.
    pub(super) fn cut(&mut self, width: usize) {
        self.rows.clear();
        for (number, DiffLine { hue, text, hunk }) in self.lines.iter().enumerate() {
            self.rows.extend(rows(text, width).into_iter().enumerate().map(|(nth, text)| Row {
                hue: *hue,
                text: text.to_owned(),
                hunk: *hunk,
                line: number,
                goes_on: nth > 0,
            }));
        }
    }
}

/// A line of a diff, inert and without tabs.
#[derive(Debug, Clone)]
pub(super) struct DiffLine {
    pub(super) hue: Hue,
    pub(super) text: String,
    /// The hunk it belongs to; 0 is the header.
    pub(super) hunk: usize,
}

impl DiffLine {
    /// Of inert text. Tabs become spaces: a cell of the screen takes no control character.
    pub(super) fn new(hue: Hue, text: &str, hunk: usize) -> Self {
        let mut spread = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                // The first column is the sign.
                '\t' => spread.push_str(&" ".repeat(TAB - spread.chars().skip(1).count() % TAB)),
                c => spread.push(c),
            }
        }
        Self { hue, text: spread, hunk }
    }
}

const TAB: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Choice {
    #[default]
    Nothing,
    Whole,
    /// Some, and not all.
    Hunks(BTreeSet<usize>),
}

impl File {
    /// The path that the change is known by.
    pub(super) fn path(&self) -> &ChangePath {
        &self.paths[self.paths.len() - 1]
    }

    /// Whether it is what `old` was, so that what was chosen of it then is chosen of it now.
    pub(super) fn is_still(&self, old: &Self) -> bool {
        let same = |file: &Self| (file.change, file.base, file.is_denied());
        self.paths == old.paths && same(self) == same(old)
    }

    /// Whether somebody may choose it at all.
    pub(super) fn is_denied(&self) -> bool {
        self.judgement.verdict == Verdict::Deny
    }

    pub(super) fn needs_own_yes(&self) -> bool {
        !self.judgement.missing.is_empty()
    }

    pub(super) fn has(&self, hunk: usize) -> bool {
        match &self.choice {
            Choice::Nothing => false,
            Choice::Whole => true,
            Choice::Hunks(hunks) => hunks.contains(&hunk),
        }
    }

    pub(super) fn set_whole(&mut self, chosen: bool) {
        self.choice = if chosen { Choice::Whole } else { Choice::Nothing };
    }

    /// Chooses a hunk, or takes it back.
    pub(super) fn set(&mut self, hunk: usize, chosen: bool) {
        let mut hunks: BTreeSet<usize> = (1..=self.hunks).filter(|n| self.has(*n)).collect();
        if chosen {
            hunks.insert(hunk);
        } else {
            hunks.remove(&hunk);
        }
        self.choice = match hunks.len() {
            0 => Choice::Nothing,
            all if all == self.hunks => Choice::Whole,
            _ => Choice::Hunks(hunks),
        };
    }

    pub(super) fn mark(&self) -> &'static str {
        match self.choice {
            _ if self.is_denied() => "[!]",
            Choice::Nothing => "[ ]",
            Choice::Whole => "[x]",
            Choice::Hunks(_) => "[~]",
        }
    }
}

#[cfg(test)]
impl File {
    /// A change that nothing is said about.
    pub(super) fn fixture(name: &str, change: &'static str) -> Self {
        let path = ChangePath::new(name).unwrap();
        Self {
            name: path.to_string(),
            paths: vec![path],
            change,
            base: Some(ContentHash::of(b"before")),
            judgement: Judgement {
                verdict: Verdict::Review,
                classes: Vec::new(),
                reasons: Vec::new(),
                blocks: Vec::new(),
                missing: Vec::new(),
            },
            conflict: None,
            diff: None,
            hunks: 0,
            choice: Choice::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_reach_to_the_next_stop() {
        let line = |text| DiffLine::new(Hue::Plain, text, 0).text;
        assert_eq!(line("+\ta\tb"), "+    a   b");
        assert_eq!(line(" abcd\te"), " abcd    e");
        assert_eq!(line("-plain"), "-plain");
    }
}
