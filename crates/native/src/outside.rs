//! A workspace mounted in the host's own mount namespace, where a container engine can bind it from.
//!
//! [`show`] does for an engine what the recipe does for a native sandbox, by the same functions: the staged,
//! direct or read-only workspace, its owners swapped where they are root, what is blocked in it hidden.
//! [`withdraw`] takes it down, whoever made it. Only root can do this; for others the engine mounts an overlay
//! itself, and [`blocked_in`] says what has to be hidden in it.
//!
//! Nothing here removes a directory with anything in it: what is mounted may be the user's own tree.

mod system;

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::plan::Plan;
use cofferdam_core::repository::Repository;
use cofferdam_core::spec::Mode as WorkspaceMode;
use rustix::fs::{CWD, FileType, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use crate::blocked::{self, Hidden};
use crate::identity::{Identity, Ids, NOBODYS, Owners};
use crate::repository;
use crate::root::{Covers, Root, RootAccess, binds};
use crate::sys::SysError;
use crate::sys::mount::Depth;
use crate::workspace::{self, GIT_COPY, GIT_UPPER, GIT_WORK, REPOSITORY_LAYERS, UPPER, WORK};
pub use system::{Tree, etc_files, etc_shown, git_files, system_trees};

/// Names in a run's directory that layers are mounted over for a moment.
const LAYERS: [&str; 4] = [UPPER, WORK, GIT_UPPER, GIT_WORK];

/// Who a program is inside a container. Never root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
}

impl User {
    /// Of a program that works in a directory with this owner: ourselves, or, where we are root, the owner,
    /// or, where that is root as well, an id that owns nothing.
    pub fn for_workspace(owner: &fs::Metadata) -> Self {
        let us = Ids::ours();
        let ids = if us.uid == 0 { Ids::of(owner) } else { us };
        let not_root = |id: u32| if id == 0 { NOBODYS } else { id };
        Self { uid: not_root(ids.uid), gid: not_root(ids.gid) }
    }
}

/// The workspace as it stands in the host's tree.
#[derive(Debug)]
pub struct View {
    /// What to bind, with all that is mounted below it.
    pub workspace: PathBuf,
    /// The repository outside the workspace, where there is one: to be bound likewise.
    pub repository: Option<PathBuf>,
    /// Further mounts of the plan, by their targets: to be bound likewise.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    pub hidden: Vec<PathBuf>,
    /// Of these, what was made by us.
    pub placeholders: Vec<PathBuf>,
    /// The program can still make something under these names.
    pub unprotected: Vec<PathBuf>,
}

/// Whether [`show`] can be used by this process.
pub fn can_show() -> bool {
    Ids::ours().uid == 0
}

/// Mounts the workspace of `plan` below `place`, which is made; layers are kept in `state`. Must be called
/// with one thread.
pub fn show(plan: &Plan, state: &Path, place: &Path) -> Result<View, SysError> {
    let source = &plan.workspace.source.real;
    let meta = fs::metadata(source).map_err(|e| SysError::on("stat", source.display(), e))?;
    let owners = Owners::of(Ids::of(&meta))?;
    let owners = owners.as_ref().map(Owners::again).transpose()?;
    let identity = Identity::choose(Ids::of(&meta)).with_owners(owners);
    if plan.workspace.mode == WorkspaceMode::Stage {
        workspace::lay(plan, state, &meta)?;
    }
    let mut builder = fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(place)
        .map_err(|e| SysError::on("mkdir", place.display(), e))?;
    let layers = open_dir(state)?;
    let root = Root::new(&plan.workspace.target)?;
    root.lay_over(open_dir(place)?)?;
    root.directory("run")?;
    let covers = Covers::new(&root)?;
    let mounted = workspace::make(&plan.workspace, layers.as_fd(), &identity, Depth::One)?;
    workspace::put(&root, &plan.workspace, &mounted)?;
    if plan.workspace.mode == WorkspaceMode::Direct {
        repository::protect(&mounted, Depth::One)?;
    }
    if let Some(repository) = &plan.repository {
        repository::mount(&root, repository, &plan.workspace, layers.as_fd(), &identity)?;
    }
    // An overlay keeps its layers by itself.
    for name in LAYERS {
        detach(&state.join(name))?;
    }
    let view = blocked::Workspace {
        root: &root,
        mount: mounted.as_fd(),
        target: plan.workspace.target.strip_prefix("/").unwrap_or(&plan.workspace.target),
        mode: plan.workspace.mode,
        identity: &identity,
    };
    let Hidden { paths, placeholders, unprotected } = blocked::hide(&view, &plan.blocked, &covers)?;
    blocked::note_placeholders(layers.as_fd(), &placeholders)?;
    for extra in &plan.mounts {
        binds::extra(&root, extra, &identity, Depth::One)?;
    }
    root.finish(RootAccess::Readonly, &identity)?;
    let inside = |target: &Path| place.join(target.strip_prefix("/").unwrap_or(target));
    // What is mounted into the workspace is bound with it.
    let apart = plan.mounts.iter().filter(|m| !m.target.starts_with(&plan.workspace.target));
    Ok(View {
        workspace: inside(&plan.workspace.target),
        repository: plan.repository.as_ref().map(|repository| inside(&repository.target)),
        mounts: apart.map(|m| (inside(&m.target), m.target.0.clone())).collect(),
        hidden: paths,
        placeholders,
        unprotected,
    })
}

/// Takes down what [`show`] mounted, or had begun to mount when its process died. What would not go is said.
pub fn withdraw(state: &Path, place: &Path) -> Vec<String> {
    let mut left = Vec::new();
    let layers = LAYERS.map(|name| state.join(name));
    for path in [place.to_owned()].into_iter().chain(layers) {
        if let Err(error) = detach(&path) {
            left.push(format!("mount {}: {}", path.display(), error.source));
        }
    }
    match fs::remove_dir(place) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => left.push(format!("directory {}: {e}", place.display())),
    }
    left
}

/// The layers of a staged repository, with what has to be different inside. As whoever may.
pub fn make_repository_layers(repository: &Repository, state: &Path) -> Result<(), SysError> {
    let path = &repository.source.real;
    let meta = fs::symlink_metadata(path).map_err(|e| SysError::on("stat", path.display(), e))?;
    workspace::make_layers(state, REPOSITORY_LAYERS, &meta)
        .map_err(|e| SysError::on("mkdir", state.display(), e))?;
    repository::settle(repository, &state.join(GIT_UPPER))
        .map_err(|e| SysError::on("write", state.display(), e))
}

/// The same where it is copied.
pub fn settle_repository_copy(repository: &Repository, state: &Path) -> Result<(), SysError> {
    repository::settle(repository, &state.join(GIT_COPY))
        .map_err(|e| SysError::on("write", state.display(), e))
}

/// The settings of a submodule's repository as they have to be inside, where they are not the host's.
pub fn repository_settings(repository: &Repository) -> Result<Option<Vec<u8>>, SysError> {
    repository::settings(repository).map_err(|e| SysError::on("read", repository::CONFIG, e))
}

/// Takes away every mount at `path`, with those below it. A path without one is fine.
fn detach(path: &Path) -> Result<(), SysError> {
    loop {
        match unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOENT) => return Ok(()),
            // Without privileges nothing was mounted here either.
            Err(Errno::PERM) if Ids::ours().uid != 0 => return Ok(()),
            Err(errno) => return Err(SysError::on("umount", path.display(), errno)),
        }
    }
}

/// What patterns mean in a workspace that somebody else will mount.
#[derive(Debug, Default)]
pub struct Blocked {
    pub files: Vec<PathBuf>,
    pub directories: Vec<PathBuf>,
    pub links: Vec<PathBuf>,
    /// Named outright, and not there.
    pub missing: Vec<PathBuf>,
}

pub fn blocked_in(workspace: &Path, patterns: &[String]) -> Result<Blocked, SysError> {
    let blocked::Meant { found, missing } = blocked::find(&open_dir(workspace)?, patterns)?;
    let mut blocked = Blocked { missing, ..Blocked::default() };
    for (path, kind) in found {
        match kind {
            FileType::Directory => blocked.directories.push(path),
            FileType::Symlink => blocked.links.push(path),
            _ => blocked.files.push(path),
        }
    }
    Ok(blocked)
}

fn open_dir(path: &Path) -> Result<OwnedFd, SysError> {
    openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| SysError::on("open", path.display(), e))
}
