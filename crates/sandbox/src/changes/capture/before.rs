//! What stood at a path when the run began.
//!
//! It is read from the host's tree, now: a file whose ctime is not after the base moment is what it was
//! then. Of one that changed since, what was [saved](crate::changes::bases) while the program ran is
//! taken, or its content is unknown. Where the run went on from another, that run's `before` stands.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt as _;

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::changes::{ChangePath, Content, ContentHash, FileNode, Node, Special};
use cofferdam_core::paths::Arg;
use rustix::fs::{FileType, Stat, fstat, readlinkat};

use super::content::{bytes_of, hash};
use super::{CaptureError, Dir, Inherited, changed_at, size_of};
use crate::changes::bases::Saved;
use crate::changes::deposit::Deposit;
use crate::changes::halt::Halt;

#[derive(Debug)]
pub(crate) struct Befores<'a> {
    base: Moment,
    saved: Saved,
    inherited: Option<Inherited<'a>>,
    /// So many more bytes of deleted files are kept. Whoever removes a tree of dependencies is not to wait
    /// for a copy of it; the hashes are known all the same.
    room: u64,
    halt: &'a Halt<'a>,
}

const ROOM: u64 = 64 * 1024 * 1024;

/// What was found, and what of it there is to keep.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) node: Node,
    keep: Keep,
}

#[derive(Debug)]
enum Keep {
    Nothing,
    Bytes(ContentHash, Vec<u8>),
    /// It lies among the inherited objects.
    Inherited(ContentHash),
}

/// What becomes of the path: of what is deleted, not everything is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Changed,
    Deleted,
}

impl<'a> Befores<'a> {
    pub(crate) fn new(
        base: Moment,
        saved: Saved,
        inherited: Option<Inherited<'a>>,
        halt: &'a Halt<'a>,
    ) -> Self {
        Self { base, saved, inherited, room: ROOM, halt }
    }

    pub(super) fn halt(&self) -> &'a Halt<'a> {
        self.halt
    }

    pub(super) fn base(&self) -> Moment {
        self.base
    }

    /// What stood at `path`, which is `name` in `dir`, where the host has that directory. `stat` is what
    /// the host has there now.
    pub(super) fn find(
        &mut self,
        dir: Option<&Dir>,
        name: &OsStr,
        path: &ChangePath,
        stat: Option<&Stat>,
    ) -> Result<Option<Before>, CaptureError> {
        if let Some(inherited) = &mut self.inherited
            && let Some(before) = inherited.before(path)?
        {
            return Ok(before.map(inherit));
        }
        let (Some(dir), Some(stat)) = (dir, stat) else { return self.saved(path) };
        let is_later = changed_at(stat) > self.base;
        let fail = CaptureError::io("read", path.as_path());
        let node = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                if !is_later && let Some(before) = self.file(dir, name).map_err(fail)? {
                    return Ok(Some(before));
                }
                return match self.saved(path)? {
                    Some(saved) => Ok(Some(saved)),
                    None => Ok(Some(unknown(stat))),
                };
            }
            FileType::Directory => Node::Directory { mode: stat.st_mode.into() },
            FileType::Symlink if is_later => match self.saved(path)? {
                Some(saved) => return Ok(Some(saved)),
                // No link leads nowhere at all: this one is like none.
                None => Node::Symlink { target: "".into() },
            },
            FileType::Symlink => symlink(dir, name).map_err(fail)?,
            kind => Node::Special { special: special(kind) },
        };
        Ok(Some(Before { node, keep: Keep::Nothing }))
    }

    fn saved(&mut self, path: &ChangePath) -> Result<Option<Before>, CaptureError> {
        let node = self.saved.get(path).map_err(CaptureError::io("read", "bases"))?;
        Ok(node.map(|node| Before { node, keep: Keep::Nothing }))
    }

    /// A file of the host, or `None` where it changed while it was read.
    fn file(&self, dir: &Dir, name: &OsStr) -> io::Result<Option<Before>> {
        let (fd, stat) = match dir.file(name) {
            Ok(opened) => opened,
            // Not for us to read, hidden under a mount, or gone: nobody knows what it held.
            Err(_) => return Ok(None),
        };
        let mut file = File::from(fd);
        let (content, keep) = match bytes_of(&mut file, &stat)? {
            Some(bytes) => {
                let hash = ContentHash::of(&bytes);
                (Content::Kept(hash), Keep::Bytes(hash, bytes))
            }
            None => match hash(&mut file, &stat, self.halt)? {
                Some(hash) => (Content::Known(hash), Keep::Nothing),
                None => (Content::Unknown, Keep::Nothing),
            },
        };
        let now = fstat(&file)?;
        if changed_at(&now) > self.base || size_of(&now) != size_of(&stat) {
            return Ok(None);
        }
        let node =
            FileNode { mode: stat.st_mode.into(), size: size_of(&stat), content, link: None };
        Ok(Some(Before { node: Node::File(node), keep }))
    }

    /// The node as it stands in the manifest, its content among the objects.
    pub(super) fn keep(
        &mut self,
        before: Before,
        fate: Fate,
        deposit: &mut Deposit,
    ) -> Result<Node, CaptureError> {
        let Before { mut node, keep } = before;
        let (hash, kept) = match keep {
            Keep::Nothing => return Ok(node),
            Keep::Bytes(hash, bytes) => {
                let fits = fate == Fate::Changed || self.take_room(bytes.len() as u64);
                let kept = fits.then(|| deposit.bytes(hash, &bytes)).transpose();
                (hash, kept.map_err(|source| CaptureError::Keep { hash, source })?.is_some())
            }
            Keep::Inherited(hash) => {
                let objects = self.inherited.as_ref().map(|inherited| &inherited.objects);
                // One that is lost is only missing as a base for merges.
                let kept = objects.is_some_and(|objects| {
                    let from = objects.path(hash);
                    let file = objects.open(hash);
                    let link = |file| deposit.link(hash, rustix::fs::CWD, from.as_os_str(), &file);
                    file.and_then(link).is_ok()
                });
                (hash, kept)
            }
        };
        if !kept && let Node::File(file) = &mut node {
            file.content = Content::Known(hash);
        }
        Ok(node)
    }

    fn take_room(&mut self, bytes: u64) -> bool {
        let left = self.room.checked_sub(bytes);
        self.room = left.unwrap_or(self.room);
        left.is_some()
    }
}

fn inherit(node: Node) -> Before {
    let keep = match &node {
        Node::File(FileNode { content: Content::Kept(hash), .. }) => Keep::Inherited(*hash),
        _ => Keep::Nothing,
    };
    Before { node, keep }
}

fn unknown(stat: &Stat) -> Before {
    let (mode, size) = (stat.st_mode.into(), size_of(stat));
    let node = FileNode { mode, size, content: Content::Unknown, link: None };
    Before { node: Node::File(node), keep: Keep::Nothing }
}

pub(super) fn symlink(dir: &Dir, name: &OsStr) -> io::Result<Node> {
    let target = readlinkat(dir.fd()?, name, Vec::new())?.into_bytes();
    Ok(Node::Symlink { target: Arg(std::ffi::OsString::from_vec(target)) })
}

pub(super) fn special(kind: FileType) -> Special {
    match kind {
        FileType::Fifo => Special::Fifo,
        FileType::Socket => Special::Socket,
        FileType::BlockDevice => Special::BlockDevice,
        _ => Special::CharDevice,
    }
}
