//! What two sides made of one text, joined.

use std::ops::Range;

use super::Sides;
use super::edits::Edit;

/// Where both sides changed the same lines, or lines that touch, in different ways.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("both sides changed {}", .places.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
pub struct Overlap {
    pub places: Vec<Place>,
}

/// Lines of the common text, counted from 1. An empty range is a place between lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub base: Range<usize>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Range { start, end } = self.base;
        match self.base.len() {
            0 if start == 1 => write!(f, "what stands before line 1"),
            0 => write!(f, "what stands after line {}", start - 1),
            1 => write!(f, "line {start}"),
            _ => write!(f, "lines {start} to {}", end - 1),
        }
    }
}

/// Joins the changes that `ours` and `theirs` made to `base`. A change that both made is made once.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>, Overlap> {
    let ours = Sides::compare(base, ours);
    let theirs = Sides::compare(base, theirs);
    let mut merged = Vec::with_capacity(base.len());
    let mut places = Vec::new();
    let mut at = 0;
    for stretch in stretches(&ours.edits, &theirs.edits) {
        merged.extend(ours.old[at..stretch.base.start].iter().copied().flatten());
        let left = ours.became(&stretch.base, stretch.ours);
        let right = theirs.became(&stretch.base, stretch.theirs);
        match (stretch.ours.is_empty(), stretch.theirs.is_empty()) {
            (false, true) => merged.extend(left),
            (true, false) => merged.extend(right),
            _ if left == right => merged.extend(left),
            _ => places.push(Place { base: stretch.base.start + 1..stretch.base.end + 1 }),
        }
        at = stretch.base.end;
    }
    merged.extend(ours.old[at..].iter().copied().flatten());
    if places.is_empty() { Ok(merged) } else { Err(Overlap { places }) }
}

/// Lines of the common text that were changed by edits that touch each other.
struct Stretch<'a> {
    base: Range<usize>,
    ours: &'a [Edit],
    theirs: &'a [Edit],
}

fn stretches<'a>(ours: &'a [Edit], theirs: &'a [Edit]) -> Vec<Stretch<'a>> {
    let mut stretches = Vec::new();
    let (mut left, mut right) = (ours, theirs);
    while let Some(first) = earlier(left, right) {
        let mut base = first.old.clone();
        let (all_left, all_right) = (left, right);
        while let Some(next) = earlier(left, right).filter(|next| next.old.start <= base.end) {
            base.end = base.end.max(next.old.end);
            // Equal starts may be equal edits; which of the two goes first makes no difference.
            if left.first().is_some_and(|edit| edit == next) {
                left = &left[1..];
            } else {
                right = &right[1..];
            }
        }
        let ours = &all_left[..all_left.len() - left.len()];
        let theirs = &all_right[..all_right.len() - right.len()];
        stretches.push(Stretch { base, ours, theirs });
    }
    stretches
}

fn earlier<'a>(left: &'a [Edit], right: &'a [Edit]) -> Option<&'a Edit> {
    left.first().into_iter().chain(right.first()).min_by_key(|edit| edit.old.start)
}

impl Sides<'_> {
    /// What this side has in the place of these old lines, of which `edits` are all that changed some.
    fn became(&self, base: &Range<usize>, edits: &[Edit]) -> Vec<u8> {
        let mut text = Vec::new();
        let mut at = base.start;
        for edit in edits {
            text.extend(self.old[at..edit.old.start].iter().copied().flatten());
            text.extend(self.new[edit.new.clone()].iter().copied().flatten());
            at = edit.old.end;
        }
        text.extend(self.old[at..base.end].iter().copied().flatten());
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pick::tests::text;
    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Result<String, String> {
        merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes())
            .map(|text| String::from_utf8(text).unwrap())
            .map_err(|overlap| overlap.to_string())
    }

    const BASE: &str = "1\n2\n3\n4\n5\n";

    #[test]
    fn edits_that_do_not_touch_both_survive() {
        assert_eq!(merged(BASE, "0\n1\n2\n3\n4\n5\n", "1\n2\n3\n4\n").unwrap(), "0\n1\n2\n3\n4\n");

        assert_eq!(merged(BASE, "x\n2\n3\n4\n5\n", "1\n2\ny\n4\n5").unwrap(), "x\n2\ny\n4\n5");
    }

    #[test]
    fn edits_that_touch_are_for_a_person() {
        let both = |ours, theirs| merged(BASE, ours, theirs).unwrap_err();
        assert_eq!(both("1\nx\n3\n4\n5\n", "1\ny\n3\n4\n5\n"), "both sides changed line 2");
        assert_eq!(both("1\nx\n3\n4\n5\n", "1\n2\ny\n4\n5\n"), "both sides changed lines 2 to 3");
        assert_eq!(
            both("0\n1\n2\n3\n4\n5\n", "zero\n1\n2\n3\n4\n5\n"),
            "both sides changed what stands before line 1"
        );
        assert_eq!(
            both("1\n2\n3\n4\n5\nx\n", "1\n2\n3\n4\n5\ny\n"),
            "both sides changed what stands after line 5"
        );
        assert_eq!(both("", "1\n2\n3\n4\n5\n6\n"), "both sides changed lines 1 to 5");
        assert_eq!(both("x\n2\n3\n4\nx\n", "y\n2\n3\n4\ny\n"), "both sides changed line 1, line 5");
    }

    #[test]
    fn line_ends_are_part_of_the_line() {
        assert_eq!(
            merged("a\r\nb\r\nc\r\n", "a\r\nb\r\nc", "A\r\nb\r\nc\r\n").unwrap(),
            "A\r\nb\r\nc"
        );
        assert!(merged("a\n", "a\r\n", "a").is_err());
        assert!(merged("a\nb\n", "a\nb", "a\nb\nc\n").is_err());
    }

    proptest! {
        #[test]
        fn a_side_that_did_nothing_changes_nothing(base in text(), other in text()) {
            prop_assert_eq!(merge(&base, &base, &other).unwrap(), &other[..]);
            prop_assert_eq!(merge(&base, &other, &base).unwrap(), &other[..]);
            prop_assert_eq!(merge(&base, &other, &other).unwrap(), &other[..]);
        }

        #[test]
        fn sides_can_be_swapped(base in text(), ours in text(), theirs in text()) {
            prop_assert_eq!(merge(&base, &ours, &theirs), merge(&base, &theirs, &ours));
        }

        /// One side works above a line that both keep with room around it, the other below.
        #[test]
        fn work_in_different_places_is_joined(
            above in text(), below in text(), ours in text(), theirs in text()
        ) {
            let wall = b"\nwall 1\nwall 2\nwall 3\n";
            let join = |a: &[u8], b: &[u8]| [a, wall, b].concat();
            let joined = merge(&join(&above, &below), &join(&ours, &below), &join(&above, &theirs));
            prop_assert_eq!(joined.unwrap(), join(&ours, &theirs));
        }
    }
}
