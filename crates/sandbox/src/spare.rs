//! The directory of the run that comes next, made while the command of this one is at work: `spare/` in the
//! state directory.
//!
//! Each run lies in a part of the disk of its own, and a file system may have to read before it can make a
//! directory in a part that is new to it. Whoever starts a short command would wait for that; a directory that
//! is there only gets its name. One is kept: of runs that begin at once one gets it, the others make theirs.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::state::{StateDir, StateError, keep_apart, make_private_dir};

#[derive(Debug, Clone)]
pub(crate) struct Spare {
    dir: PathBuf,
}

impl Spare {
    pub(crate) fn of(state: &StateDir) -> Self {
        Self { dir: state.root().join("spare") }
    }

    /// A directory with this name, which nothing has yet: the one that is there, or one that is made now.
    pub(crate) fn give(&self, path: &Path) -> Result<(), StateError> {
        match renameat_with(CWD, self.next(), CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(_) => make_private_dir(path),
        }
    }

    /// Makes the next one, unless it is there. Where that fails, whoever needs it makes it and says why not.
    pub(crate) fn provide(&self) {
        let make = || DirBuilder::new().mode(0o700).create(self.next());
        if make().is_err_and(|error| error.kind() == ErrorKind::NotFound)
            && make_private_dir(&self.dir).is_ok()
        {
            keep_apart(&self.dir);
            make().ok();
        }
    }

    fn next(&self) -> PathBuf {
        self.dir.join("next")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn the_next_run_gets_it_and_the_one_after_that_makes_its_own() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(top.path().join("state")).unwrap();
        let spare = Spare::of(&state);
        spare.provide();
        spare.provide();
        let made = fs::metadata(spare.next()).unwrap();
        let (first, second) = (state.runs().join("first"), state.runs().join("second"));
        spare.give(&first).unwrap();
        spare.give(&second).unwrap();
        assert_eq!(fs::metadata(&first).unwrap().ino(), made.ino());
        for dir in [first, second] {
            assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
        }
        assert!(!spare.next().exists());
    }

    #[test]
    fn what_has_the_name_already_is_not_replaced() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(top.path().join("state")).unwrap();
        let spare = Spare::of(&state);
        spare.provide();
        let file = state.runs().join("taken");
        fs::write(&file, "").unwrap();
        assert!(spare.give(&file).is_err());
        assert!(file.is_file() && spare.next().exists());
    }
}
