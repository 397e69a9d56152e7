//! Which changes of a set are meant.

use std::collections::{BTreeMap, BTreeSet};

use cofferdam_core::changes::ChangePath;

use super::hunks::Hunks;

/// Some of the changes of a set, whole or by hunk.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    paths: Paths,
    hunks: BTreeMap<ChangePath, Hunks>,
}

#[derive(Debug, Clone, Default)]
enum Paths {
    #[default]
    All,
    /// These and what is below them.
    Within(Vec<ChangePath>),
    /// These alone.
    Exactly(BTreeSet<ChangePath>),
}

/// What of an entry is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    Nothing,
    Whole,
    Hunks(&'a Hunks),
}

impl Selection {
    pub fn all() -> Self {
        Self::default()
    }

    /// These paths and what is below them; all where none is named.
    pub fn within(paths: Vec<ChangePath>) -> Self {
        let paths = if paths.is_empty() { Paths::All } else { Paths::Within(paths) };
        Self { paths, hunks: BTreeMap::new() }
    }

    /// These paths alone.
    pub fn exactly(paths: impl IntoIterator<Item = ChangePath>) -> Self {
        Self { paths: Paths::Exactly(paths.into_iter().collect()), hunks: BTreeMap::new() }
    }

    /// Some hunks of `path` as well, and of that file nothing else.
    #[must_use]
    pub fn with_hunks(mut self, path: ChangePath, hunks: Hunks) -> Self {
        self.hunks.insert(path, hunks);
        self
    }

    pub fn part(&self, path: &ChangePath) -> Part<'_> {
        if let Some(hunks) = self.hunks.get(path) {
            return Part::Hunks(hunks);
        }
        let whole = match &self.paths {
            Paths::All => true,
            Paths::Within(paths) => paths.iter().any(|above| path.is_within(above)),
            Paths::Exactly(paths) => paths.contains(path),
        };
        if whole { Part::Whole } else { Part::Nothing }
    }

    /// Whether this very path was named, and not only what it is in.
    pub(super) fn names(&self, path: &ChangePath) -> bool {
        self.named().any(|named| named == path)
    }

    /// Paths that were named: each should be there.
    pub(super) fn named(&self) -> impl Iterator<Item = &ChangePath> {
        let (within, exactly) = match &self.paths {
            Paths::All => (None, None),
            Paths::Within(paths) => (Some(paths.iter()), None),
            Paths::Exactly(paths) => (None, Some(paths.iter())),
        };
        let paths = within.into_iter().flatten().chain(exactly.into_iter().flatten());
        paths.chain(self.hunks.keys())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Counted;

    fn path(text: &str) -> ChangePath {
        ChangePath::new(text).unwrap()
    }

    #[test]
    fn selections_mean_what_they_say() {
        let whole = |selection: &Selection, text: &str| selection.part(&path(text)) == Part::Whole;
        assert!(whole(&Selection::all(), "a") && whole(&Selection::within(Vec::new()), "a"));
        let within = Selection::within(vec![path("a")]);
        assert!(whole(&within, "a/b") && whole(&within, "a") && !whole(&within, "ab"));
        let exactly = Selection::exactly([path("a")]);
        assert!(whole(&exactly, "a") && !whole(&exactly, "a/b"));
        let some = Hunks { numbers: BTreeSet::from([1, 3]), of: Counted::Change };
        let hunks = Selection::exactly([]).with_hunks(path("f"), some.clone());
        assert_eq!(hunks.part(&path("f")), Part::Hunks(&some));
        assert!(!whole(&hunks, "g"));
    }
}
