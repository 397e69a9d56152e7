//! Removes a tree of ours.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, chmodat, fchmod, fstat, openat, unlinkat};
use rustix::io::Errno;

use super::Names;
use crate::changes::halt::Halt;

/// A directory on the way down, and what is left to go down into.
struct Level {
    name: OsString,
    id: (u64, u64),
    directories: Vec<OsString>,
}

/// Removes a directory with all in it, if it is there. The kernel leaves its scratch space without any
/// permission, and a program may do the same; what is ours we may open.
pub(crate) fn remove_tree(dir: &Path) -> io::Result<()> {
    remove_tree_unless(dir, &Halt::never())
}

/// The same, until told to stop; what is left then is for the next time.
pub(crate) fn remove_tree_unless(dir: &Path, halt: &Halt<'_>) -> io::Result<()> {
    remove(CWD, dir.as_os_str(), halt)
}

/// The same, of a name in a directory that is open.
pub(crate) fn remove_tree_at(top: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    remove(top, name, &Halt::never())
}

/// Removes all that is in a directory, if it is there, until told to stop.
pub(crate) fn empty_unless(dir: &Path, halt: &Halt<'_>) -> io::Result<()> {
    match open(CWD, dir.as_os_str()) {
        Err(Errno::NOENT) => Ok(()),
        answer => empty(answer?, halt),
    }
}

fn remove(top: BorrowedFd<'_>, name: &OsStr, halt: &Halt<'_>) -> io::Result<()> {
    match open(top, name) {
        Err(Errno::NOENT) => return Ok(()),
        answer => empty(answer?, halt)?,
    }
    Ok(unlinkat(top, name, AtFlags::REMOVEDIR)?)
}

fn empty(top: OwnedFd, halt: &Halt<'_>) -> io::Result<()> {
    let mut here = top;
    let mut levels = vec![enter(&here, OsString::new(), halt)?];
    while let Some(level) = levels.last_mut() {
        if let Some(name) = level.directories.pop() {
            let below = open(here.as_fd(), &name)?;
            levels.push(enter(&below, name, halt)?);
            here = below;
            continue;
        }
        let Some(Level { name, .. }) = levels.pop() else { break };
        let Some(parent) = levels.last() else { break };
        // Held open, the directories of a deep tree would be too many.
        let above = openat(&here, "..", FLAGS, Mode::empty())?;
        if id(&above)? != parent.id {
            return Err(io::Error::other("it was moved while it was being removed"));
        }
        unlinkat(&above, name, AtFlags::REMOVEDIR)?;
        here = above;
    }
    Ok(())
}

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

fn open(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    match openat(dir, name, FLAGS, Mode::empty()) {
        Err(Errno::ACCESS) => {
            chmodat(dir, name, Mode::RWXU, AtFlags::empty())?;
            openat(dir, name, FLAGS, Mode::empty())
        }
        answer => answer,
    }
}

/// Removes what is no directory, and says what is.
fn enter(dir: &OwnedFd, name: OsString, halt: &Halt<'_>) -> io::Result<Level> {
    let stat = fstat(dir)?;
    if stat.st_mode & 0o700 != 0o700 {
        fchmod(dir, Mode::RWXU)?;
    }
    let mut directories = Vec::new();
    for name in Names::of(dir.as_fd())?.iter() {
        halt.check().map_err(io::Error::other)?;
        match unlinkat(dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR) => directories.push(name.to_owned()),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(Level { name, id: (stat.st_dev, stat.st_ino), directories })
}

fn id(dir: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = fstat(dir)?;
    Ok((stat.st_dev, stat.st_ino))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn a_tree_deeper_than_any_path_goes() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir(&top).unwrap();
        let mut here = open(CWD, top.as_os_str()).unwrap();
        for _ in 0..3000 {
            mkdirat(&here, "directory", Mode::RWXU).unwrap();
            here = open(here.as_fd(), OsStr::new("directory")).unwrap();
        }
        remove_tree(&top).unwrap();
        assert!(!top.exists());
        remove_tree(&top).unwrap();
    }

    #[test]
    fn what_a_link_leads_to_stays_and_closed_doors_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("kept")).unwrap();
        fs::write(dir.path().join("kept/file"), "x").unwrap();
        let top = dir.path().join("top");
        fs::create_dir_all(top.join("closed/inner")).unwrap();
        symlink(dir.path().join("kept"), top.join("link")).unwrap();
        fs::set_permissions(top.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        remove_tree(&top).unwrap();
        assert!(!top.exists() && dir.path().join("kept/file").exists());
    }
}
