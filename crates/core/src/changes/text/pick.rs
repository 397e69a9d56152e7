//! Only some of the differences.

use std::collections::BTreeSet;

use super::{CONTEXT, Sides};

/// The old text with only the chosen hunks applied, by the numbers that [`super::hunks`] gives them with
/// [`CONTEXT`] lines around. A number that no hunk has chooses nothing.
pub fn pick(old: &[u8], new: &[u8], chosen: &BTreeSet<usize>) -> Vec<u8> {
    let sides = Sides::compare(old, new);
    let mut picked = Vec::with_capacity(old.len().max(new.len()));
    let mut at = 0;
    for hunk in sides.hunks(CONTEXT) {
        if !chosen.contains(&hunk.number) {
            continue;
        }
        for edit in &hunk.edits {
            picked.extend(sides.old[at..edit.old.start].iter().copied().flatten());
            picked.extend(sides.new[edit.new.clone()].iter().copied().flatten());
            at = edit.old.end;
        }
    }
    picked.extend(sides.old[at..].iter().copied().flatten());
    picked
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::changes::text::hunks;

    /// Few different lines, so that much is the same and much is ambiguous.
    pub(in crate::changes::text) fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop::sample::select(vec!["a\n", "b\n", "c\r\n", "\n", "  d\n"]);
        let end = prop::sample::select(vec!["", "", "z", "\r"]);
        (prop::collection::vec(line, 0..40), end)
            .prop_map(|(lines, end)| (lines.concat() + end).into_bytes())
    }

    proptest! {
        #[test]
        fn all_hunks_make_the_new_and_none_the_old(old in text(), new in text()) {
            let all = hunks(&old, &new, CONTEXT).iter().map(|hunk| hunk.number).collect();
            prop_assert_eq!(pick(&old, &new, &all), &new[..]);
            prop_assert_eq!(pick(&old, &new, &BTreeSet::new()), &old[..]);
        }

        /// Applying one hunk after the other ends where applying all at once does.
        #[test]
        fn what_was_not_picked_can_be_picked_later(old in text(), new in text(), n in 1usize..5) {
            let once = pick(&old, &new, &BTreeSet::from([n]));
            let rest = hunks(&once, &new, CONTEXT).iter().map(|hunk| hunk.number).collect();
            prop_assert_eq!(pick(&once, &new, &rest), &new[..]);
        }
    }

    #[test]
    fn one_of_two() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("\n2\n", "\ntwo\n").replace("\n19\n", "\nnineteen\n");
        let pick = |n| pick(old.as_bytes(), new.as_bytes(), &BTreeSet::from([n]));
        assert_eq!(pick(1), old.replace("\n2\n", "\ntwo\n").as_bytes());
        assert_eq!(pick(2), old.replace("\n19\n", "\nnineteen\n").as_bytes());
        assert_eq!(pick(3), old.as_bytes());
    }
}
