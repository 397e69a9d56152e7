//! A tree of files as a value, to be compared.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Every name below a directory, with the mode and the bytes of what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<String, (u32, Vec<u8>)>);

impl Tree {
    pub(super) fn read(top: &Path) -> Result<Self> {
        let mut all = BTreeMap::new();
        let mut rest = vec![top.to_owned()];
        while let Some(dir) = rest.pop() {
            for entry in
                fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))?
            {
                let path = entry?.path();
                let meta = path.symlink_metadata()?;
                let bytes = if meta.is_file() { fs::read(&path)? } else { Vec::new() };
                if meta.is_dir() {
                    rest.push(path.clone());
                }
                let name = path.strip_prefix(top)?.to_string_lossy().into_owned();
                all.insert(name, (meta.permissions().mode(), bytes));
            }
        }
        Ok(Self(all))
    }

    /// Names that are not the same in both.
    pub(super) fn unlike<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let names = self.0.keys().chain(other.0.keys());
        let mut unlike: Vec<&str> = names
            .filter(|name| self.0.get(*name) != other.0.get(*name))
            .map(String::as_str)
            .collect();
        unlike.sort_unstable();
        unlike.dedup();
        unlike
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    #[test]
    fn bytes_names_and_modes_count() {
        let place = Place::new().unwrap();
        let top = place.workspace();
        fs::create_dir(top.join("d")).unwrap();
        fs::write(top.join("d/a"), "one").unwrap();
        let before = Tree::read(&top).unwrap();
        assert_eq!(before, Tree::read(&top).unwrap());
        fs::write(top.join("d/a"), "two").unwrap();
        fs::write(top.join("b"), "").unwrap();
        assert_eq!(before.unlike(&Tree::read(&top).unwrap()), ["b", "d/a"]);
    }
}
