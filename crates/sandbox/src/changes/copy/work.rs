//! The copying itself.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, chmodat, chownat,
    fchmod, fchown, fstat, futimens, mkdirat, mknodat, openat, openat2, readlinkat, statat,
    symlinkat,
};
use rustix::io::Errno;

use super::CopyError;
use super::index::{Draft, Placed};
use crate::changes::beneath::{READ_DIRECTORY, READ_FILE, RESOLVE};
use crate::changes::crew::go_through;
use crate::changes::duplicate::duplicate;
use crate::changes::halt::Halt;
use crate::tree::Names;

/// Who owns in the copy what is root's, where somebody else is to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owners {
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
}

impl Owners {
    fn of(self, stat: &Stat) -> (Option<Uid>, Option<Gid>) {
        let instead = |id: u32, other: Option<u32>| if id == 0 { other.unwrap_or(0) } else { id };
        let (uid, gid) = (instead(stat.st_uid, self.uid), instead(stat.st_gid, self.gid));
        (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))
    }
}

pub(super) struct Work<'a> {
    from: OwnedFd,
    to: OwnedFd,
    owners: Owners,
    halt: &'a Halt<'a>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    /// Every directory with what it is to look like; given to it when nothing is written to it any more.
    directories: Vec<(PathBuf, Stat)>,
    left_out: Vec<PathBuf>,
}

/// What became of one thing of the tree.
enum Copied {
    Whole,
    /// It cannot be had: that is for the index.
    LeftOut,
}

impl<'a> Work<'a> {
    pub(super) fn new(from: OwnedFd, to: OwnedFd, owners: Owners, halt: &'a Halt<'a>) -> Self {
        Self { from, to, owners, halt, notes: Mutex::default() }
    }

    pub(super) fn carry_out(self) -> Result<Draft, CopyError> {
        go_through(|dir| self.copy(dir))?;
        let notes = self.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut draft = Draft { directories: Vec::new(), left_out: notes.left_out };
        // Inner ones first: an outer one may be closed by its mode.
        for (path, stat) in notes.directories.iter().rev() {
            let placed = dress(&self.to, path, stat, self.owners).map_err(CopyError::io(path))?;
            draft.directories.push((path.clone(), placed));
        }
        Ok(draft)
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies what is in a directory, and returns the directories in it.
    fn copy(&self, dir: &Path) -> Result<Vec<PathBuf>, CopyError> {
        let from = match beneath(&self.from, dir) {
            // Closed to us, as it is to the program; the host's own directory stays what it is.
            Err(Errno::ACCESS) => {
                self.notes().left_out.push(dir.to_owned());
                return Ok(Vec::new());
            }
            // Removed since it was listed.
            Err(Errno::NOENT) => return Ok(Vec::new()),
            answer => answer.map_err(CopyError::io(dir))?,
        };
        let to = beneath(&self.to, dir).map_err(CopyError::io(dir))?;
        let own = fstat(&from).map_err(CopyError::io(dir))?;
        let names = Names::of(from.as_fd()).map_err(CopyError::io(dir))?;
        let mut below = Vec::new();
        for name in names.iter() {
            self.halt.check()?;
            let path = dir.join(name);
            let stat = match statat(&from, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                answer => answer.map_err(CopyError::io(&path))?,
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                mkdirat(&to, name, Mode::RWXU).map_err(CopyError::io(&path))?;
                // What is mounted there belongs to another file system and stays out.
                match beneath(&from, Path::new(name)) {
                    Err(Errno::XDEV) => self.notes().left_out.push(path),
                    _ => below.push(path),
                }
            } else if let Copied::LeftOut =
                self.copy_one(&from, &to, name, &stat).map_err(CopyError::io(&path))?
            {
                self.notes().left_out.push(path);
            }
        }
        self.notes().directories.push((dir.to_owned(), own));
        Ok(below)
    }

    fn copy_one(
        &self,
        from: &OwnedFd,
        to: &OwnedFd,
        name: &OsStr,
        stat: &Stat,
    ) -> io::Result<Copied> {
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
        let owner = self.owners.of(stat);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let source = match openat(from, name, READ_FILE, Mode::empty()) {
                    Err(Errno::ACCESS | Errno::NOENT | Errno::LOOP) => return Ok(Copied::LeftOut),
                    answer => File::from(answer?),
                };
                let write = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let copy = File::from(openat(to, name, write, Mode::RUSR | Mode::WUSR)?);
                duplicate(&source, &copy)?;
                own(&copy, owner)?;
                fchmod(&copy, mode)?;
                futimens(&copy, &times(stat))?;
            }
            FileType::Symlink => {
                let target = readlinkat(from, name, Vec::new())?;
                symlinkat(OsStr::from_bytes(target.to_bytes()), to, name)?;
                allowed(chownat(to, name, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW))?;
            }
            FileType::Fifo => {
                mknodat(to, name, FileType::Fifo, mode, 0)?;
                allowed(chownat(to, name, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW))?;
                chmodat(to, name, mode, AtFlags::empty())?;
            }
            // A program cannot use a device or a listener that is not its own.
            _ => return Ok(Copied::LeftOut),
        }
        Ok(Copied::Whole)
    }
}

fn beneath(dir: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    openat2(dir, path, READ_DIRECTORY, Mode::empty(), RESOLVE)
}

/// Makes a directory of the copy look like the one that it is a copy of, and says what it then is.
fn dress(to: &OwnedFd, path: &Path, stat: &Stat, owners: Owners) -> io::Result<Placed> {
    let dir = beneath(to, path)?;
    own(&dir, owners.of(stat))?;
    fchmod(&dir, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
    futimens(&dir, &times(stat))?;
    let placed = fstat(&dir)?;
    Ok(Placed { inode: placed.st_ino, mode: placed.st_mode })
}

fn own(file: impl AsFd, owner: (Option<Uid>, Option<Gid>)) -> io::Result<()> {
    allowed(fchown(file, owner.0, owner.1))
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
