//! A directory tree as one value.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// BLAKE3 over names, kinds, modes, contents and link targets of a tree, the top's name left out.
/// Times and owners are not in it: a test that cares about those looks at them itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHash(blake3::Hash);

impl TreeHash {
    #[track_caller]
    pub fn of(top: &Path) -> Self {
        let mut hasher = blake3::Hasher::new();
        for path in walk(top) {
            let name = path.strip_prefix(top).expect("walk stays beneath its top");
            add(&mut hasher, name.as_os_str().as_bytes());
            add_node(&mut hasher, &path);
        }
        Self(hasher.finalize())
    }
}

/// `top` and everything beneath it, sorted, symlinks not followed.
#[track_caller]
pub(crate) fn walk(top: &Path) -> Vec<PathBuf> {
    let mut found = vec![top.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        let meta =
            fs::symlink_metadata(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if meta.is_dir() {
            let entries = fs::read_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            found.extend(entries.map(|entry| match entry {
                Ok(entry) => entry.path(),
                Err(e) => panic!("{}: {e}", path.display()),
            }));
        }
    }
    found.sort();
    found
}

fn add_node(hasher: &mut blake3::Hasher, path: &Path) {
    let fail = |e: std::io::Error| -> ! { panic!("{}: {e}", path.display()) };
    let meta = fs::symlink_metadata(path).unwrap_or_else(|e| fail(e));
    let kind = meta.file_type();
    // The mode holds the kind as well.
    hasher.update(&meta.mode().to_le_bytes());
    if kind.is_file() {
        add(hasher, &fs::read(path).unwrap_or_else(|e| fail(e)));
    } else if kind.is_symlink() {
        add(hasher, fs::read_link(path).unwrap_or_else(|e| fail(e)).as_os_str().as_bytes());
    } else if kind.is_char_device() || kind.is_block_device() {
        hasher.update(&meta.rdev().to_le_bytes());
    }
}

/// Length first, so that no two different sequences of parts make the same bytes.
fn add(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn sample() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        fs::write(dir.path().join("d/f"), "one").unwrap();
        symlink("d/f", dir.path().join("l")).unwrap();
        dir
    }

    #[test]
    fn equal_trees_are_equal_wherever_they_stand() {
        assert_eq!(TreeHash::of(sample().path()), TreeHash::of(sample().path()));
    }

    #[test]
    fn every_kind_of_change_shows() {
        type Change = (&'static str, fn(&Path));
        let changes: [Change; 6] = [
            ("content", |top| fs::write(top.join("d/f"), "two").unwrap()),
            ("name", |top| fs::rename(top.join("d/f"), top.join("d/g")).unwrap()),
            ("mode", |top| {
                fs::set_permissions(top.join("d/f"), fs::Permissions::from_mode(0o600)).unwrap();
            }),
            ("link target", |top| {
                fs::remove_file(top.join("l")).unwrap();
                symlink("d/g", top.join("l")).unwrap();
            }),
            ("kind", |top| {
                fs::remove_file(top.join("l")).unwrap();
                fs::write(top.join("l"), "d/f").unwrap();
            }),
            ("empty directory", |top| fs::create_dir(top.join("e")).unwrap()),
        ];
        for (what, change) in changes {
            let dir = sample();
            let before = TreeHash::of(dir.path());
            change(dir.path());
            assert_ne!(before, TreeHash::of(dir.path()), "{what}");
        }
    }
}
