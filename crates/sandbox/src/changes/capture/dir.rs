//! A directory that is held open, and put away where the tree is so deep that too many would be.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, chmodat, fchmod, fstat, openat, openat2, statat,
};
use rustix::io::Errno;

use crate::changes::beneath::{READ_DIRECTORY, READ_FILE, RESOLVE};
use crate::tree::Names;

/// Whose tree it is: that decides what may be done to get a look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// In the run's own directory. What the program closed is opened, and closed again.
    Ours,
    /// The host's. It is read as it can be read, and no other file system that is mounted in it: the
    /// program did not see those.
    Host,
}

#[derive(Debug)]
pub(crate) struct Dir {
    side: Side,
    /// Absent while it is put away.
    fd: Option<OwnedFd>,
    id: (u64, u64),
}

impl Dir {
    pub(crate) fn open(path: &Path, side: Side) -> io::Result<Self> {
        let fd = match openat(CWD, path, READ_DIRECTORY, Mode::empty()) {
            Err(Errno::ACCESS) if side == Side::Ours => {
                open_closed(CWD, path.as_os_str(), READ_DIRECTORY)?
            }
            answer => answer?,
        };
        Self::opened(fd, side)
    }

    fn opened(fd: OwnedFd, side: Side) -> io::Result<Self> {
        let stat = fstat(&fd)?;
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
        // One that can be listed and not entered: nothing in it could be looked at.
        if side == Side::Ours && !mode.contains(Mode::XUSR) {
            fchmod(&fd, mode | Mode::RWXU)?;
        }
        Ok(Self { side, fd: Some(fd), id: (stat.st_dev, stat.st_ino) })
    }

    pub(crate) fn id(&self) -> (u64, u64) {
        self.id
    }

    pub(crate) fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        let closed = || io::Error::other("the directory was put away");
        self.fd.as_ref().map(|fd| fd.as_fd()).ok_or_else(closed)
    }

    /// The names in it, to be asked for once after it was opened.
    pub(crate) fn names(&self) -> io::Result<Names> {
        Names::of(self.fd()?)
    }

    /// What stands under a name, if anything does.
    pub(crate) fn look(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match statat(self.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The directory of that name.
    pub(crate) fn below(&self, name: &OsStr) -> io::Result<Self> {
        Self::opened(self.open_at(name, READ_DIRECTORY)?, self.side)
    }

    /// The file of that name, and what it is: a regular file, or it would not have been opened for good.
    pub(crate) fn file(&self, name: &OsStr) -> io::Result<(OwnedFd, Stat)> {
        let fd = self.open_at(name, READ_FILE)?;
        let stat = fstat(&fd)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is no longer a file"));
        }
        Ok((fd, stat))
    }

    fn open_at(&self, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
        let dir = self.fd()?;
        if self.side == Side::Host {
            return Ok(openat2(dir, name, flags, Mode::empty(), RESOLVE)?);
        }
        match openat(dir, name, flags, Mode::empty()) {
            Err(Errno::ACCESS) => open_closed(dir, name, flags),
            answer => Ok(answer?),
        }
    }

    /// Closes it for now.
    pub(crate) fn put_away(&mut self) {
        self.fd = None;
    }

    /// Opens it again, from a directory in it.
    pub(crate) fn take_out(&mut self, child: &Self) -> io::Result<()> {
        if self.fd.is_some() {
            return Ok(());
        }
        let fd = openat(child.fd()?, "..", READ_DIRECTORY, Mode::empty())?;
        let stat = fstat(&fd)?;
        if (stat.st_dev, stat.st_ino) != self.id {
            return Err(io::Error::other("it was moved meanwhile"));
        }
        self.fd = Some(fd);
        Ok(())
    }
}

/// Opens what its owner took the permission from, and leaves its mode as it was.
fn open_closed(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        return Err(Errno::ACCESS.into());
    }
    // A directory is looked into while it is open, so it keeps the permission until it is removed.
    let is_dir = flags.contains(OFlags::DIRECTORY);
    let readable = if is_dir { Mode::RWXU } else { Mode::RUSR };
    chmodat(dir, name, mode | readable, AtFlags::empty())?;
    let fd = openat(dir, name, flags, Mode::empty());
    match &fd {
        Ok(fd) if !is_dir => fchmod(fd, mode)?,
        Ok(_) => {}
        Err(_) => chmodat(dir, name, mode, AtFlags::empty())?,
    }
    Ok(fd?)
}
