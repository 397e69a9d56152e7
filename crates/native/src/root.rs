//! What the program sees as `/`: a small file system in memory, made up by us, with parts of the host
//! shown in it read-only. What is not put here is not there.
//!
//! - [`system`]: `/usr` and its companions.
//! - [`etc`]: a made-up `/etc`.
//! - [`dev`], [`proc`]: harmless devices, processes of the sandbox only.
//! - [`binds`]: toolchains and mounts that the plan names.
//!
//! Everything is put in place by descriptor, before the program exists.

pub(crate) mod binds;
pub(crate) mod dev;
pub(crate) mod etc;
pub(crate) mod memory;
pub(crate) mod proc;
pub(crate) mod system;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use cofferdam_core::mount::{HostKind, HostPath};
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Uid, mkdirat, mknodat, openat, statat, symlinkat,
};
use rustix::io::Errno;

use crate::identity::Identity;
use crate::sys::SysError;
use crate::sys::mount::{
    Attributes, Depth, FsOption, attach, attach_at, clone_mount, clone_mount_at, new_filesystem,
    open_beneath, set_attributes,
};

/// The root under construction.
#[derive(Debug)]
pub(crate) struct Root {
    fd: OwnedFd,
    /// Where the workspace will stand. Nothing is made in there: it is not ours.
    workspace: PathBuf,
}

/// What a mount point has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    File,
    Directory,
}

impl PlaceKind {
    /// For a mount of this.
    pub(crate) fn of(path: &HostPath) -> Self {
        match path.kind {
            HostKind::Directory => Self::Directory,
            HostKind::File | HostKind::Socket | HostKind::Device | HostKind::Fifo => Self::File,
        }
    }
}

/// Enough for the few files and mount points that a root is made of.
const SIZE: &str = "4m";
const INODES: &str = "4096";

impl Root {
    /// An empty root, attached nowhere.
    pub(crate) fn new(workspace: &Path) -> Result<Self, SysError> {
        let options = [
            FsOption::Value("size", SIZE.to_owned()),
            FsOption::Value("nr_inodes", INODES.to_owned()),
            FsOption::Value("mode", "0755".to_owned()),
        ];
        let fd = new_filesystem("tmpfs", &options, Attributes::WRITABLE)?;
        Ok(Self::of(fd, workspace))
    }

    /// One that is there already.
    pub(crate) fn of(fd: OwnedFd, workspace: &Path) -> Self {
        Self { fd, workspace: workspace.to_owned() }
    }

    /// Attaches it over `over`, in this mount namespace only.
    pub(crate) fn lay_over(&self, over: impl AsFd) -> Result<(), SysError> {
        attach(&self.fd, over, &"root")
    }

    /// A copy with everything that is mounted in it, attached nowhere.
    pub(crate) fn copy(&self) -> Result<OwnedFd, SysError> {
        clone_mount(&self.fd, &"root", Depth::Tree)
    }

    pub(crate) fn directory(&self, path: &str) -> Result<(), SysError> {
        mkdirat(&self.fd, path, Mode::from_raw_mode(0o755))
            .map_err(|e| SysError::on("mkdir", path, e))
    }

    pub(crate) fn file(&self, path: &str, content: &[u8]) -> Result<(), SysError> {
        let fail = |e: Errno| SysError::on("write", path, e);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(&self.fd, path, flags, Mode::from_raw_mode(0o644)).map_err(fail)?;
        // A short write is no failure of its own; the rest of a file this small follows at once.
        let mut left = content;
        while !left.is_empty() {
            left = &left[rustix::io::write(&file, left).map_err(fail)?..];
        }
        Ok(())
    }

    /// An empty file to mount something on.
    pub(crate) fn empty_file(&self, path: &str) -> Result<(), SysError> {
        mknodat(&self.fd, path, FileType::RegularFile, Mode::from_raw_mode(0o444), 0)
            .map_err(|e| SysError::on("mknod", path, e))
    }

    /// Shows a path of the host read-only, under a name that is already there.
    pub(crate) fn bind_readonly(
        &self,
        host: &str,
        path: &str,
        depth: Depth,
    ) -> Result<(), SysError> {
        let mount = clone_mount_at(host, depth)?;
        let access = match weakened(Weakness::SystemWritable) {
            true => Attributes::WRITABLE,
            false => Attributes::READONLY,
        };
        set_attributes(&mount, access, depth, None)?;
        attach_at(mount, &self.fd, path)
    }

    pub(crate) fn symlink(&self, path: &str, target: impl AsRef<Path>) -> Result<(), SysError> {
        symlinkat(target.as_ref(), &self.fd, path).map_err(|e| SysError::on("symlink", path, e))
    }

    /// The place for a mount at `target`, an absolute path inside. It is made where it is missing,
    /// though not inside the workspace; no symlink is followed.
    pub(crate) fn place(&self, target: &Path, kind: PlaceKind) -> Result<OwnedFd, SysError> {
        let relative = target.strip_prefix("/").unwrap_or(target);
        if relative.as_os_str().is_empty() {
            return Err(SysError::on("mount", target.display(), Errno::INVAL));
        }
        match open_beneath(&self.fd, relative) {
            Err(e) if e.source.raw_os_error() == Some(libc::ENOENT) && self.may_make(target) => {}
            answer => return answer,
        }
        let mut dir = open_beneath(&self.fd, Path::new(""))?;
        let names: Vec<_> = relative
            .components()
            .filter_map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
            .collect();
        let made = |e: Errno| SysError::on("mkdir", target.display(), e);
        for (at, name) in names.iter().enumerate() {
            let last = at + 1 == names.len();
            if last && kind == PlaceKind::File {
                let flags = OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
                openat(&dir, *name, flags, Mode::from_raw_mode(0o644)).map_err(made)?;
            } else {
                match mkdirat(&dir, *name, Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(made(errno)),
                }
            }
            dir = open_beneath(&dir, Path::new(name))?;
        }
        Ok(dir)
    }

    /// Whether a place is for us to make, and not the workspace's.
    pub(crate) fn may_make(&self, target: &Path) -> bool {
        !target.starts_with(&self.workspace) || target == self.workspace
    }

    /// A memory file system at a place. It counts against the memory limit as well as its own size.
    pub(crate) fn memory(
        &self,
        place: impl AsFd,
        size: u64,
        mode: &str,
        owner: Option<&Identity>,
        subject: &dyn ToString,
    ) -> Result<(), SysError> {
        let mut options = vec![
            FsOption::Value("size", size.to_string()),
            FsOption::Value("mode", mode.to_owned()),
        ];
        if let Some(owner) = owner {
            options.push(FsOption::Value("uid", owner.uid.to_string()));
            options.push(FsOption::Value("gid", owner.gid.to_string()));
        }
        let mount = new_filesystem("tmpfs", &options, Attributes::WRITABLE)?;
        attach(mount, place, subject)
    }

    /// Nothing of the root itself can be changed from here on; where the plan wants it writable, it
    /// becomes the program's own instead.
    pub(crate) fn finish(&self, access: RootAccess, owner: &Identity) -> Result<(), SysError> {
        match access {
            RootAccess::Readonly => {
                set_attributes(&self.fd, Attributes::READONLY, Depth::One, None)
            }
            RootAccess::Writable => {
                let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
                rustix::fs::fchown(&self.fd, Some(uid), Some(gid))
                    .map_err(|e| SysError::on("chown", "/", e))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootAccess {
    Readonly,
    Writable,
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// An empty file and an empty directory, read-only, to be laid over what must not be seen.
#[derive(Debug)]
pub(crate) struct Covers {
    file: OwnedFd,
    directory: OwnedFd,
}

impl Covers {
    const FILE: &str = "run/hidden/file";
    const DIRECTORY: &str = "run/hidden/directory";

    pub(crate) fn new(root: &Root) -> Result<Self, SysError> {
        root.directory("run/hidden")?;
        root.directory(Self::DIRECTORY)?;
        root.empty_file(Self::FILE)?;
        for path in [Self::FILE, Self::DIRECTORY] {
            let place = open_beneath(root, Path::new(path))?;
            let mount = clone_mount(&place, &path, Depth::One)?;
            set_attributes(&mount, Attributes::KERNEL_READONLY, Depth::One, None)?;
            // Attached, because only an attached mount can be cloned again on older kernels.
            attach(&mount, place, &path)?;
        }
        Self::of(root)
    }

    /// Those that a root has already.
    pub(crate) fn of(root: &Root) -> Result<Self, SysError> {
        let open = |path| open_beneath(root, Path::new(path));
        Ok(Self { file: open(Self::FILE)?, directory: open(Self::DIRECTORY)? })
    }

    /// Lays the right one over the very thing that `place` is open on.
    pub(crate) fn hide(&self, place: &OwnedFd, subject: &dyn ToString) -> Result<(), SysError> {
        let stat =
            rustix::fs::fstat(place).map_err(|e| SysError::on("fstat", subject.to_string(), e))?;
        attach(self.copy(stat.st_mode, subject)?, place, subject)
    }

    /// The same for a name in the root, where there is such a name.
    pub(crate) fn hide_in(&self, root: &Root, path: &str) -> Result<(), SysError> {
        match statat(&root.fd, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => attach_at(self.copy(stat.st_mode, &path)?, &root.fd, path),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(SysError::on("stat", path, errno)),
        }
    }

    fn copy(&self, mode: u32, subject: &dyn ToString) -> Result<OwnedFd, SysError> {
        let is_dir = FileType::from_raw_mode(mode).is_dir();
        let cover = if is_dir { &self.directory } else { &self.file };
        clone_mount(cover, subject, Depth::One)
    }
}
