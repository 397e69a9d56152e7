//! The repository of a linked worktree or a submodule, and the one that the workspace holds itself.
//!
//! What stands in there is executed by whoever next uses git on the host: hooks, and programs that the
//! settings name. So no mode writes to it. Where the workspace is staged, so is the repository; where it is
//! written to directly, the repository can be read.

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;

use cofferdam_core::plan::{WORKSPACE, WorkspacePlan};
use cofferdam_core::repository::{Repository, RepositoryOf, with_worktree};
use cofferdam_core::spec::Mode;

use crate::identity::Identity;
use crate::root::{PlaceKind, Root};
use crate::sys::SysError;
use crate::sys::mount::{
    Attributes, Depth, attach, clone_mount, open_beneath, open_pinned, set_attributes,
};
use crate::workspace::{REPOSITORY_LAYERS, Tree, apart, itself};

/// Where a workspace keeps its own.
pub(crate) const GIT: &str = ".git";
/// The repository's settings, in its directory.
pub(crate) const CONFIG: &str = "config";
/// Where settings for inside stand in the root, if they cannot stand in a layer.
const SETTINGS: &str = "run/git-config";

/// In the parent: what has to be different inside, put into the repository's upper directory or its copy.
pub(crate) fn settle(repository: &Repository, upper: &Path) -> io::Result<()> {
    let Some(settings) = settings(repository)? else { return Ok(()) };
    let meta = fs::symlink_metadata(repository.source.real.join(CONFIG))?;
    let path = upper.join(CONFIG);
    let is_copy = path.exists();
    fs::write(&path, settings)?;
    if is_copy {
        // It has the owner that it is to have inside.
        return Ok(());
    }
    chown(&path, Some(meta.uid()), Some(meta.gid()))?;
    fs::set_permissions(&path, meta.permissions())
}

/// The settings as they have to be inside, where they are not the host's.
pub(crate) fn settings(repository: &Repository) -> io::Result<Option<Vec<u8>>> {
    if repository.of == RepositoryOf::Worktree {
        return Ok(None);
    }
    let settings = fs::read(repository.source.real.join(CONFIG))?;
    Ok(Some(with_worktree(&settings, WORKSPACE)))
}

/// Attaches a repository that lies outside the workspace.
pub(crate) fn mount(
    root: &Root,
    repository: &Repository,
    workspace: &WorkspacePlan,
    state: BorrowedFd<'_>,
    identity: &Identity,
) -> Result<(), SysError> {
    let Repository { source: path, target, .. } = repository;
    let source = open_pinned(path)?;
    let place = || root.place(target, PlaceKind::Directory);
    if workspace.mode == Mode::Stage {
        let tree = Tree { source, layers: REPOSITORY_LAYERS };
        let mount = apart(tree, &workspace.staging, state, identity)?;
        return attach(mount, place()?, &target.display());
    }
    let mount = itself(&source, path, Attributes::READONLY, identity, Depth::One)?;
    attach(&mount, place()?, &target.display())?;
    let settings = settings(repository).map_err(|e| SysError::on("read", CONFIG, e))?;
    let Some(settings) = settings else { return Ok(()) };
    root.file(SETTINGS, &settings)?;
    let settings = clone_mount(open_beneath(root, Path::new(SETTINGS))?, &SETTINGS, Depth::One)?;
    set_attributes(&settings, Attributes::READONLY, Depth::One, None)?;
    attach(settings, open_beneath(&mount, Path::new(CONFIG))?, &CONFIG)
}

/// Makes the workspace's own `.git` read-only in a workspace that is written to directly.
pub(crate) fn protect(workspace: &OwnedFd, depth: Depth) -> Result<(), SysError> {
    let place = match open_beneath(workspace, Path::new(GIT)) {
        Ok(place) => place,
        // There is none; or it is a link, and what that leads to is a part of the workspace or not seen.
        Err(e) if matches!(e.source.raw_os_error(), Some(libc::ENOENT | libc::ELOOP)) => {
            return Ok(());
        }
        Err(e) => return Err(e),
    };
    let mount = clone_mount(&place, &GIT, depth)?;
    set_attributes(&mount, Attributes::READONLY, depth, None)?;
    attach(mount, place, &GIT)
}
