//! The names of two directories as one sorted list.

use std::os::unix::ffi::OsStrExt as _;

use crate::tree::Names;

#[derive(Debug, Default)]
pub(crate) struct Union {
    after: Names,
    before: Names,
    next_after: usize,
    next_before: usize,
}

/// Which of the two has the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The first, and maybe the second.
    After,
    OnlyBefore,
}

impl Union {
    pub(crate) fn new(after: Names, before: Names) -> Self {
        Self { after, before, next_after: 0, next_before: 0 }
    }

    /// The next name is put at the end of `path`.
    pub(crate) fn next_onto(&mut self, path: &mut Vec<u8>) -> Option<Found> {
        let (after, before) = (self.after.get(self.next_after), self.before.get(self.next_before));
        let (name, found) = match (after, before) {
            (None, None) => return None,
            (Some(after), Some(before)) if after > before => (before, Found::OnlyBefore),
            (Some(after), _) => (after, Found::After),
            (None, Some(before)) => (before, Found::OnlyBefore),
        };
        let in_both = after == before;
        path.extend(name.as_bytes());
        self.next_after += usize::from(found == Found::After);
        self.next_before += usize::from(found == Found::OnlyBefore || in_both);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Names {
        let mut names = Names::default();
        for name in list {
            names.add(name.as_bytes()).unwrap();
        }
        names.sort();
        names
    }

    #[test]
    fn a_union_has_every_name_once_and_in_order() {
        let mut union = Union::new(names(&["c", "a", "b."]), names(&["b", "a", "d"]));
        let mut seen = Vec::new();
        let mut path = Vec::new();
        while let Some(found) = union.next_onto(&mut path) {
            seen.push((String::from_utf8(std::mem::take(&mut path)).unwrap(), found));
        }
        let seen: Vec<_> = seen.iter().map(|(name, found)| (name.as_str(), *found)).collect();
        let (after, before) = (Found::After, Found::OnlyBefore);
        assert_eq!(seen, [("a", after), ("b", before), ("b.", after), ("c", after), ("d", before)]);
    }
}
