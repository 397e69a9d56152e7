//! What stands at a place on the host, as one look at it tells.

use std::io;
use std::os::fd::AsFd;

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::changes::{Permissions, Special};
use rustix::fs::{AtFlags, FileType, Stat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// What `stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) kind: Kind,
    /// All twelve bits.
    pub(crate) mode: u32,
    pub(crate) owner: Owner,
    pub(crate) size: u64,
    pub(crate) links: u64,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) mtime: Moment,
    pub(crate) ctime: Moment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Symlink,
    Special(Special),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Which file it is and whether it was written to. A rename changes none of this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) mtime: Moment,
}

impl Seen {
    /// What is called `name` in `dir`, itself and not what it points to.
    pub(crate) fn at(dir: impl AsFd, name: impl rustix::path::Arg) -> io::Result<Option<Self>> {
        match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(crate) fn permissions(&self) -> Permissions {
        self.mode.into()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { ino: self.ino, size: self.size, mtime: self.mtime }
    }

    pub(crate) fn is_dir(&self) -> bool {
        self.kind == Kind::Directory
    }
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Special(Special::Fifo) => "FIFO",
            Self::Special(Special::Socket) => "socket",
            Self::Special(Special::CharDevice | Special::BlockDevice) => "device",
        }
    }
}

impl From<Stat> for Seen {
    fn from(stat: Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Symlink,
            FileType::Fifo => Kind::Special(Special::Fifo),
            FileType::Socket => Kind::Special(Special::Socket),
            FileType::CharacterDevice => Kind::Special(Special::CharDevice),
            FileType::BlockDevice => Kind::Special(Special::BlockDevice),
            FileType::RegularFile | FileType::Unknown => Kind::File,
        };
        Self {
            kind,
            mode: stat.st_mode & 0o7777,
            owner: Owner { uid: stat.st_uid, gid: stat.st_gid },
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            links: count(stat.st_nlink),
            dev: stat.st_dev,
            ino: stat.st_ino,
            mtime: moment(stat.st_mtime, stat.st_mtime_nsec),
            ctime: moment(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// How many names a file has. The kernel counts them in 64 bits on x86-64 and in 32 on ARM64.
fn count(links: impl Into<u64>) -> u64 {
    links.into()
}

fn moment(seconds: i64, nanos: impl TryInto<u32>) -> Moment {
    Moment { seconds, nanos: nanos.try_into().unwrap_or_default() }
}
