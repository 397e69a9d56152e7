//! What a directory is besides what is in it, so that one that was removed can be made again.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::paths::Arg;
use rustix::fs::{
    AtFlags, Mode, OFlags, Timespec, Timestamps, XattrFlags, getxattr, listxattr, mkdirat, openat,
    setxattr, utimensat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::changes::seen::{Owner, Seen};

/// Mode, owner, time and extended attributes of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DirectoryRecord {
    pub(crate) mode: u32,
    pub(crate) owner: Owner,
    pub(crate) mtime: Moment,
    /// Names and values, access lists among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) xattrs: Vec<(Arg, Arg)>,
}

impl DirectoryRecord {
    pub(crate) fn of(held: &OwnedFd, seen: &Seen) -> io::Result<Self> {
        let Seen { mode, owner, mtime, .. } = *seen;
        Ok(Self { mode, owner, mtime, xattrs: xattrs(held)? })
    }

    /// Whether its owner can change what is in it.
    pub(crate) fn is_open(&self) -> bool {
        self.mode & 0o300 == 0o300
    }

    /// The same, with what its owner needs to change what is in it.
    pub(crate) fn open(&self) -> Self {
        let mode = if self.is_open() { self.mode } else { self.mode | 0o700 };
        Self { mode, ..self.clone() }
    }

    /// Makes the directory again.
    pub(crate) fn make(&self, dir: impl AsFd, name: &OsStr) -> io::Result<()> {
        mkdirat(&dir, name, Mode::RWXU)?;
        self.restore(dir, name)
    }

    /// Gives a directory of ours these attributes.
    pub(crate) fn restore(&self, dir: impl AsFd, name: &OsStr) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = openat(&dir, name, flags, Mode::empty())?;
        own(&held, self.owner)?;
        set_xattrs(&held, &self.xattrs)?;
        set_mode(&held, self.mode)?;
        set_mtime(&dir, name, self.mtime)
    }
}

/// Gives a file of ours to `owner`, as far as we may: only root gives files away.
pub(crate) fn own(held: &OwnedFd, owner: Owner) -> io::Result<()> {
    let now = Seen::from(rustix::fs::fstat(held)?).owner;
    if now == owner {
        return Ok(());
    }
    let empty = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    let uid = (now.uid != owner.uid).then(|| rustix::fs::Uid::from_raw(owner.uid));
    let gid = (now.gid != owner.gid).then(|| rustix::fs::Gid::from_raw(owner.gid));
    let give = |uid, gid| match rustix::fs::chownat(held, "", uid, gid, empty) {
        // Without root a file is ours, and only groups that we are in can be given.
        Err(Errno::PERM) if now.uid != 0 => Ok(()),
        done => done,
    };
    give(None, gid)?;
    Ok(give(uid, None)?)
}

/// By descriptor, so also where the file cannot be opened for reading.
pub(crate) fn set_mode(held: &OwnedFd, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(magic(held), std::fs::Permissions::from_mode(mode))
}

pub(crate) fn set_mtime(dir: impl AsFd, name: &OsStr, mtime: Moment) -> io::Result<()> {
    let time = Timespec { tv_sec: mtime.seconds, tv_nsec: mtime.nanos.into() };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn magic(held: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", held.as_raw_fd())
}

/// Attributes larger than this in all are none that a directory has.
const LARGEST: usize = 64 * 1024;

pub(crate) fn xattrs(held: &OwnedFd) -> io::Result<Vec<(Arg, Arg)>> {
    let path = magic(held);
    let mut names = vec![0; LARGEST];
    let length = match listxattr(&path, &mut names[..]) {
        Err(Errno::NOTSUP) => 0,
        length => length?,
    };
    let mut found = Vec::new();
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        // What the security module wrote, it writes again by its own rules.
        if name.starts_with(b"security.") {
            continue;
        }
        let mut value = vec![0; LARGEST];
        let length = getxattr(&path, name, &mut value[..])?;
        value.truncate(length);
        found.push((OsStr::from_bytes(name).into(), OsString::from_vec(value).into()));
    }
    Ok(found)
}

pub(crate) fn set_xattrs(held: &OwnedFd, xattrs: &[(Arg, Arg)]) -> io::Result<()> {
    for (name, value) in xattrs {
        setxattr(magic(held), &name.0, value.0.as_bytes(), XattrFlags::empty())?;
    }
    Ok(())
}
