//! Builds an upper directory from entries, or changes a copy of the tree by them.
//!
//! Where a directory was deleted, each of its files is deleted first; if the host then has nothing else in
//! it, the directory is deleted as one. A file that the host got there since is so left alone.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::{ChangePath, Content, Entry, FileNode, Node, Special};
use cofferdam_native::staging::stand_in;
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid, XattrFlags, chmodat, chownat, fchmod,
    fchown, fsetxattr, linkat, mkdirat, mknodat, openat, openat2, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::ResumeError;
use crate::changes::Objects;
use crate::changes::beneath::RESOLVE;
use crate::changes::capture::Marks;
use crate::changes::duplicate::duplicate;
use crate::tree::{Names, remove_tree_at};

/// Where a program will find what an earlier one left.
#[derive(Debug, Clone)]
pub(super) enum Ground {
    /// An upper directory, to be made: what is not in it is the host's.
    Upper(PathBuf),
    /// A copy of the host's tree.
    Copy(PathBuf),
}

#[derive(Debug)]
pub(super) struct Builder {
    is_copy: bool,
    top: OwnedFd,
    host: OwnedFd,
    objects: Objects,
    owner: (Uid, Gid),
    marks: Marks,
    /// The directory that was written to last, with those that lead to it.
    way: Vec<(OsString, OwnedFd)>,
    /// What stands here is no directory, so nothing below it is there.
    covered: Option<ChangePath>,
    /// Deleted directories, outer ones first, that become whiteouts when all below them was seen.
    fading: Vec<ChangePath>,
    /// Directories that get their mode at the end, lest it keep us out.
    closed: Vec<(ChangePath, Mode)>,
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Builder {
    /// In `upper`, which becomes the ground, or is it.
    pub(super) fn new(
        ground: &Ground,
        upper: &Path,
        workspace: &Path,
        objects: Objects,
    ) -> Result<Self, ResumeError> {
        let fail = |path| ResumeError::io::<Errno>("open", path);
        let is_copy = matches!(ground, Ground::Copy(_));
        if !is_copy {
            let made = std::fs::DirBuilder::new().mode(0o700).create(upper);
            made.map_err(ResumeError::io("create", upper))?;
        }
        let top = openat(CWD, upper, DIRECTORY, Mode::empty()).map_err(fail(upper))?;
        let host = openat(CWD, workspace, DIRECTORY, Mode::empty()).map_err(fail(workspace))?;
        let meta = std::fs::metadata(workspace).map_err(ResumeError::io("read", workspace))?;
        let inside = |id| if is_copy { stand_in(id) } else { id };
        let owner = (Uid::from_raw(inside(meta.uid())), Gid::from_raw(inside(meta.gid())));
        // The root of an overlay looks like its upper directory.
        fchown(&top, Some(owner.0), Some(owner.1))
            .and_then(|()| fchmod(&top, Mode::from_raw_mode(meta.mode() & 0o7777)))
            .map_err(ResumeError::io("prepare", upper))?;
        let marks = Marks::ours().map_err(ResumeError::io("read", "/proc/self"))?;
        let (way, fading, closed) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { is_copy, top, host, objects, owner, marks, way, covered: None, fading, closed })
    }

    /// Puts one entry in its place. Entries come in order.
    pub(super) fn add(&mut self, entry: &Entry) -> Result<(), ResumeError> {
        let path = &entry.path;
        if self.covered.as_ref().is_some_and(|covered| path.is_within(covered)) {
            return Ok(());
        }
        self.fade(Some(path))?;
        let put = match &entry.after {
            None => self.delete(path),
            Some(node) => {
                if !matches!(node, Node::Directory { .. }) {
                    self.covered = Some(path.clone());
                }
                self.put(path, node)
            }
        };
        put.map_err(|error| match error {
            Fault::Sys(source) => ResumeError::io("stage", path.as_path())(source),
            Fault::NotKept => ResumeError::NotKept { path: path.as_path().to_owned() },
        })
    }

    pub(super) fn is_on_host(&self, path: &ChangePath) -> Result<bool, ResumeError> {
        let found = self.on_host(path).map_err(ResumeError::io("look at", path.as_path()))?;
        Ok(found.is_some())
    }

    pub(super) fn finish(mut self) -> Result<(), ResumeError> {
        self.fade(None)?;
        for (path, mode) in std::mem::take(&mut self.closed).iter().rev() {
            let done = self
                .parent(path)
                .and_then(|parent| Ok(chmodat(parent, path.split().1, *mode, AtFlags::empty())?));
            done.map_err(ResumeError::io("close", path.as_path()))?;
        }
        Ok(())
    }

    fn put(&mut self, path: &ChangePath, node: &Node) -> Result<(), Fault> {
        let (name, host, owner) = (path.split().1.to_owned(), self.on_host(path)?, self.owner);
        let (objects, marks, is_copy) = (self.objects.clone(), self.marks, self.is_copy);
        let parent = self.parent(path)?;
        if is_copy {
            make_room(parent, &name, node)?;
        }
        match node {
            Node::Directory { mode } => {
                let mode = Mode::from_raw_mode(mode.bits());
                match mkdirat(parent, &name, Mode::RWXU) {
                    Err(Errno::EXIST) if is_copy => {}
                    made => made?,
                }
                let dir = openat(parent, &name, DIRECTORY, Mode::empty())?;
                fchown(&dir, Some(owner.0), Some(owner.1))?;
                if !is_copy && host.is_some_and(|stat| !is_dir(&stat)) {
                    fsetxattr(&dir, marks.opaque(), b"y", XattrFlags::empty())?;
                }
                fchmod(&dir, mode | Mode::RWXU)?;
                if !mode.contains(Mode::RWXU) {
                    self.closed.push((path.clone(), mode));
                }
            }
            Node::File(FileNode { link: Some(first), .. }) => {
                let first = first.clone();
                let parent = parent.try_clone_to_owned()?;
                let from = self.parent(&first)?;
                linkat(from, first.split().1, &parent, &name, AtFlags::empty())?;
            }
            Node::File(FileNode { mode, content: Content::Kept(hash), .. }) => {
                let source = objects.open(*hash)?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = File::from(openat(parent, &name, flags, Mode::RUSR | Mode::WUSR)?);
                duplicate(&source, &file)?;
                fchown(&file, Some(owner.0), Some(owner.1))?;
                fchmod(&file, Mode::from_raw_mode(mode.bits()))?;
            }
            Node::File(_) => return Err(Fault::NotKept),
            Node::Symlink { target } => {
                symlinkat(&target.0, parent, &name)?;
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                chownat(parent, &name, Some(owner.0), Some(owner.1), flags)?;
            }
            Node::Special { special: Special::Fifo } => {
                mknodat(parent, &name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                chownat(parent, &name, Some(owner.0), Some(owner.1), flags)?;
            }
            // Nobody listens to it any more, and no program may make a device.
            Node::Special { .. } => {}
        }
        Ok(())
    }

    fn delete(&mut self, path: &ChangePath) -> Result<(), Fault> {
        if self.is_copy {
            return self.remove(path);
        }
        match self.on_host(path)? {
            None => {}
            Some(stat) if is_dir(&stat) => {
                self.directory(path)?;
                self.fading.push(path.clone());
            }
            Some(_) => {
                let parent = self.parent(path)?;
                whiteout(parent, path.split().1)?;
            }
        }
        Ok(())
    }

    /// Deletes from a copy what is no directory; one goes when all below it was seen.
    fn remove(&mut self, path: &ChangePath) -> Result<(), Fault> {
        let name = path.split().1.to_owned();
        let parent = match self.parent(path) {
            // The host has lost it since.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            answer => answer?,
        };
        match unlinkat(parent, &name, AtFlags::empty()) {
            Err(Errno::ISDIR) => self.fading.push(path.clone()),
            Err(Errno::NOENT) => {}
            gone => gone?,
        }
        Ok(())
    }

    /// Deleted directories that `next` does not lie in become whiteouts, inner ones first.
    fn fade(&mut self, next: Option<&ChangePath>) -> Result<(), ResumeError> {
        while let Some(path) = self.fading.last() {
            if next.is_some_and(|next| next.is_within(path)) {
                break;
            }
            let path = path.clone();
            self.fading.pop();
            let done = self.fade_one(&path);
            done.map_err(ResumeError::io("remove", path.as_path()))?;
        }
        Ok(())
    }

    fn fade_one(&mut self, path: &ChangePath) -> std::io::Result<()> {
        if self.is_copy {
            let parent = self.parent(path)?;
            return match unlinkat(parent, path.split().1, AtFlags::REMOVEDIR) {
                // The host got something in there since.
                Err(Errno::NOTEMPTY) => Ok(()),
                gone => Ok(gone?),
            };
        }
        let dir = self.directory(path)?.try_clone_to_owned()?;
        let staged = Names::of(openat(&dir, ".", DIRECTORY, Mode::empty())?.as_fd())?;
        let mut gone = Vec::new();
        for name in staged.iter() {
            let stat = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice {
                return Ok(());
            }
            gone.push(name.to_owned());
        }
        let host = openat2(&self.host, path.as_path(), DIRECTORY, Mode::empty(), RESOLVE)?;
        let there = Names::of(host.as_fd())?;
        if there.iter().any(|name| gone.binary_search(&name.to_owned()).is_err()) {
            return Ok(());
        }
        for name in &gone {
            unlinkat(&dir, name, AtFlags::empty())?;
        }
        let parent = self.parent(path)?;
        unlinkat(parent, path.split().1, AtFlags::REMOVEDIR)?;
        whiteout(parent, path.split().1)
    }

    fn on_host(&self, path: &ChangePath) -> std::io::Result<Option<Stat>> {
        let look = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat2(&self.host, path.as_path(), look, Mode::empty(), RESOLVE) {
            Ok(found) => Ok(Some(rustix::fs::fstat(&found)?)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The directory that a path is in.
    fn parent(&mut self, path: &ChangePath) -> std::io::Result<BorrowedFd<'_>> {
        match path.split().0 {
            None => {
                self.way.clear();
                Ok(self.top.as_fd())
            }
            Some(parent) => self.directory(&parent),
        }
    }

    /// A directory of the upper layer. One that is not there yet is the host's, as a copy-up would make it.
    fn directory(&mut self, path: &ChangePath) -> std::io::Result<BorrowedFd<'_>> {
        let names: Vec<&OsStr> = path.names().collect();
        let common = self.way.iter().zip(&names).take_while(|((a, _), b)| a == *b).count();
        self.way.truncate(common);
        for depth in common..names.len() {
            let name = names[depth];
            let above = self.way.last().map_or(self.top.as_fd(), |(_, fd)| fd.as_fd());
            let dir = match openat(above, name, DIRECTORY, Mode::empty()) {
                Err(Errno::NOENT) => {
                    let host: std::path::PathBuf = names[..=depth].iter().collect();
                    let host = openat2(&self.host, &host, DIRECTORY, Mode::empty(), RESOLVE)?;
                    let stat = rustix::fs::fstat(&host)?;
                    mkdirat(above, name, Mode::RWXU)?;
                    let dir = openat(above, name, DIRECTORY, Mode::empty())?;
                    fchown(
                        &dir,
                        Some(Uid::from_raw(stat.st_uid)),
                        Some(Gid::from_raw(stat.st_gid)),
                    )?;
                    fchmod(&dir, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
                    dir
                }
                answer => answer?,
            };
            self.way.push((name.to_owned(), dir));
        }
        Ok(self.way.last().map_or(self.top.as_fd(), |(_, fd)| fd.as_fd()))
    }
}

#[derive(Debug)]
enum Fault {
    Sys(std::io::Error),
    NotKept,
}

impl<E: Into<std::io::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Sys(error.into())
    }
}

fn is_dir(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// In a copy: removes what stands in the way of `node`. A directory that becomes one stays.
fn make_room(parent: BorrowedFd<'_>, name: &OsStr, node: &Node) -> std::io::Result<()> {
    match unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR) if matches!(node, Node::Directory { .. }) => Ok(()),
        Err(Errno::ISDIR) => remove_tree_at(parent, name),
        Err(errno) => Err(errno.into()),
    }
}

/// What an overlay understands as: nothing is here, whatever is below.
fn whiteout(dir: BorrowedFd<'_>, name: &OsStr) -> std::io::Result<()> {
    Ok(mknodat(dir, name, FileType::CharacterDevice, Mode::empty(), 0)?)
}
