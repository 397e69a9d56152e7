//! Mounts by descriptor: made apart from the tree, given their attributes, and only then attached.
//!
//! Nothing here takes a path of the host as text that the kernel parses: options with commas, colons
//! or bytes that are no UTF-8 in them cannot be misread. See `fsopen(2)`, `mount_setattr(2)`.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use cofferdam_core::mount::HostPath;
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_fd, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount,
    open_tree,
};

use super::SysError;

/// What a mount lets happen, whatever its files say. No mount of ours honours set-id bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attributes(MountAttrFlags);

impl Attributes {
    pub(crate) const WRITABLE: Self =
        Self(MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV));
    pub(crate) const READONLY: Self =
        Self(Self::WRITABLE.0.union(MountAttrFlags::MOUNT_ATTR_RDONLY));
    /// For a kernel's own file system, which holds nothing to execute.
    pub(crate) const KERNEL: Self = Self(Self::WRITABLE.0.union(MountAttrFlags::MOUNT_ATTR_NOEXEC));
    pub(crate) const KERNEL_READONLY: Self =
        Self(Self::KERNEL.0.union(MountAttrFlags::MOUNT_ATTR_RDONLY));
    /// For a device node: read-only keeps its owner and mode, not the device, from being written.
    pub(crate) const DEVICE: Self = Self(
        MountAttrFlags::MOUNT_ATTR_NOSUID
            .union(MountAttrFlags::MOUNT_ATTR_NOEXEC)
            .union(MountAttrFlags::MOUNT_ATTR_RDONLY),
    );
    pub(crate) const DEVICE_FS: Self =
        Self(MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NOEXEC));
}

/// How much of a tree is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// This mount, without what is mounted below it.
    One,
    /// With everything below it. In a user namespace of our own the kernel gives out nothing less:
    /// what a mount covers must stay covered.
    Tree,
}

/// Opens exactly the file that the plan was made for: no symlink on the way, the same device and inode.
pub(crate) fn open_pinned(path: &HostPath) -> Result<OwnedFd, SysError> {
    let name = || path.real.display();
    let fd = openat2(
        CWD,
        &*path.real,
        OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )
    .map_err(|e| SysError::on("openat2", name(), e))?;
    let stat = fstat(&fd).map_err(|e| SysError::on("fstat", name(), e))?;
    if (stat.st_dev, stat.st_ino) != (path.identity.device, path.identity.inode) {
        // Another file stands under this name now.
        return Err(SysError::on("openat2", name(), rustix::io::Errno::STALE));
    }
    Ok(fd)
}

/// A copy of the mount that `of` lies in, beginning at `of` and attached nowhere.
pub(crate) fn clone_mount(
    of: impl AsFd,
    subject: &dyn ToString,
    depth: Depth,
) -> Result<OwnedFd, SysError> {
    let deep = match depth {
        Depth::One => OpenTreeFlags::empty(),
        Depth::Tree => OpenTreeFlags::AT_RECURSIVE,
    };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(of, c"", flags | deep).map_err(|e| SysError::on("open_tree", subject.to_string(), e))
}

/// A copy of a mount, beginning at a path of the host that only root can change, attached nowhere. Where
/// the path is a link, the link itself.
pub(crate) fn clone_mount_at(path: &str, depth: Depth) -> Result<OwnedFd, SysError> {
    let deep = match depth {
        Depth::One => OpenTreeFlags::empty(),
        Depth::Tree => OpenTreeFlags::AT_RECURSIVE,
    };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(CWD, path, flags | deep).map_err(|e| SysError::on("open_tree", path, e))
}

/// Adds attributes to a mount, and a mapping of owners if there is one. What is mounted elsewhere later does not
/// come to it.
pub(crate) fn set_attributes(
    mount: impl AsFd,
    attributes: Attributes,
    depth: Depth,
    owners: Option<BorrowedFd<'_>>,
) -> Result<(), SysError> {
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        userns_fd: u64,
    }
    let idmap = if owners.is_some() { MountAttrFlags::MOUNT_ATTR_IDMAP.bits() } else { 0 };
    let kept = if weakened(Weakness::SetIdMounts) {
        MountAttrFlags::MOUNT_ATTR_NOSUID
    } else {
        MountAttrFlags::empty()
    };
    let attr = MountAttr {
        set: u64::from(attributes.0.difference(kept).bits() | idmap),
        clear: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: owners.map_or(0, |fd| u64::from(fd.as_raw_fd().cast_unsigned())),
    };
    let deep = if depth == Depth::Tree { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the structure is the kernel's first version of it, initialised, and lives through the
    // call, which only reads it; the size that is passed is its own.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | deep,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    let call = if owners.is_some() { "mount_setattr (id-mapped)" } else { "mount_setattr" };
    if answer == 0 { Ok(()) } else { Err(SysError::new(call, io::Error::last_os_error())) }
}

/// Puts a detached mount onto the very directory or file that `place` is open on.
pub(crate) fn attach(
    mount: impl AsFd,
    place: impl AsFd,
    subject: &dyn ToString,
) -> Result<(), SysError> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, c"", place, c"", flags)
        .map_err(|e| SysError::on("move_mount", subject.to_string(), e))
}

/// The same by name, in a directory whose every name we made ourselves.
pub(crate) fn attach_at(mount: impl AsFd, dir: impl AsFd, path: &str) -> Result<(), SysError> {
    move_mount(mount, c"", dir, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(|e| SysError::on("move_mount", path, e))
}

/// An option of a new file system.
#[derive(Debug, Clone)]
pub(crate) enum FsOption<'a> {
    Flag(&'a str),
    Value(&'a str, String),
    /// Where the kernel takes a file itself in the place of its path.
    File(&'a str, BorrowedFd<'a>),
}

/// A new file system, attached nowhere. Its root can be worked in by descriptor.
pub(crate) fn new_filesystem(
    kind: &str,
    options: &[FsOption<'_>],
    attributes: Attributes,
) -> Result<OwnedFd, SysError> {
    let context =
        fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).map_err(|e| SysError::on("fsopen", kind, e))?;
    for option in options {
        let (key, answer) = match option {
            FsOption::Flag(key) => (key, fsconfig_set_flag(&context, *key)),
            FsOption::Value(key, value) => {
                (key, fsconfig_set_string(&context, *key, value.as_str()))
            }
            FsOption::File(key, file) => (key, fsconfig_set_fd(&context, *key, file)),
        };
        answer.map_err(|e| SysError::on("fsconfig", format!("{kind}: {key}"), e))?;
    }
    fsconfig_create(&context).map_err(|e| {
        let said = kernel_log(&context);
        SysError::on("fsconfig", format!("{kind}: create{said}"), e)
    })?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes.0)
        .map_err(|e| SysError::on("fsmount", kind, e))
}

/// What the kernel had to say about a file system that it would not make.
fn kernel_log(context: &OwnedFd) -> String {
    let mut said = String::new();
    let mut buffer = [0; 512];
    // Each read gives one message; without any left it fails.
    while let Ok(n @ 1..) = rustix::io::read(context, &mut buffer) {
        said.push_str(": ");
        said.push_str(String::from_utf8_lossy(&buffer[..n]).trim());
    }
    said
}

/// A name for `fd` that the kernel takes where it wants a path.
pub(crate) fn by_descriptor(fd: impl AsFd) -> String {
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())
}

/// Opens `path`, relative to `dir`, without following a symlink and without leaving `dir`.
pub(crate) fn open_beneath(dir: impl AsFd, path: &Path) -> Result<OwnedFd, SysError> {
    openat2(
        dir,
        if path.as_os_str().is_empty() { Path::new(".") } else { path },
        OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH,
    )
    .map_err(|e| SysError::on("openat2", path.display(), e))
}
