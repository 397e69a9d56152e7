//! A copy that a program worked in, looked through by several threads before it is walked.
//!
//! They find the directories in and below which nothing happened, which the walk then passes by, and the
//! hashes of what was written. The walk itself is one thread's, for a manifest has an order.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cofferdam_core::changes::ContentHash;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Stat, fstat, openat, openat2, statat};
use rustix::io::Errno;

use super::{CaptureError, changed_at, content};
use crate::changes::beneath::{READ_DIRECTORY, READ_FILE, RESOLVE};
use crate::changes::copy::{Index, PathKey, plain};
use crate::changes::crew::go_through;
use crate::changes::halt::Halt;
use crate::tree::Names;

/// So many hashes are remembered; what is beyond is read when the walk comes to it.
const HASHES: usize = 200_000;

#[derive(Debug)]
pub(crate) struct Whole {
    index: Index,
    found: Found,
}

#[derive(Debug, Default)]
struct Found {
    /// Directories in or below which something happened.
    stirred: HashSet<PathKey>,
    /// By device and inode, with the ctime that the file had when it was read.
    hashes: HashMap<(u64, u64), (i64, u64, ContentHash)>,
}

impl Whole {
    /// Looks through the copy that `index` tells of.
    pub(crate) fn look_through(
        copy: &Path,
        index: Index,
        halt: &Halt<'_>,
    ) -> Result<Self, CaptureError> {
        let top = openat(CWD, copy, READ_DIRECTORY, Mode::empty())
            .map_err(CaptureError::io("open", copy))?;
        let look = Look { top, index: &index, halt, found: Mutex::default() };
        go_through(|dir| look.at(dir))?;
        let found = look.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Self { index, found })
    }

    /// Whether what stands at `path` is what the copying put there. `parent_is_placed` says the same of
    /// the directory that it is in: nobody can move a thing there but by changing the thing's ctime.
    pub(super) fn is_untouched(&self, path: &[u8], stat: &Stat, parent_is_placed: bool) -> bool {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                self.is_placed(path, stat.st_ino)
                    && !self.found.stirred.contains(&PathKey::of(path))
            }
            _ => parent_is_placed && changed_at(stat) <= self.index.copied,
        }
    }

    /// Whether the directory with this inode is the one that the copying put at `path`.
    pub(super) fn is_placed(&self, path: &[u8], inode: u64) -> bool {
        self.index.placed(path).is_some_and(|placed| placed.inode == inode)
    }

    pub(super) fn is_left_out(&self, path: &[u8]) -> bool {
        self.index.is_left_out(path)
    }

    /// The mode of a directory: where the program did not change it, the host's, which a copy may not be
    /// able to have.
    pub(super) fn mode_of(&self, path: &[u8], stat: &Stat, host: Option<u32>) -> u32 {
        match (self.index.placed(path), host) {
            (Some(placed), Some(host))
                if (placed.inode, placed.mode) == (stat.st_ino, stat.st_mode) =>
            {
                host
            }
            _ => stat.st_mode,
        }
    }

    pub(super) fn hash_of(&self, stat: &Stat) -> Option<ContentHash> {
        let (seconds, nanos, hash) = self.found.hashes.get(&(stat.st_dev, stat.st_ino))?;
        ((*seconds, *nanos) == (stat.st_ctime, stat.st_ctime_nsec)).then_some(*hash)
    }
}

/// What the threads share.
struct Look<'a> {
    top: OwnedFd,
    index: &'a Index,
    halt: &'a Halt<'a>,
    found: Mutex<Found>,
}

impl Look<'_> {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what is in one directory, and returns the directories in it.
    fn at(&self, path: &Path) -> Result<Vec<PathBuf>, CaptureError> {
        let dir = match openat2(&self.top, path, READ_DIRECTORY, Mode::empty(), RESOLVE) {
            Ok(dir) => dir,
            // Closed, too deep, or odd: the walk goes there and knows what to do.
            Err(_) => {
                self.stir(path);
                return Ok(Vec::new());
            }
        };
        let fail = |path: &Path| CaptureError::io::<Errno>("look at", path.to_owned());
        let own = fstat(&dir).map_err(fail(path))?;
        let is_placed =
            self.index.placed(plain(path)).is_some_and(|placed| placed.inode == own.st_ino);
        let mut is_stirred = !is_placed || changed_at(&own) > self.index.copied;
        let names = Names::of(dir.as_fd()).map_err(CaptureError::io("list", path))?;
        let mut below = Vec::new();
        for name in names.iter() {
            self.halt.check()?;
            let stat = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail(path))?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            if kind == FileType::Directory {
                below.push(path.join(name));
                continue;
            }
            let is_new = changed_at(&stat) > self.index.copied;
            is_stirred |= is_new;
            if kind == FileType::RegularFile && (is_new || !is_placed) {
                self.read(&dir, name).map_err(CaptureError::io("read", path.join(name)))?;
            }
        }
        if is_stirred {
            self.stir(path);
        }
        Ok(below)
    }

    /// Remembers the hash of a file that can be read as it is.
    fn read(&self, dir: &OwnedFd, name: &OsStr) -> std::io::Result<()> {
        if self.found().hashes.len() >= HASHES {
            return Ok(());
        }
        let Ok(fd) = openat(dir, name, READ_FILE, Mode::empty()) else { return Ok(()) };
        let stat = fstat(&fd)?;
        if let Some(hash) = content::hash(&mut File::from(fd), &stat, self.halt)? {
            let seen = (stat.st_ctime, stat.st_ctime_nsec, hash);
            self.found().hashes.insert((stat.st_dev, stat.st_ino), seen);
        }
        Ok(())
    }

    /// Something happened in a directory, so that the walk has to come by it.
    fn stir(&self, path: &Path) {
        let mut found = self.found();
        for above in path.ancestors() {
            if !found.stirred.insert(PathKey::of(plain(above))) {
                break;
            }
        }
    }
}
