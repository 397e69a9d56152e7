//! Goes through two trees side by side and says what changed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::{ChangePath, Content, Entry, FileNode, Node, Stripped};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::attributes::{self, Marks, Opacity, Said};
use super::before::{Before, Befores, Fate, special, symlink};
use super::union::{Found, Union};
use super::{CaptureError, Dir, Out, Placeholders, Whole, changed_at, content, size_of};
use crate::changes::halt::Halt;
use crate::tree::Names;

/// How the tree that was left is to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reading<'a> {
    /// The upper directory of an overlay: it holds what was written, and marks for what was removed.
    Upper(Marks),
    /// A whole tree, that was a copy of what was there.
    Whole(&'a Whole),
}

/// A walk through one pair of trees.
#[derive(Debug)]
pub(crate) struct Walk<'a, 'b, W> {
    reading: Reading<'b>,
    befores: Befores<'b>,
    placeholders: Placeholders,
    halt: &'b Halt<'b>,
    out: &'a mut Out<W>,
    path: Vec<u8>,
    levels: Vec<Level>,
}

/// A directory that is being walked through.
#[derive(Debug)]
struct Level {
    /// Absent where everything in it was deleted.
    after: Option<Dir>,
    /// Absent where the host has no such directory.
    before: Option<Dir>,
    names: Union,
    /// Length of its own path.
    path: usize,
    below: Below,
    /// Of a whole tree: whether it is the very directory that the copying put here.
    is_placed: bool,
}

/// What became of things that only the tree before has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    /// They are still there.
    Shows,
    /// They are, but for files that are marked in the upper directory.
    Marked,
    /// They are gone.
    Hidden,
}

/// So many levels are held open; of the ones above, directories are opened again on the way back.
const OPEN: usize = 64;

impl<'a, 'b, W: Write> Walk<'a, 'b, W> {
    pub(crate) fn new(
        reading: Reading<'b>,
        befores: Befores<'b>,
        placeholders: Placeholders,
        out: &'a mut Out<W>,
    ) -> Self {
        let halt = befores.halt();
        Self { reading, befores, placeholders, halt, out, path: Vec::new(), levels: Vec::new() }
    }

    /// Writes an entry for everything that is not in `after` as it was in `before`.
    pub(crate) fn run(mut self, after: Dir, before: Dir) -> Result<(), CaptureError> {
        let below = match self.reading {
            Reading::Whole(_) => Below::Hidden,
            Reading::Upper(_) => self.below(Below::Shows, &self.said(&after)?),
        };
        self.enter(Some(after), Some(before), below)?;
        while let Some(level) = self.levels.last_mut() {
            self.path.truncate(level.path);
            if level.path > 0 {
                self.path.push(b'/');
            }
            let begin = self.path.len();
            match level.names.next_onto(&mut self.path) {
                None => self.leave()?,
                Some(found) => {
                    let name = OsString::from_vec(self.path[begin..].to_vec());
                    self.visit(&name, found)?;
                }
            }
        }
        Ok(())
    }

    fn enter(
        &mut self,
        after: Option<Dir>,
        before: Option<Dir>,
        below: Below,
    ) -> Result<(), CaptureError> {
        let names = |dir: Option<&Dir>| dir.map_or_else(|| Ok(Names::default()), Dir::names);
        let here = self.here();
        let upper = names(after.as_ref()).map_err(CaptureError::io("list", &here))?;
        let lower = if below == Below::Hidden { before.as_ref() } else { None };
        let lower = names(lower).map_err(CaptureError::io("list", &here))?;
        if let Some(far) = self.levels.len().checked_sub(OPEN) {
            self.put_away(far);
        }
        let names = Union::new(upper, lower);
        let is_placed = match (self.reading, &after) {
            (Reading::Whole(whole), Some(after)) => whole.is_placed(&self.path, after.id().1),
            _ => false,
        };
        self.levels.push(Level { after, before, names, path: self.path.len(), below, is_placed });
        Ok(())
    }

    /// Closes the directories of a level, as far as the next one leads back to them.
    fn put_away(&mut self, at: usize) {
        let [far, next, ..] = &mut self.levels[at..] else { return };
        for (dir, below) in [(&mut far.after, &next.after), (&mut far.before, &next.before)] {
            if let (Some(dir), Some(_)) = (dir, below) {
                dir.put_away();
            }
        }
    }

    fn leave(&mut self) -> Result<(), CaptureError> {
        let Some(left) = self.levels.pop() else { return Ok(()) };
        let path = self.here();
        let Some(parent) = self.levels.last_mut() else { return Ok(()) };
        for (parent, child) in [(&mut parent.after, left.after), (&mut parent.before, left.before)]
        {
            if let (Some(parent), Some(child)) = (parent, child) {
                let moved = |_| CaptureError::Moved { path: path.clone() };
                parent.take_out(&child).map_err(moved)?;
            }
        }
        Ok(())
    }

    fn here(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(&self.path))
    }

    /// Looks at one name, and into it.
    fn visit(&mut self, name: &OsStr, found: Found) -> Result<(), CaptureError> {
        self.halt.check()?;
        if ChangePath::is_too_long(&self.path) {
            self.out.leave_out();
            return Ok(());
        }
        let path = ChangePath::new(OsStr::from_bytes(&self.path))?;
        let Some(level) = self.levels.last() else { return Ok(()) };
        let below = level.below;
        let fail = |error| CaptureError::io("look at", path.as_path())(error);
        let stat = match &level.before {
            Some(dir) => dir.look(name).map_err(fail)?,
            None => None,
        };
        let after = match (&level.after, found) {
            (Some(dir), Found::After) => self.left(level, dir, name).map_err(fail)?,
            _ => Left::Nothing,
        };
        let is_ours = self.placeholders.contains(path.as_bytes());
        match &after {
            Left::Untouched => return Ok(()),
            Left::File { stat, .. } if is_ours && stat.st_size == 0 => return Ok(()),
            Left::File { stat: left, content, .. }
                if self.placeholders.are_settings(path.as_bytes(), *content)
                    && stat.is_some_and(|host| host.st_mode == left.st_mode) =>
            {
                return Ok(());
            }
            _ => {}
        }
        let before = self.befores.find(level.before.as_ref(), name, &path, stat.as_ref())?;
        let below_host = self.host_dir(name, stat.as_ref())?;
        let is_seen = match (&after, &below_host) {
            // Another file system is mounted there; its root is not the directory that the program saw.
            (Left::Directory { .. }, HostDir::Elsewhere) => false,
            (after, _) => match (self.reading, after) {
                // Of a whole tree nobody can tell whether the host made it since, or it was left out.
                (Reading::Whole(whole), Left::Nothing) => {
                    stat.is_none_or(|stat| changed_at(&stat) <= self.befores.base())
                        && !whole.is_left_out(path.as_bytes())
                }
                (Reading::Whole(whole), Left::Directory { .. }) => {
                    !whole.is_left_out(path.as_bytes())
                }
                _ => true,
            },
        };
        let entry = if is_seen { self.entry(path, before, &after, name)? } else { None };
        match entry {
            Some(entry) if is_ours && matches!(after, Left::Directory { .. }) => {
                self.out.hold(entry);
            }
            Some(entry) => self.out.push(&entry)?,
            None => {}
        }
        let host = match below_host {
            HostDir::Here(dir) => Some(dir),
            HostDir::None | HostDir::Elsewhere => None,
        };
        match after {
            Left::Directory { dir, said, .. } => {
                let below = self.below(below, &said);
                self.enter(Some(dir), host, below)
            }
            _ if host.is_some() => self.enter(None, host, Below::Hidden),
            _ => Ok(()),
        }
    }

    fn below(&self, above: Below, said: &Said) -> Below {
        match (self.reading, above, said.opacity) {
            (Reading::Whole(_), _, _) | (_, Below::Hidden, _) | (_, _, Opacity::Whole) => {
                Below::Hidden
            }
            (_, _, Opacity::Whiteouts) => Below::Marked,
            (_, _, Opacity::None) => Below::Shows,
        }
    }

    /// The entry, if there is one, with its contents kept.
    fn entry(
        &mut self,
        path: ChangePath,
        before: Option<Before>,
        after: &Left,
        name: &OsStr,
    ) -> Result<Option<Entry>, CaptureError> {
        let old = before.as_ref().map(|before| before.node.clone());
        let Some(mut entry) = Entry::between(path, old, after.node()) else { return Ok(None) };
        if let Some(before) = before {
            let fate = if entry.after.is_some() { Fate::Changed } else { Fate::Deleted };
            entry.before = Some(self.befores.keep(before, fate, &mut self.out.deposit)?);
        }
        entry.stripped = after.stripped();
        if let Left::File { stat, file, content: Content::Kept(hash), .. } = after {
            let dir = self.levels.last().and_then(|level| level.after.as_ref());
            let hash = *hash;
            if let Some(dir) = dir {
                let kept = dir.fd().and_then(|dir| self.out.deposit.link(hash, dir, name, file));
                kept.map_err(|source| CaptureError::Keep { hash, source })?;
            }
            if stat.st_nlink > 1 {
                self.out.join((stat.st_dev, stat.st_ino), &mut entry);
            }
        }
        Ok(Some(entry))
    }

    fn marks(&self) -> Option<Marks> {
        match self.reading {
            Reading::Upper(marks) => Some(marks),
            Reading::Whole(_) => None,
        }
    }

    fn said(&self, dir: &Dir) -> Result<Said, CaptureError> {
        let said = dir.fd().and_then(|fd| attributes::read(fd, self.marks()));
        said.map_err(CaptureError::io("read the attributes of", self.here()))
    }

    /// What the program left under a name.
    fn left(&self, level: &Level, dir: &Dir, name: &OsStr) -> std::io::Result<Left> {
        let Some(stat) = dir.look(name)? else { return Ok(Left::Nothing) };
        if let Reading::Whole(whole) = self.reading
            && whole.is_untouched(&self.path, &stat, level.is_placed)
        {
            return Ok(Left::Untouched);
        }
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::CharacterDevice if stat.st_rdev == 0 && self.marks().is_some() => {
                Left::Nothing
            }
            FileType::RegularFile => self.left_file(dir, name, level.below)?,
            FileType::Directory => {
                let below = dir.below(name)?;
                let said = attributes::read(below.fd()?, self.marks())?;
                let mode = match self.reading {
                    Reading::Whole(whole) => whole.mode_of(&self.path, &stat, self.host_mode(name)),
                    Reading::Upper(_) => stat.st_mode,
                };
                Left::Directory { mode, dir: below, said }
            }
            FileType::Symlink => Left::Other(symlink(dir, name)?),
            kind => Left::Other(Node::Special { special: special(kind) }),
        })
    }

    fn left_file(&self, dir: &Dir, name: &OsStr, below: Below) -> std::io::Result<Left> {
        let (fd, stat) = dir.file(name)?;
        let mut file = File::from(fd);
        let said = attributes::read(rustix::fd::AsFd::as_fd(&file), self.marks())?;
        if said.is_whiteout && below == Below::Marked && stat.st_size == 0 {
            return Ok(Left::Nothing);
        }
        let known = match self.reading {
            Reading::Whole(whole) => whole.hash_of(&stat),
            Reading::Upper(_) => None,
        };
        let hash = match known {
            Some(hash) => Some(hash),
            None => content::hash(&mut file, &stat, self.halt)?,
        };
        let content = hash.map_or(Content::Unknown, Content::Kept);
        Ok(Left::File { stat, file, content, said })
    }

    /// The mode of what the host has under a name of the directory that is walked through.
    fn host_mode(&self, name: &OsStr) -> Option<u32> {
        let dir = self.levels.last()?.before.as_ref()?;
        dir.look(name).ok().flatten().map(|stat| stat.st_mode)
    }

    fn host_dir(&self, name: &OsStr, stat: Option<&Stat>) -> Result<HostDir, CaptureError> {
        let dir = self.levels.last().and_then(|level| level.before.as_ref());
        let is_dir = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let (Some(dir), true) = (dir, stat.is_some_and(is_dir)) else { return Ok(HostDir::None) };
        match dir.below(name) {
            Ok(dir) => Ok(HostDir::Here(dir)),
            Err(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
                Ok(HostDir::Elsewhere)
            }
            // Replaced or closed to us meanwhile: then it is not what the program saw.
            Err(error) if is_passing(&error) => Ok(HostDir::None),
            Err(error) => Err(CaptureError::io("open", Path::new(&self.here()))(error)),
        }
    }
}

fn is_passing(error: &std::io::Error) -> bool {
    let passing = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::ACCESS];
    error.raw_os_error().is_some_and(|code| passing.iter().any(|e| e.raw_os_error() == code))
}

/// The host's directory of a name.
#[derive(Debug)]
enum HostDir {
    None,
    Here(Dir),
    /// It is on another file system.
    Elsewhere,
}

/// What the program left under a name.
#[derive(Debug)]
enum Left {
    Nothing,
    /// It is what was put there before the program began.
    Untouched,
    File {
        stat: Stat,
        file: File,
        content: Content,
        said: Said,
    },
    Directory {
        mode: u32,
        dir: Dir,
        said: Said,
    },
    Other(Node),
}

impl Left {
    fn node(&self) -> Option<Node> {
        match self {
            Self::Nothing | Self::Untouched => None,
            Self::File { stat, content, .. } => {
                let (mode, size) = (stat.st_mode.into(), size_of(stat));
                Some(Node::File(FileNode { mode, size, content: *content, link: None }))
            }
            Self::Directory { mode, .. } => Some(Node::Directory { mode: (*mode).into() }),
            Self::Other(node) => Some(node.clone()),
        }
    }

    fn stripped(&self) -> Vec<Stripped> {
        let (mode, said) = match self {
            Self::File { stat, said, .. } => (stat.st_mode, said),
            Self::Directory { mode, said, .. } => (*mode, said),
            Self::Nothing | Self::Untouched | Self::Other(_) => return Vec::new(),
        };
        let bits =
            [(0o4000, Stripped::Setuid), (0o2000, Stripped::Setgid), (0o1000, Stripped::Sticky)];
        let of_mode = bits.into_iter().filter(|(bit, _)| mode & bit != 0).map(|(_, name)| name);
        of_mode.chain(said.stripped.iter().copied()).collect()
    }
}
