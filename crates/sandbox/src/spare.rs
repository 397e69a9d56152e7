//! The directory of the run that comes next, made while the command of this one is at work: `spare/` in the
//! state directory.
//!
//! Each run lies in a part of the disk of its own, and a file system may have to read before it can make a
//! directory in a part that is new to it. Whoever starts a short command would wait for that; a directory that
//! is there only gets its name. One is kept: of runs that begin at once one gets it, the others make theirs.
//!
//! The mark of a run is made in that part, too. Marks of old runs lay side by side otherwise, and where many of them
//! were removed a moment ago, ext4 looks at each before it makes a new file among them.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, open, renameat_with};

use crate::state::{StateDir, StateError, keep_apart, make_private_dir};

/// Of such a directory.
const PRIVATE: u32 = 0o700;

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
        if !self.is_ours() {
            return make_private_dir(path);
        }
        match renameat_with(CWD, self.next(), CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(_) => make_private_dir(path),
        }
    }

    /// Whether the one that is there is as we make them, and nothing that somebody put in its place.
    fn is_ours(&self) -> bool {
        fs::symlink_metadata(self.next())
            .is_ok_and(|meta| meta.is_dir() && meta.permissions().mode() & 0o7777 == PRIVATE)
    }

    /// Makes the next one, unless it is there. Where that fails, whoever needs it makes it and says why not.
    pub(crate) fn provide(&self) {
        let make = || DirBuilder::new().mode(PRIVATE).create(self.next());
        if make().is_err_and(|error| error.kind() == ErrorKind::NotFound)
            && make_private_dir(&self.dir).is_ok()
        {
            keep_apart(&self.dir);
            make().ok();
        }
    }

    /// A locked file with these bytes, where the next run will lie. It has this name, which nothing has yet, once
    /// it is whole.
    pub(crate) fn file(&self, path: &Path, bytes: &[u8]) -> io::Result<File> {
        let (flags, mode) = (OFlags::TMPFILE | OFlags::WRONLY, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(open(self.next(), flags | OFlags::CLOEXEC, mode)?);
        file.lock()?;
        file.write_all(bytes)?;
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
        Ok(file)
    }

    fn next(&self) -> PathBuf {
        self.dir.join("next")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

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
    fn a_file_is_made_where_the_next_run_will_lie_and_is_named_when_it_is_whole() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(top.path().join("state")).unwrap();
        let (spare, path) = (Spare::of(&state), state.active().join("one"));
        assert!(spare.file(&path, b"text").is_err() && !path.exists(), "there is none yet");
        spare.provide();
        let file = spare.file(&path, b"text").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(File::open(&path).unwrap().try_lock().is_err(), "it is locked");
        let taken = spare.file(&path, b"other").unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"text");
        assert_eq!(fs::read_dir(spare.next()).unwrap().count(), 0);
    }

    #[test]
    fn what_somebody_else_put_there_is_not_given() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(top.path().join("state")).unwrap();
        let (spare, elsewhere) = (Spare::of(&state), top.path().join("elsewhere"));
        spare.provide();
        fs::remove_dir(spare.next()).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        let others: [&dyn Fn(); 3] = [
            &|| symlink(&elsewhere, spare.next()).unwrap(),
            &|| fs::write(spare.next(), "").unwrap(),
            &|| fs::create_dir(spare.next()).unwrap(),
        ];
        for (number, put) in others.iter().enumerate() {
            put();
            let dir = state.runs().join(number.to_string());
            spare.give(&dir).unwrap();
            let meta = fs::symlink_metadata(&dir).unwrap();
            assert!(meta.is_dir() && meta.permissions().mode() & 0o7777 == PRIVATE, "{number}");
            fs::remove_file(spare.next()).or_else(|_| fs::remove_dir(spare.next())).unwrap();
        }
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
