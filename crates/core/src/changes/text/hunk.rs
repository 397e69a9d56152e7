//! Differences with the lines around them.

use std::ops::Range;

use super::Sides;
use super::edits::Edit;

/// A stretch of two texts in which they differ. Lines count from 0 here; what people see counts from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// From 1, in the order of the text.
    pub number: usize,
    /// With the lines around.
    pub old: Range<usize>,
    pub new: Range<usize>,
    pub edits: Vec<Edit>,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    Same(&'a [u8]),
    Removed(&'a [u8]),
    Added(&'a [u8]),
}

/// What differs between two texts, with `context` lines around each difference. Differences whose
/// surroundings meet are one hunk.
pub fn hunks(old: &[u8], new: &[u8], context: usize) -> Vec<Hunk> {
    Sides::compare(old, new).hunks(context)
}

impl<'a> Sides<'a> {
    pub fn hunks(&self, context: usize) -> Vec<Hunk> {
        let mut hunks: Vec<Hunk> = Vec::new();
        for edit in &self.edits {
            let old = self.around(&edit.old, self.old.len(), context);
            let new = self.around(&edit.new, self.new.len(), context);
            match hunks.last_mut() {
                // Both sides meet at once: what is between two edits is the same on both.
                Some(hunk) if old.start <= hunk.old.end => {
                    hunk.old.end = old.end;
                    hunk.new.end = new.end;
                    hunk.edits.push(edit.clone());
                }
                _ => {
                    let number = hunks.len() + 1;
                    hunks.push(Hunk { number, old, new, edits: vec![edit.clone()] });
                }
            }
        }
        hunks
    }

    fn around(&self, range: &Range<usize>, end: usize, context: usize) -> Range<usize> {
        range.start.saturating_sub(context)..range.end.saturating_add(context).min(end)
    }

    /// The lines of a hunk, in the order in which a unified diff has them.
    pub fn lines(&self, hunk: &Hunk) -> Vec<Line<'a>> {
        let mut lines = Vec::new();
        let mut at = hunk.old.start;
        for edit in &hunk.edits {
            lines.extend(self.old[at..edit.old.start].iter().map(|line| Line::Same(line)));
            lines.extend(self.old[edit.old.clone()].iter().map(|line| Line::Removed(line)));
            lines.extend(self.new[edit.new.clone()].iter().map(|line| Line::Added(line)));
            at = edit.old.end;
        }
        lines.extend(self.old[at..hunk.old.end].iter().map(|line| Line::Same(line)));
        lines
    }

    /// How many lines were added and removed.
    pub fn counts(&self) -> (usize, usize) {
        let count = |side: fn(&Edit) -> usize| self.edits.iter().map(side).sum();
        (count(|edit| edit.new.len()), count(|edit| edit.old.len()))
    }
}

impl Hunk {
    /// `@@ -1,3 +1,4 @@`
    pub fn heading(&self) -> String {
        format!("@@ -{} +{} @@", span(&self.old), span(&self.new))
    }
}

/// As diffs write it: a stretch of no lines is named by the line before it, and one line needs no count.
fn span(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headings(old: &str, new: &str, context: usize) -> Vec<String> {
        hunks(old.as_bytes(), new.as_bytes(), context).iter().map(Hunk::heading).collect()
    }

    #[test]
    fn headings_are_those_of_a_unified_diff() {
        assert_eq!(headings("", "a\n", 3), ["@@ -0,0 +1 @@"]);
        assert_eq!(headings("a\nb\n", "", 3), ["@@ -1,2 +0,0 @@"]);
        assert_eq!(headings("a\nb\nc\n", "a\nx\nc\n", 0), ["@@ -2 +2 @@"]);
        assert_eq!(headings("a\nb\n", "a\nx\nb\n", 0), ["@@ -1,0 +2 @@"]);
        assert_eq!(headings("same\n", "same\n", 3), Vec::<String>::new());
    }

    #[test]
    fn hunks_whose_surroundings_meet_are_one() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let apart = |b: &str| old.replace("\n3\n", "\nx\n").replace(b, "\ny\n");
        assert_eq!(headings(&old, &apart("\n10\n"), 3), ["@@ -1,13 +1,13 @@"]);
        assert_eq!(headings(&old, &apart("\n11\n"), 3), ["@@ -1,6 +1,6 @@", "@@ -8,7 +8,7 @@"]);
        let numbers: Vec<usize> =
            hunks(old.as_bytes(), apart("\n11\n").as_bytes(), 3).iter().map(|h| h.number).collect();
        assert_eq!(numbers, [1, 2]);
    }

    #[test]
    fn lines_come_in_the_order_of_a_unified_diff() {
        let sides = Sides::compare(b"a\nb\nc", b"a\r\nb\nc\n");
        let lines: Vec<_> = sides.hunks(1).iter().flat_map(|hunk| sides.lines(hunk)).collect();
        let wanted = [
            Line::Removed(b"a\n"),
            Line::Added(b"a\r\n"),
            Line::Same(b"b\n"),
            Line::Removed(b"c"),
            Line::Added(b"c\n"),
        ];
        assert_eq!(lines, wanted);
        assert_eq!(sides.counts(), (2, 2));
    }
}
