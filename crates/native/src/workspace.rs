//! The workspace as the program sees it: staged on an overlay, itself, or read-only.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use cofferdam_core::mount::HostPath;
use cofferdam_core::plan::{Plan, WorkspacePlan};
use cofferdam_core::spec::{Mode, Staging};
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fs::{StatVfsMountFlags, fstatvfs};
use rustix::io::Errno;

use crate::identity::Identity;
use crate::repository;
use crate::root::{PlaceKind, Root};
use crate::sys::SysError;
use crate::sys::mount::{
    Attributes, Depth, FsOption, attach, by_descriptor, clone_mount, new_filesystem, open_beneath,
    open_pinned, set_attributes,
};

/// Names in the run's directory: what the program changed, and the kernel's scratch space.
pub const UPPER: &str = "upper";
pub const WORK: &str = "work";
/// The same for a repository that lies outside the workspace.
pub const GIT_UPPER: &str = "git-upper";
pub const GIT_WORK: &str = "git-work";

/// Where there can be no overlay: copies of the two, which whoever asks for the sandbox has made.
pub const COPY: &str = "copy";
pub const GIT_COPY: &str = "git-copy";

/// The layers of one staged tree, by their names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layers {
    pub(crate) upper: &'static str,
    work: &'static str,
    pub(crate) copy: &'static str,
}

pub(crate) const WORKSPACE_LAYERS: Layers = Layers { upper: UPPER, work: WORK, copy: COPY };
pub(crate) const REPOSITORY_LAYERS: Layers =
    Layers { upper: GIT_UPPER, work: GIT_WORK, copy: GIT_COPY };

/// In the parent: the directories of a staged tree. An upper directory that is there already is
/// gone on with; the scratch space must be new, for the kernel refuses one that was used before.
pub(crate) fn make_layers(state: &Path, layers: Layers, tree: &fs::Metadata) -> io::Result<()> {
    let upper = state.join(layers.upper);
    match fs::DirBuilder::new().mode(0o700).create(&upper) {
        Ok(()) => {
            // The root of an overlay looks like its upper directory.
            chown(&upper, Some(tree.uid()), Some(tree.gid()))?;
            let mode = tree.permissions().mode() & 0o7777;
            fs::set_permissions(&upper, fs::Permissions::from_mode(mode))?;
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    fs::DirBuilder::new().mode(0o700).create(state.join(layers.work))
}

/// In a run's directory: what a staged run needs there before anything is mounted.
pub(crate) fn lay(plan: &Plan, state: &Path, workspace: &fs::Metadata) -> Result<(), SysError> {
    let made = |layers, tree: &fs::Metadata| {
        make_layers(state, layers, tree).map_err(|e| SysError::on("mkdir", state.display(), e))
    };
    let settle = |repository, layer| {
        repository::settle(repository, &state.join(layer))
            .map_err(|e| SysError::on("write", state.display(), e))
    };
    if plan.copies() {
        let Some(repository) = &plan.repository else { return Ok(()) };
        return settle(repository, REPOSITORY_LAYERS.copy);
    }
    made(WORKSPACE_LAYERS, workspace)?;
    let Some(repository) = &plan.repository else { return Ok(()) };
    let path = &repository.source.real;
    let meta = fs::symlink_metadata(path).map_err(|e| SysError::on("stat", path.display(), e))?;
    made(REPOSITORY_LAYERS, &meta)?;
    settle(repository, REPOSITORY_LAYERS.upper)
}

/// The workspace in the way of the plan, attached nowhere.
pub(crate) fn make(
    plan: &WorkspacePlan,
    state: BorrowedFd<'_>,
    identity: &Identity,
    depth: Depth,
) -> Result<OwnedFd, SysError> {
    let source = open_pinned(&plan.source)?;
    match mode(plan) {
        Mode::Stage => {
            let tree = Tree { source, layers: WORKSPACE_LAYERS };
            apart(tree, &plan.staging, state, identity)
        }
        Mode::Direct => itself(&source, &plan.source, Attributes::WRITABLE, identity, depth),
        Mode::Readonly => itself(&source, &plan.source, Attributes::READONLY, identity, depth),
    }
}

/// In the parent, which has time for it while the new process furnishes its root: the same, where that is an overlay
/// whose layers need no place in anybody's tree. None where it is for the new process to make.
pub(crate) fn make_ahead(
    plan: &WorkspacePlan,
    state: BorrowedFd<'_>,
    identity: &Identity,
) -> Result<Option<OwnedFd>, SysError> {
    let is_overlay = mode(plan) == Mode::Stage && plan.staging.is_overlay();
    if !is_overlay || identity.has_user_namespace() {
        return Ok(None);
    }
    let source = open_pinned(&plan.source)?;
    Sides::detached(source.as_fd(), state, identity)?.overlay(WORKSPACE_LAYERS)
}

/// Attaches it to its place in the root.
pub(crate) fn put(root: &Root, plan: &WorkspacePlan, mount: &OwnedFd) -> Result<(), SysError> {
    let place = root.place(&plan.target, PlaceKind::Directory)?;
    attach(mount, place, &plan.target.display())
}

fn mode(plan: &WorkspacePlan) -> Mode {
    if weakened(Weakness::Direct) { Mode::Direct } else { plan.mode }
}

pub(crate) fn itself(
    source: &OwnedFd,
    path: &HostPath,
    attributes: Attributes,
    identity: &Identity,
    depth: Depth,
) -> Result<OwnedFd, SysError> {
    let mount = clone_mount(source, &path.real.display(), depth)?;
    set_attributes(&mount, attributes, depth, identity.owners())?;
    Ok(mount)
}

/// A tree of the host that is to be staged.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) source: OwnedFd,
    pub(crate) layers: Layers,
}

/// A tree whose writes are kept apart from it, in the way of the plan.
pub(crate) fn apart(
    tree: Tree,
    staging: &Staging,
    state: BorrowedFd<'_>,
    identity: &Identity,
) -> Result<OwnedFd, SysError> {
    let Tree { source, layers } = tree;
    match staging {
        Staging::Overlay => staged(source, state, layers, identity),
        Staging::Copy { .. } => copied(state, layers),
    }
}

/// A copy is made with the owners that it is to have inside, so that it needs no map of them.
fn copied(state: BorrowedFd<'_>, layers: Layers) -> Result<OwnedFd, SysError> {
    let copy = open_beneath(state, Path::new(layers.copy))?;
    let mount = clone_mount(&copy, &layers.copy, Depth::One)?;
    set_attributes(&mount, Attributes::WRITABLE, Depth::One, None)?;
    Ok(mount)
}

/// The host tree below, everything written above it.
pub(crate) fn staged(
    source: OwnedFd,
    state: BorrowedFd<'_>,
    layers: Layers,
    identity: &Identity,
) -> Result<OwnedFd, SysError> {
    if identity.has_user_namespace() {
        return overlay(source.as_fd(), state, layers, identity);
    }
    let sides = Sides::detached(source.as_fd(), state, identity)?;
    let made = sides.overlay(layers)?;
    // Attached to what will be let go with the host's root, each over a directory that nobody looks into through that
    // mount: there all go at once. A mount that is let go by itself the kernel waits for, processor by processor. Before
    // Linux 6.15 layers have to be attached, too.
    for (mount, over) in [(&sides.lower, layers.upper), (&sides.state, layers.work)] {
        attach(mount, open_beneath(state, Path::new(over))?, &over)?;
    }
    match made {
        Some(mount) => Ok(mount),
        None => overlay(sides.lower.as_fd(), sides.state.as_fd(), layers, identity),
    }
}

/// Copies of the mounts that an overlay's layers lie in, with the owners that they have inside.
#[derive(Debug)]
struct Sides {
    lower: OwnedFd,
    state: OwnedFd,
}

impl Sides {
    fn detached(
        source: BorrowedFd<'_>,
        state: BorrowedFd<'_>,
        identity: &Identity,
    ) -> Result<Self, SysError> {
        let copy = |of, attributes, subject: &str| {
            let mount = clone_mount(of, &subject, Depth::One)?;
            set_attributes(&mount, attributes, Depth::One, identity.owners())?;
            Ok(mount)
        };
        let lower = copy(source, Attributes::READONLY, "lower layer")?;
        Ok(Self { lower, state: copy(state, Attributes::WRITABLE, "upper layer")? })
    }

    /// None where the kernel takes layers only from mounts that are attached: it says so before it writes anything.
    fn overlay(&self, layers: Layers) -> Result<Option<OwnedFd>, SysError> {
        let upper = open_beneath(&self.state, Path::new(layers.upper))?;
        let work = open_beneath(&self.state, Path::new(layers.work))?;
        let layers = vec![
            FsOption::File("lowerdir+", self.lower.as_fd()),
            FsOption::File("upperdir", upper.as_fd()),
            FsOption::File("workdir", work.as_fd()),
        ];
        match overlay_of(layers) {
            Ok(mount) => Ok(Some(mount)),
            Err(error) if error.source.raw_os_error() == Some(libc::EINVAL) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn overlay(
    lower: BorrowedFd<'_>,
    state: BorrowedFd<'_>,
    layers: Layers,
    identity: &Identity,
) -> Result<OwnedFd, SysError> {
    let upper = open_beneath(state, Path::new(layers.upper))?;
    let work = open_beneath(state, Path::new(layers.work))?;
    let mut options = vec![
        FsOption::Value("lowerdir", by_descriptor(lower)),
        FsOption::Value("upperdir", by_descriptor(&upper)),
        FsOption::Value("workdir", by_descriptor(&work)),
    ];
    if identity.has_user_namespace() {
        // Without it a user namespace cannot remove a directory of the lower layer.
        options.push(FsOption::Flag("userxattr"));
    }
    overlay_of(options)
}

fn overlay_of(layers: Vec<FsOption<'_>>) -> Result<OwnedFd, SysError> {
    let mut options = layers;
    options.extend([
        // The upper directory is read right after the run or not at all: nothing need reach the disk.
        FsOption::Flag("volatile"),
        // The upper directory says all there is to say: a renamed directory is copied by whoever
        // renames it, a changed file is there whole.
        FsOption::Value("redirect_dir", "nofollow".to_owned()),
        FsOption::Value("metacopy", "off".to_owned()),
        FsOption::Value("index", "off".to_owned()),
        FsOption::Value("xino", "off".to_owned()),
    ]);
    let mount = new_filesystem("overlay", &options, Attributes::WRITABLE)?;
    // A scratch space that the kernel cannot use makes an overlay read-only without a word.
    let flags = fstatvfs(&mount).map_err(|e| SysError::on("fstatvfs", "overlay", e))?.f_flag;
    if flags.contains(StatVfsMountFlags::RDONLY) {
        return Err(SysError::on("fsmount", "overlay: read-only", Errno::ROFS));
    }
    Ok(mount)
}
