//! Some hunks of a file, and what they were counted in.
//!
//! A number alone says nothing: once some hunks are applied, the others are counted anew. So that nobody
//! applies a hunk other than the one that was shown, numbers go with what the hunks were found against.

use std::collections::BTreeSet;

use cofferdam_core::changes::{ContentHash, Node};

/// Hunks of one file, by their numbers from 1 on, as they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunks {
    pub numbers: BTreeSet<usize>,
    pub of: Counted,
}

/// What hunks are counted in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// The whole change, as it was sealed: none of it is applied.
    Change,
    /// What was left to be made of the content that this is the mark of.
    Rest(Mark),
}

/// Stands for a content where people have to copy it: the beginning of its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// Who makes the changes must not find two contents with the same mark by trying.
    const DIGITS: usize = 24;

    pub fn of(content: ContentHash) -> Self {
        let mut digits = content.to_string();
        digits.truncate(Self::DIGITS);
        Self(digits)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let whole = text.len() == Self::DIGITS && text.bytes().all(is_digit);
        whole.then(|| Self(text.to_owned()))
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why hunks are not those that were meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stale {
    /// Counted in the whole change, of which a part is applied.
    Begun,
    /// Counted in a rest that is another by now.
    Other,
}

impl Hunks {
    /// Whether they are hunks of what leads from `old` to the end. `put` is what was put there before of
    /// the same change.
    pub(crate) fn check(&self, old: &[u8], put: Option<&Node>) -> Result<(), Stale> {
        match &self.of {
            Counted::Change if put.is_some() => Err(Stale::Begun),
            Counted::Change => Ok(()),
            Counted::Rest(mark) if *mark == Mark::of(ContentHash::of(old)) => Ok(()),
            Counted::Rest(_) => Err(Stale::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_has_one_spelling() {
        let mark = Mark::of(ContentHash::of(b"x"));
        assert_eq!(Mark::parse(&mark.to_string()), Some(mark.clone()));
        let text = mark.to_string();
        for wrong in ["", &text[1..], &format!("{text}0"), &text.to_uppercase(), "é"] {
            assert_eq!(Mark::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn hunks_are_those_that_were_shown() {
        let hunks = |of| Hunks { numbers: BTreeSet::from([1]), of };
        let put = Node::Symlink { target: std::ffi::OsString::from("x").into() };
        assert_eq!(hunks(Counted::Change).check(b"old", None), Ok(()));
        assert_eq!(hunks(Counted::Change).check(b"old", Some(&put)), Err(Stale::Begun));
        let rest = hunks(Counted::Rest(Mark::of(ContentHash::of(b"old"))));
        assert_eq!(rest.check(b"old", Some(&put)), Ok(()));
        assert_eq!(rest.check(b"old", None), Ok(()));
        assert_eq!(rest.check(b"other", Some(&put)), Err(Stale::Other));
    }
}
