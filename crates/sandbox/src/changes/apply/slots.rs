//! Where the slots of an operation are: on the workspace's file system, because only there a rename is
//! one step.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, mkdirat, open, statx};

use super::journal::Lodging;
use crate::changes::beneath::Workspace;
use crate::tree::remove_tree;

/// Beside a journal.
pub(crate) const SLOTS: &str = "slots";

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Where the slots of an operation whose journal is in `dir` will be. `name` is for where they have to be
/// in the workspace; nothing else is called that.
pub(crate) fn choose(
    workspace: &Workspace,
    dir: &Path,
    name: &str,
) -> io::Result<(PathBuf, Lodging)> {
    Ok(match same_mount(workspace, dir)? {
        true => (dir.join(SLOTS), Lodging::State),
        false => (workspace.path().join(name), Lodging::Workspace),
    })
}

/// Makes them, where the journal says that they are.
pub(crate) fn make(path: &Path) -> io::Result<OwnedFd> {
    mkdirat(CWD, path, Mode::RWXU)?;
    Ok(open(path, DIRECTORY, Mode::empty())?)
}

/// Opens slots again. `None` where they are gone.
pub(crate) fn reopen(path: &Path) -> io::Result<Option<OwnedFd>> {
    match open(path, DIRECTORY, Mode::empty()) {
        Ok(dir) => Ok(Some(dir)),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Removes slots with all that is in them.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match remove_tree(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        answer => answer,
    }
}

/// Whether `dir` is on the same mount as the workspace: renames work only within one.
pub(crate) fn same_mount(workspace: &Workspace, dir: &Path) -> io::Result<bool> {
    let device = fs::metadata(dir)?;
    let mount = |fd: &OwnedFd| -> io::Result<u64> {
        Ok(statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?.stx_mnt_id)
    };
    let there: OwnedFd = File::open(dir)?.into();
    let device = std::os::unix::fs::MetadataExt::dev(&device);
    Ok(device == workspace.identity().device && mount(&there)? == mount(workspace.root())?)
}
