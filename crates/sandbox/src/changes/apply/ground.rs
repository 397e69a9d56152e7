//! What steps work on: a workspace, and the slots beside it.
//!
//! [`Ground`] holds the directories open that steps were made in, as far as a process may have so many, so
//! that a step is taken back where it was made, whatever somebody put in the place of its directory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use cofferdam_core::changes::ChangePath;
use rustix::fs::{AtFlags, RenameFlags, fstat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::attributes::DirectoryRecord;
use crate::changes::beneath::{Place, Workspace, WorkspaceError};
use crate::changes::seen::Seen;

/// What steps work on.
#[derive(Debug)]
pub(crate) struct Ground<'w> {
    workspace: &'w Workspace,
    pub(crate) slots: OwnedFd,
    /// Directories that steps were made in, held open: a step is taken back in the very directory that it
    /// was made in, whatever has its name by then.
    held: RefCell<BTreeMap<Option<ChangePath>, Rc<OwnedFd>>>,
}

/// So many are held; a process may have a thousand files open.
const HELD: usize = 400;

impl<'w> Ground<'w> {
    pub(crate) fn new(workspace: &'w Workspace, slots: OwnedFd) -> Self {
        Self { workspace, slots, held: RefCell::default() }
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        self.workspace
    }

    /// Holds the directory of a step. `false` where an earlier step was made in another of that name.
    pub(super) fn hold(&self, path: &ChangePath, place: &Place<'_>) -> io::Result<bool> {
        let mut held = self.held.borrow_mut();
        let parent = path.split().0;
        if let Some(held) = held.get(&parent) {
            let (held, now) = (fstat(&**held)?, fstat(&place.dir)?);
            return Ok((held.st_dev, held.st_ino) == (now.st_dev, now.st_ino));
        }
        if held.len() < HELD {
            held.insert(parent, Rc::new(place.dir.try_clone()?));
        }
        Ok(true)
    }

    /// Where a step was made, or would have been.
    pub(super) fn place_of_made<'p>(
        &self,
        path: &'p ChangePath,
    ) -> Result<Place<'p>, WorkspaceError> {
        let held = self.held.borrow().get(&path.split().0).map(Rc::clone);
        match held.and_then(|dir| dir.try_clone().ok()) {
            Some(dir) => Ok(Place { dir, name: path.name() }),
            None => self.workspace.place(path),
        }
    }

    pub(crate) fn look(&self, slot: u64) -> io::Result<Option<Seen>> {
        Seen::at(&self.slots, slot.to_string())
    }

    /// Makes a directory again: beside its place first, so that it is there whole or not at all.
    pub(super) fn put_directory(
        &self,
        n: u64,
        old: &DirectoryRecord,
        place: &Place<'_>,
    ) -> io::Result<()> {
        let name = format!("again-{n}");
        match unlinkat(&self.slots, &name, AtFlags::REMOVEDIR) {
            Err(Errno::NOENT) => {}
            done => done?,
        }
        // What was in it goes back first; the step before this one closes it again.
        old.open().make(&self.slots, name.as_ref())?;
        let new = RenameFlags::NOREPLACE;
        Ok(renameat_with(&self.slots, &name, &place.dir, place.name, new)?)
    }

    pub(super) fn put(&self, slot: u64, place: &Place<'_>) -> Result<(), Errno> {
        let new = RenameFlags::NOREPLACE;
        renameat_with(&self.slots, slot.to_string(), &place.dir, place.name, new)
    }

    pub(super) fn take(&self, place: &Place<'_>, slot: u64) -> Result<(), Errno> {
        let new = RenameFlags::NOREPLACE;
        renameat_with(&place.dir, place.name, &self.slots, slot.to_string(), new)
    }

    pub(super) fn exchange(&self, slot: u64, place: &Place<'_>) -> Result<(), Errno> {
        let both = RenameFlags::EXCHANGE;
        renameat_with(&self.slots, slot.to_string(), &place.dir, place.name, both)
    }

    /// A directory is removed; another of its name is held once a step is made in it.
    pub(super) fn let_go(&self, path: &ChangePath) {
        self.held.borrow_mut().remove(&Some(path.clone()));
    }
}
