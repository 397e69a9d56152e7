//! What is chosen becomes steps: everything new is staged, and every step stands in the journal.

use std::collections::{BTreeMap, HashMap};

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::changes::{ChangePath, Content, ContentHash, Entry, FileNode, Node};

use super::attributes::{DirectoryRecord, set_mode, set_xattrs, xattrs};
use super::combine::{self, Made};
use super::faults::{Faults, Point};
use super::journal::JournalWriter;
use super::stage::{Source, Stage};
use super::step::{Act, Expected, Step};
use super::survey::{Survey, partly};
use super::{ApplyError, Merging};
use crate::changes::Objects;
use crate::changes::beneath::{Place, Workspace};
use crate::changes::conflict::{Standing, look};
use crate::changes::ledger::Ledger;
use crate::changes::rights::{Heritage, as_put, heritage};
use crate::changes::seen::{Kind, Owner, Seen};
use crate::changes::selection::{Part, Selection};

/// Stages entries and writes their steps.
pub(crate) struct Planner<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) base: Moment,
    pub(crate) ledger: &'a Ledger,
    pub(crate) selection: &'a Selection,
    pub(crate) merging: Merging,
    pub(crate) survey: &'a Survey,
    pub(crate) objects: Objects,
    pub(crate) stage: Stage,
    pub(crate) journal: JournalWriter,
    pub(crate) faults: &'a mut dyn Faults,
    /// Entries of which only a part is put.
    pub(crate) partly: BTreeMap<u64, Node>,
    pub(crate) merged: u64,
    /// Slots of files that have more names.
    pub(crate) links: HashMap<ChangePath, u64>,
    pub(crate) heritage: Option<(Option<ChangePath>, Heritage)>,
}

/// What a file is made of.
enum Bytes {
    Sealed(ContentHash, u64),
    Made(Vec<u8>),
}

impl Planner<'_> {
    /// One entry that was chosen and is not there yet.
    pub(crate) fn entry(&mut self, index: u64, entry: &Entry) -> Result<(), ApplyError> {
        self.faults.before(Point::Stage).map_err(failed(entry))?;
        let fresh = self.survey.is_in_a_new_directory(index);
        let mut after = as_put(entry);
        let seen = if fresh { None } else { self.look(index, entry, after.as_ref())? };
        let bytes = self.content(index, entry, &mut after)?;
        let Some(seen) = seen else {
            return match after {
                Some(node) => self.put(index, entry, node, bytes, None),
                None => Ok(()),
            };
        };
        let place = self.workspace.place(&entry.path)?;
        match (seen.is_dir(), after) {
            (true, Some(Node::Directory { mode })) => self.chmod(index, entry, &seen, mode.bits()),
            (false, None) => self.take(index, entry, &seen),
            (true, None) => self.rmdir(index, entry, &place, &seen),
            (true, Some(node)) => {
                self.rmdir(index, entry, &place, &seen)?;
                self.put(index, entry, node, bytes, None)
            }
            (false, Some(node @ Node::Directory { .. })) => {
                self.take(index, entry, &seen)?;
                self.put(index, entry, node, None, None)
            }
            (false, Some(node)) => {
                if let Some(mode) = self.only_mode(entry, &seen, &node, bytes.as_ref()) {
                    return self.chmod(index, entry, &seen, mode);
                }
                self.put(index, entry, node, bytes, Some(seen))
            }
        }
    }

    /// What is there now. It was looked at before; whoever was faster since wins.
    fn look(
        &self,
        index: u64,
        entry: &Entry,
        after: Option<&Node>,
    ) -> Result<Option<Seen>, ApplyError> {
        let put = partly(self.ledger, index);
        let before = put.as_ref().or(entry.before.as_ref());
        let (standing, seen) = look(self.workspace, entry, before, after, self.base);
        let mergeable = self.merging == Merging::Clean
            && seen.is_some_and(|seen| seen.kind == Kind::File)
            && entry.before.as_ref().and_then(Node::file).is_some();
        match standing {
            Standing::Conflict(words) if !mergeable => {
                Err(ApplyError::Moved { path: entry.path.clone(), words })
            }
            _ => Ok(seen),
        }
    }

    /// Where the file's bytes come from. For hunks and merges, `after` becomes what they make.
    fn content(
        &mut self,
        index: u64,
        entry: &Entry,
        after: &mut Option<Node>,
    ) -> Result<Option<Bytes>, ApplyError> {
        let Some(Node::File(file)) = after else { return Ok(None) };
        let made = if let Part::Hunks(chosen) = self.selection.part(&entry.path) {
            let put = partly(self.ledger, index);
            Some(combine::picked(self.workspace, entry, &self.objects, chosen, put.as_ref())?)
        } else if self.needs_merge(index, entry) {
            self.merged += 1;
            Some(
                combine::merged(self.workspace, entry, &self.objects)?
                    .map_err(|words| ApplyError::Moved { path: entry.path.clone(), words })?,
            )
        } else {
            None
        };
        let Some(Made { bytes, mode }) = made else {
            return match file.content {
                Content::Kept(hash) | Content::Known(hash) => {
                    Ok(Some(Bytes::Sealed(hash, file.size)))
                }
                Content::Unknown => Ok(None),
            };
        };
        let hash = ContentHash::of(&bytes);
        let whole = file.content.hash() == Some(hash);
        let size = bytes.len() as u64;
        *file = FileNode { mode, size, content: Content::Known(hash), link: None };
        if !whole && matches!(self.selection.part(&entry.path), Part::Hunks(_)) {
            self.partly.insert(index, Node::File(file.clone()));
        }
        Ok(Some(Bytes::Made(bytes)))
    }

    fn needs_merge(&self, index: u64, entry: &Entry) -> bool {
        if self.merging != Merging::Clean || entry.before.is_none() {
            return false;
        }
        let put = partly(self.ledger, index);
        let before = put.as_ref().or(entry.before.as_ref());
        let after = as_put(entry);
        let (standing, _) = look(self.workspace, entry, before, after.as_ref(), self.base);
        matches!(standing, Standing::Conflict(_))
    }

    /// The mode, where the bytes are the same and no other name of the file would get it too.
    fn only_mode(
        &self,
        entry: &Entry,
        seen: &Seen,
        node: &Node,
        bytes: Option<&Bytes>,
    ) -> Option<u32> {
        let (Some(Node::File(before)), Node::File(after)) = (&entry.before, node) else {
            return None;
        };
        let same = before.content.hash().is_some() && before.content.hash() == after.content.hash();
        let sealed = matches!(bytes, Some(Bytes::Sealed(..)));
        (same && sealed && seen.links == 1).then(|| after.mode.bits())
    }

    fn chmod(
        &mut self,
        index: u64,
        entry: &Entry,
        seen: &Seen,
        mode: u32,
    ) -> Result<(), ApplyError> {
        // Bits beyond the nine are the host's own.
        let to = seen.mode & 0o7000 | mode;
        self.step(index, entry, Act::Chmod { ino: seen.ino, from: seen.mode, to })
    }

    fn take(&mut self, index: u64, entry: &Entry, seen: &Seen) -> Result<(), ApplyError> {
        let slot = self.stage.slot();
        let old = self.expected(index, entry, seen);
        self.step(index, entry, Act::Take { slot, old })
    }

    fn rmdir(
        &mut self,
        index: u64,
        entry: &Entry,
        place: &Place<'_>,
        seen: &Seen,
    ) -> Result<(), ApplyError> {
        let held = place.hold().map_err(failed(entry))?;
        let old = DirectoryRecord::of(&held, seen).map_err(failed(entry))?;
        if !old.is_open() {
            let (from, to) = (seen.mode, old.open().mode);
            self.step(index, entry, Act::Chmod { ino: seen.ino, from, to })?;
        }
        self.step(index, entry, Act::Rmdir { ino: seen.ino, old })
    }

    /// Stages something new, to go where nothing is or in the place of `old`.
    fn put(
        &mut self,
        index: u64,
        entry: &Entry,
        node: Node,
        bytes: Option<Bytes>,
        old: Option<Seen>,
    ) -> Result<(), ApplyError> {
        let heritage = self.heritage(entry)?;
        let owner = old.map_or(heritage.owner, |seen| seen.owner);
        let slot = self.stage.slot();
        let staged = match &node {
            Node::File(file) => {
                let staged = self.put_file(slot, entry, file, bytes, owner)?;
                if file.link.is_none() && old.is_some_and(|old| old.kind == Kind::File) {
                    self.keep_xattrs(slot, entry).map_err(failed(entry))?;
                }
                staged
            }
            Node::Directory { mode } => {
                let mode = mode.bits() | heritage.group_bit;
                self.stage.directory(slot, mode, owner).map_err(failed(entry))?
            }
            Node::Symlink { target } => {
                self.stage.symlink(slot, &target.0, owner).map_err(failed(entry))?
            }
            Node::Special { .. } => {
                let words = "devices, FIFOs and sockets are never applied".to_owned();
                return Err(ApplyError::Moved { path: entry.path.clone(), words });
            }
        };
        let put = Some(node);
        let act = match old {
            None => Act::Put { slot, staged, put },
            Some(seen) => {
                let old = self.expected(index, entry, &seen);
                Act::Exchange { slot, staged, put, old }
            }
        };
        self.step(index, entry, act)
    }

    /// A file that is replaced keeps the host's own attributes, its access list above all: without it, its
    /// mode would mean something else.
    fn keep_xattrs(&self, slot: u64, entry: &Entry) -> std::io::Result<()> {
        let place = self.workspace.place(&entry.path).map_err(std::io::Error::other)?;
        let kept = match xattrs(&place.hold()?) {
            // Who may not read the file may not read these either.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Ok(()),
            kept => kept?,
        };
        if kept.is_empty() {
            return Ok(());
        }
        let name = slot.to_string();
        let staged = Place { dir: self.stage.slots().try_clone()?, name: name.as_ref() };
        let (held, mode) = (staged.hold()?, staged.look()?.map_or(0o600, |staged| staged.mode));
        set_mode(&held, 0o600)?;
        set_xattrs(&held, &kept)?;
        set_mode(&held, mode)
    }

    fn put_file(
        &mut self,
        slot: u64,
        entry: &Entry,
        file: &FileNode,
        bytes: Option<Bytes>,
        owner: Owner,
    ) -> Result<crate::changes::seen::Mark, ApplyError> {
        let first = file.link.as_ref().and_then(|first| self.links.get(first).copied());
        if let Some(first) = first {
            self.stage.link(first, slot).map_err(failed(entry))?;
            let seen = Seen::at(self.stage.slots(), slot.to_string()).map_err(failed(entry))?;
            return seen
                .map(|seen| seen.mark())
                .ok_or_else(|| failed(entry)(std::io::Error::from(std::io::ErrorKind::NotFound)));
        }
        let mode = file.mode.bits();
        let host = match file.content {
            Content::Known(_) => Some(self.workspace.place(&entry.path)?),
            _ => None,
        };
        let source = match (&bytes, &host) {
            (Some(Bytes::Made(bytes)), _) => Source::Bytes(bytes),
            (Some(Bytes::Sealed(hash, _)), Some(place)) => Source::Host { place, hash: *hash },
            (Some(Bytes::Sealed(hash, size)), None) => {
                Source::Object { objects: &self.objects, hash: *hash, size: *size }
            }
            (None, _) => {
                return Err(failed(entry)(std::io::Error::from(std::io::ErrorKind::NotFound)));
            }
        };
        let staged = self.stage.file(slot, source, mode, owner).map_err(failed(entry))?;
        let group = file.link.as_ref().unwrap_or(&entry.path);
        if self.survey.linked.contains(group) {
            self.links.insert(group.clone(), slot);
        }
        Ok(staged)
    }

    /// What must come out when the entry's place is taken.
    fn expected(&self, index: u64, entry: &Entry, seen: &Seen) -> Expected {
        let put = partly(self.ledger, index);
        let before = put.as_ref().or(entry.before.as_ref()).and_then(Node::file);
        let hash = before.and_then(|file| file.content.hash());
        // With a merge the host's file is not what it was; any later change of it shows by its mark.
        let hash = hash.filter(|_| self.merging == Merging::Never && seen.kind == Kind::File);
        Expected { mark: seen.mark(), ctime: seen.ctime, hash }
    }

    fn heritage(&mut self, entry: &Entry) -> Result<Heritage, ApplyError> {
        let (parent, _) = entry.path.split();
        match &self.heritage {
            Some((known, heritage)) if *known == parent => Ok(*heritage),
            _ => {
                let found = heritage(self.workspace, &entry.path).map_err(failed(entry))?;
                self.heritage = Some((parent, found));
                Ok(found)
            }
        }
    }

    fn step(&mut self, index: u64, entry: &Entry, act: Act) -> Result<(), ApplyError> {
        let step = Step { entry: index, path: entry.path.clone(), act };
        self.journal.push(&step).map_err(failed(entry))
    }
}

fn failed(entry: &Entry) -> impl FnOnce(std::io::Error) -> ApplyError + use<> {
    let path = entry.path.clone();
    move |source| ApplyError::Stage { path, source }
}
