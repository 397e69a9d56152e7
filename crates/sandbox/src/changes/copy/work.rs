//! The copying itself: directories wait in a list, and each thread takes one at a time.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, chmodat, chownat,
    fchmod, fchown, futimens, mkdirat, mknodat, openat, openat2, readlinkat, statat, symlinkat,
};
use rustix::io::Errno;

use super::CopyError;
use crate::changes::beneath::{READ_DIRECTORY, READ_FILE, RESOLVE};
use crate::changes::duplicate::duplicate;
use crate::tree::Names;

pub(super) struct Work {
    from: OwnedFd,
    to: OwnedFd,
    list: Mutex<List>,
    more: Condvar,
}

#[derive(Default)]
struct List {
    /// Directories whose content is still to be copied.
    waiting: Vec<PathBuf>,
    /// Of those that were taken, how many are not done.
    taken: usize,
    /// Every directory with what it is to look like; given to it when nothing is written to it any more.
    directories: Vec<(PathBuf, Stat)>,
    failed: Option<CopyError>,
}

/// Few: more only wait for the same disk.
const THREADS: usize = 4;

impl Work {
    pub(super) fn new(from: OwnedFd, to: OwnedFd) -> Self {
        let list = List { waiting: vec![PathBuf::from(".")], ..List::default() };
        Self { from, to, list: Mutex::new(list), more: Condvar::new() }
    }

    pub(super) fn carry_out(self) -> Result<(), CopyError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(2, THREADS);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(dir) = self.take() {
                        let done = self.copy(&dir);
                        self.done(done.map_err(|(path, source)| CopyError { path, source }));
                    }
                });
            }
        });
        let mut list = self.list.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = list.failed.take() {
            return Err(error);
        }
        // Inner ones first: an outer one may be closed by its mode.
        for (path, stat) in list.directories.iter().rev() {
            dress(&self.to, path, stat)
                .map_err(|source| CopyError { path: path.clone(), source })?;
        }
        Ok(())
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next directory, or `None` when there will be none.
    fn take(&self) -> Option<PathBuf> {
        let mut list = self.list();
        loop {
            if list.failed.is_some() {
                return None;
            }
            if let Some(dir) = list.waiting.pop() {
                list.taken += 1;
                return Some(dir);
            }
            if list.taken == 0 {
                return None;
            }
            list = self.more.wait(list).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, done: Result<(), CopyError>) {
        let mut list = self.list();
        list.taken -= 1;
        if let Err(error) = done {
            list.failed.get_or_insert(error);
        }
        self.more.notify_all();
    }

    fn copy(&self, dir: &Path) -> Result<(), (PathBuf, io::Error)> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |error: Errno| (path, io::Error::from(error))
        };
        let from = beneath(&self.from, dir).map_err(fail(dir))?;
        let to = beneath(&self.to, dir).map_err(fail(dir))?;
        let own = rustix::fs::fstat(&from).map_err(fail(dir))?;
        let names = Names::of(from.as_fd()).map_err(|e| (dir.to_owned(), e))?;
        let mut below = Vec::new();
        for name in names.iter() {
            let path = dir.join(name);
            let stat = match statat(&from, name, AtFlags::SYMLINK_NOFOLLOW) {
                // Removed since it was listed.
                Err(Errno::NOENT) => continue,
                answer => answer.map_err(fail(&path))?,
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                // What is mounted there belongs to another file system and stays out.
                if matches!(beneath(&from, Path::new(name)), Err(Errno::XDEV)) {
                    continue;
                }
                mkdirat(&to, name, Mode::RWXU).map_err(fail(&path))?;
                below.push(path);
            } else {
                copy_one(&from, &to, name, &stat).map_err(|e| (path, e))?;
            }
        }
        let mut list = self.list();
        list.directories.push((dir.to_owned(), own));
        list.waiting.append(&mut below);
        self.more.notify_all();
        Ok(())
    }
}

fn beneath(dir: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    openat2(dir, path, READ_DIRECTORY, Mode::empty(), RESOLVE)
}

fn copy_one(from: &OwnedFd, to: &OwnedFd, name: &OsStr, stat: &Stat) -> io::Result<()> {
    let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let write = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let source = File::from(openat(from, name, READ_FILE, Mode::empty())?);
            let copy = File::from(openat(to, name, write, Mode::RUSR | Mode::WUSR)?);
            duplicate(&source, &copy)?;
            own(&copy, stat)?;
            fchmod(&copy, mode)?;
            futimens(&copy, &times(stat))?;
        }
        FileType::Symlink => {
            let target = readlinkat(from, name, Vec::new())?;
            symlinkat(OsStr::from_bytes(target.to_bytes()), to, name)?;
            let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
            allowed(chownat(to, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW))?;
        }
        FileType::Fifo => {
            mknodat(to, name, FileType::Fifo, mode, 0)?;
            chmodat(to, name, mode, AtFlags::empty())?;
        }
        // A program cannot use a device or a listener that is not its own.
        _ => {}
    }
    Ok(())
}

fn dress(to: &OwnedFd, path: &Path, stat: &Stat) -> io::Result<()> {
    let dir = beneath(to, path)?;
    own(&dir, stat)?;
    fchmod(&dir, Mode::from_raw_mode(stat.st_mode & 0o777))?;
    Ok(futimens(&dir, &times(stat))?)
}

fn own(file: impl rustix::fd::AsFd, stat: &Stat) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    allowed(fchown(file, Some(uid), Some(gid)))
}

/// Only root can give files away; what others copy is theirs.
fn allowed(done: Result<(), Errno>) -> io::Result<()> {
    match done {
        Err(Errno::PERM) => Ok(()),
        done => Ok(done?),
    }
}

fn times(stat: &Stat) -> Timestamps {
    let at = |seconds: i64, nanos: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanos).unwrap_or(0),
    };
    Timestamps {
        last_access: at(stat.st_atime, stat.st_atime_nsec),
        last_modification: at(stat.st_mtime, stat.st_mtime_nsec),
    }
}
