//! The one resolver of paths below a workspace.
//!
//! A [`Workspace`] is a directory held open. [`Workspace::place`] finds the directory that a path is in,
//! by `openat2` with every link refused and no way out, and everything after that works on the open
//! directory and one name. So nobody who swaps a directory for a link meanwhile can lead us elsewhere.
//!
//! Deliberately absent: a way without `openat2`. A kernel that lacks it is refused.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::ChangePath;
use cofferdam_core::inert::Inert;
use cofferdam_core::mount::Identity;
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use super::seen::{Owner, Seen};

/// A workspace's directory, held open.
#[derive(Debug)]
pub struct Workspace {
    path: PathBuf,
    root: OwnedFd,
    identity: Identity,
    owner: Owner,
}

/// A name in a directory that is held open. There need not be anything of that name.
#[derive(Debug)]
pub(crate) struct Place<'p> {
    pub(crate) dir: OwnedFd,
    pub(crate) name: &'p OsStr,
}

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("cannot open the workspace {}", Inert::path(.path))]
    Open { path: PathBuf, source: io::Error },
    #[error("this kernel has no openat2, without which nothing can be applied safely")]
    NoOpenat2,
    /// Nothing is there to go through.
    #[error("{path}: its directory is not there")]
    NoParent { path: ChangePath },
    #[error("{path}: a directory on the way is a link or a file now")]
    Detour { path: ChangePath },
    #[error("{path}: it lies on another file system than the workspace")]
    OtherFileSystem { path: ChangePath },
    #[error("cannot reach {path}")]
    Io { path: ChangePath, source: io::Error },
}

/// Nothing outside, no link, nothing that is mounted below: how every path of the host is looked up.
pub(super) const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);
/// How something of which nothing is known yet is opened to be read: no link followed, no pipe waited for.
pub(super) const READ_FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
pub(super) const READ_DIRECTORY: OFlags = READ_FILE.union(OFlags::DIRECTORY);
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// What one call takes, with room to spare.
const LONGEST_CALL: usize = 4000;

impl Workspace {
    /// Opens the workspace at its real path: no part of it may be a link.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let cannot = |errno: Errno| match errno {
            Errno::NOSYS => WorkspaceError::NoOpenat2,
            errno => WorkspaceError::Open { path: path.to_owned(), source: errno.into() },
        };
        let root = openat2(CWD, path, DIRECTORY, Mode::empty(), no_links).map_err(cannot)?;
        let seen = Seen::from(fstat(&root).map_err(cannot)?);
        let identity = Identity { device: seen.dev, inode: seen.ino };
        Ok(Self { path: path.to_owned(), root, identity, owner: seen.owner })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which directory it is, whatever its name.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    pub(crate) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// The directory that `path` is in, and its name there.
    pub(crate) fn place<'p>(&self, path: &'p ChangePath) -> Result<Place<'p>, WorkspaceError> {
        let bytes = path.as_bytes();
        let (parent, name) = match bytes.iter().rposition(|byte| *byte == b'/') {
            None => (&b"."[..], bytes),
            Some(slash) => (&bytes[..slash], &bytes[slash + 1..]),
        };
        let dir = self.walk(parent).map_err(|errno| self.explain(path, errno))?;
        let device = fstat(&dir).map_err(|errno| self.explain(path, errno))?.st_dev;
        if device != self.identity.device {
            return Err(WorkspaceError::OtherFileSystem { path: path.clone() });
        }
        Ok(Place { dir, name: OsStr::from_bytes(name) })
    }

    /// In as few calls as the length allows; each goes on from the directory that the last one opened.
    fn walk(&self, mut rest: &[u8]) -> Result<OwnedFd, Errno> {
        let mut at: Option<OwnedFd> = None;
        loop {
            let (part, after) = if rest.len() <= LONGEST_CALL {
                (rest, None)
            } else {
                let cut = rest[..LONGEST_CALL].iter().rposition(|byte| *byte == b'/');
                // A name is at most 255 bytes long, so there is a slash.
                let cut = cut.ok_or(Errno::NAMETOOLONG)?;
                (&rest[..cut], Some(&rest[cut + 1..]))
            };
            let from = at.as_ref().map_or(self.root.as_fd(), |fd| fd.as_fd());
            let resolve = match weakened(Weakness::LinksFollowed) {
                true => ResolveFlags::empty(),
                false => RESOLVE,
            };
            let next = openat2(from, part, DIRECTORY, Mode::empty(), resolve)?;
            match after {
                None => return Ok(next),
                Some(after) => (at, rest) = (Some(next), after),
            }
        }
    }

    fn explain(&self, path: &ChangePath, errno: Errno) -> WorkspaceError {
        let path = path.clone();
        match errno {
            Errno::NOENT => WorkspaceError::NoParent { path },
            Errno::LOOP | Errno::NOTDIR => WorkspaceError::Detour { path },
            Errno::XDEV => WorkspaceError::OtherFileSystem { path },
            errno => WorkspaceError::Io { path, source: errno.into() },
        }
    }
}

impl Place<'_> {
    /// What stands there; `None` where nothing does.
    pub(crate) fn look(&self) -> io::Result<Option<Seen>> {
        Seen::at(&self.dir, self.name)
    }

    /// The regular file of that name, for reading. Never waits, as for the other end of a FIFO.
    pub(crate) fn open_file(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.dir, self.name, flags | OFlags::NOCTTY, Mode::empty())?;
        Ok(file.into())
    }

    /// Whatever has that name, itself and not what it points to, without a right to read or write it.
    pub(crate) fn hold(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.dir, self.name, flags, Mode::empty())?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn path(text: &str) -> ChangePath {
        ChangePath::new(text).unwrap()
    }

    fn tree() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/b/f"), "x").unwrap();
        let workspace = Workspace::open(&top).unwrap();
        (dir, workspace)
    }

    #[test]
    fn what_is_beneath_is_found() {
        let (_dir, workspace) = tree();
        assert_eq!(workspace.place(&path("a/b/f")).unwrap().look().unwrap().unwrap().size, 1);
        assert!(workspace.place(&path("a/b/g")).unwrap().look().unwrap().is_none());
        assert!(matches!(
            workspace.place(&path("a/c/g")).unwrap_err(),
            WorkspaceError::NoParent { .. }
        ));
    }

    #[test]
    fn no_link_is_followed_not_even_within() {
        let (dir, workspace) = tree();
        symlink("/etc", dir.path().join("out")).unwrap();
        symlink("a", dir.path().join("within")).unwrap();
        for detour in ["out/passwd", "within/b/f", "a/b/f/x"] {
            let error = workspace.place(&path(detour)).unwrap_err();
            assert!(matches!(error, WorkspaceError::Detour { .. }), "{detour}: {error}");
        }
    }

    #[test]
    fn a_workspace_behind_a_link_is_refused_and_another_is_told_apart() {
        let (dir, workspace) = tree();
        let link = dir.path().join("link");
        symlink(dir.path().join("a"), &link).unwrap();
        assert!(matches!(Workspace::open(&link), Err(WorkspaceError::Open { .. })));
        let real = dir.path().canonicalize().unwrap();
        assert_eq!(Workspace::open(&real).unwrap().identity(), workspace.identity());
        assert_ne!(Workspace::open(&real.join("a")).unwrap().identity(), workspace.identity());
    }

    #[test]
    fn a_path_longer_than_one_call_takes_is_found() {
        let (_dir, workspace) = tree();
        let name = "n".repeat(200);
        let mut at = openat(workspace.root(), "a", DIRECTORY, Mode::empty()).unwrap();
        let mut whole = "a".to_owned();
        for _ in 0..40 {
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            at = openat(&at, &name, DIRECTORY, Mode::empty()).unwrap();
            whole = format!("{whole}/{name}");
        }
        rustix::fs::symlinkat("target", &at, "end").unwrap();
        assert!(whole.len() > 8000);
        let found = path(&format!("{whole}/end"));
        assert!(workspace.place(&found).unwrap().look().unwrap().is_some());
    }
}
