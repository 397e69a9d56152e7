//! Steps turned around.

use std::io;
use std::os::fd::OwnedFd;

use cofferdam_core::changes::{ChangePath, Node};
use cofferdam_core::inert::Inert;

use crate::changes::apply::attributes::DirectoryRecord;
use crate::changes::apply::journal::Journal;
use crate::changes::apply::keep;
use crate::changes::apply::slots::{self, SLOTS};
use crate::changes::apply::stage::Stage;
use crate::changes::apply::step::{Act, Expected, Step, count};
use crate::changes::apply::{ApplyError, Refused, Why};
use crate::changes::beneath::{Place, Workspace, WorkspaceError};
use crate::changes::conflict::{difference, hash_of};
use crate::changes::ranges::Ranges;
use crate::changes::seen::{Kind, Seen};

/// The chosen steps of an apply that is to be undone.
pub(super) struct Inverter<'a> {
    workspace: &'a Workspace,
    old: &'a Journal,
    chosen: &'a Ranges,
}

/// A directory that goes, and how many in it go before it.
struct Going {
    path: ChangePath,
    entries: u64,
}

const TOLD: usize = 1000;

impl<'a> Inverter<'a> {
    pub(super) fn new(workspace: &'a Workspace, old: &'a Journal, chosen: &'a Ranges) -> Self {
        Self { workspace, old, chosen }
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = Result<Step, ApplyError>> + '_ {
        let read = |step: io::Result<Step>| step.map_err(ApplyError::io("read", self.old.dir()));
        self.old
            .steps()
            .map(read)
            .filter(|step| step.as_ref().map_or(true, |step| self.chosen.contains(step.entry)))
    }

    /// What is no longer as it was put.
    pub(super) fn check(&self) -> Result<Vec<Refused>, ApplyError> {
        let mut refused = Vec::new();
        let mut going: Vec<Going> = Vec::new();
        let mut coming: Vec<ChangePath> = Vec::new();
        let mut steps = self.steps().peekable();
        while let Some(step) = steps.next() {
            let step = step?;
            while let Some(left) = going.pop_if(|dir| !step.path.is_within(&dir.path)) {
                refused.extend(self.is_full(&left));
            }
            coming.retain(|dir| step.path.is_within(dir));
            // The same entry put something else there: that step is asked, not this one.
            let replaced = matches!(steps.peek(), Some(Ok(next)) if next.entry == step.entry);
            let words = match self.difference(&step, &coming) {
                Ok(_) if replaced => None,
                Ok(words) => words,
                Err(error) => Some(format!("it cannot be looked at: {error}")),
            };
            if let Some(words) = words {
                let words = vec![format!("it is not what was applied: {words}")];
                refused.push(Refused { path: Some(step.path.clone()), why: Why::Conflict, words });
            }
            match &step.act {
                Act::Put { put, .. } => {
                    if let Some(dir) = going.last_mut() {
                        dir.entries += u64::from(step.path.split().0.as_ref() == Some(&dir.path));
                    }
                    if is_directory(put.as_ref()) {
                        going.push(Going { path: step.path, entries: 0 });
                    }
                }
                Act::Rmdir { .. } => coming.push(step.path),
                _ => {}
            }
            if refused.len() >= TOLD {
                return Ok(refused);
            }
        }
        while let Some(left) = going.pop() {
            refused.extend(self.is_full(&left));
        }
        Ok(refused)
    }

    /// What was kept to be put back, and is no longer what was taken.
    pub(super) fn check_kept(&self) -> Result<Vec<Refused>, ApplyError> {
        let dir = self.old.dir().join(SLOTS);
        let slots = slots::reopen(&dir).map_err(ApplyError::io("open", &dir))?;
        // Where there are none, the plan says so of the first that is missing.
        let Some(slots) = slots else { return Ok(Vec::new()) };
        let mut refused = Vec::new();
        for step in self.steps() {
            let step = step?;
            let (Act::Exchange { slot, old, .. } | Act::Take { slot, old }) = &step.act else {
                continue;
            };
            let name = slot.to_string();
            let words = match is_as_taken(&slots, &name, old) {
                Ok(true) => continue,
                Ok(false) => "what was kept of it was written to since".to_owned(),
                Err(error) => format!("what was kept of it cannot be read: {error}"),
            };
            let words = vec![format!("{words}; it is {}", Inert::path(&dir.join(name)))];
            refused.push(Refused { path: Some(step.path), why: Why::Conflict, words });
            if refused.len() >= TOLD {
                break;
            }
        }
        Ok(refused)
    }

    fn is_full(&self, dir: &Going) -> Option<Refused> {
        let place = self.workspace.place(&dir.path).map_err(io::Error::other);
        let words = match place.and_then(|place| count(&place, dir.entries + 1)) {
            Ok(count) if count <= dir.entries => return None,
            Ok(_) => "it holds something that was not applied with it".to_owned(),
            Err(error) => format!("it cannot be read: {error}"),
        };
        Some(Refused { path: Some(dir.path.clone()), why: Why::Conflict, words: vec![words] })
    }

    fn difference(&self, step: &Step, coming: &[ChangePath]) -> io::Result<Option<String>> {
        let place = match self.workspace.place(&step.path) {
            Ok(place) => place,
            // What stood in the way, or was missing, is put right before.
            Err(WorkspaceError::NoParent { .. } | WorkspaceError::Detour { .. })
                if coming.iter().any(|dir| step.path.is_within(dir) && step.path != *dir) =>
            {
                return Ok(None);
            }
            Err(error) => return Ok(Some(error.to_string())),
        };
        let seen = place.look()?;
        match &step.act {
            Act::Put { put, .. } | Act::Exchange { put, .. } => {
                difference(&place, seen.as_ref(), put.as_ref(), None)
            }
            Act::Chmod { ino, to, .. } => {
                let same = seen.is_some_and(|seen| seen.ino == *ino && seen.mode == *to);
                Ok((!same).then(|| "its mode, or the file, is another".to_owned()))
            }
            Act::Take { .. } | Act::Rmdir { .. } => difference(&place, seen.as_ref(), None, None),
        }
    }

    /// The steps that take one back.
    pub(super) fn turn(
        &self,
        step: &Step,
        stage: &mut Stage,
        copied_from: Option<&OwnedFd>,
    ) -> io::Result<Vec<Step>> {
        let Step { entry, path, act } = step;
        let make = |act| Step { entry: *entry, path: path.clone(), act };
        let mut bring = |slot: u64| -> io::Result<crate::changes::seen::Mark> {
            if let Some(from) = copied_from {
                keep::copy(from, slot, stage)?;
            }
            let kept = Seen::at(stage.slots(), slot.to_string())?;
            kept.map(|seen| seen.mark())
                .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "what it was is not kept"))
        };
        Ok(match act {
            Act::Chmod { ino, from, to } => {
                vec![make(Act::Chmod { ino: *ino, from: *to, to: *from })]
            }
            Act::Put { slot, put, .. } => {
                let (seen, held) = self.now(path)?;
                vec![make(if seen.is_dir() {
                    Act::Rmdir { ino: seen.ino, old: DirectoryRecord::of(&held, &seen)? }
                } else {
                    Act::Take { slot: *slot, old: expected(&seen, put.as_ref()) }
                })]
            }
            Act::Exchange { slot, put, .. } => {
                let staged = bring(*slot)?;
                let (seen, _) = self.now(path)?;
                let old = expected(&seen, put.as_ref());
                vec![make(Act::Exchange { slot: *slot, staged, put: None, old })]
            }
            Act::Take { slot, .. } => {
                let staged = bring(*slot)?;
                vec![make(Act::Put { slot: *slot, staged, put: None })]
            }
            Act::Rmdir { old, .. } => {
                let slot = stage.slot();
                // Others may have to be put into it first.
                let open = old.open();
                let staged = stage.record(slot, &open)?;
                let mut steps = vec![make(Act::Put { slot, staged, put: None })];
                if open.mode != old.mode {
                    let (from, to) = (open.mode, old.mode);
                    steps.push(make(Act::Chmod { ino: staged.ino, from, to }));
                }
                steps
            }
        })
    }

    fn now(&self, path: &ChangePath) -> io::Result<(Seen, OwnedFd)> {
        let place = self.workspace.place(path).map_err(io::Error::other)?;
        let held = place.hold()?;
        Ok((rustix::fs::fstat(&held)?.into(), held))
    }
}

/// Whether a slot still holds what a step took.
fn is_as_taken(slots: &OwnedFd, name: &str, old: &Expected) -> io::Result<bool> {
    let Some(seen) = Seen::at(slots, name)? else { return Ok(true) };
    if seen.size != old.mark.size {
        return Ok(false);
    }
    let place = Place { dir: slots.try_clone()?, name: name.as_ref() };
    match old.hash {
        Some(hash) if seen.kind == Kind::File => match hash_of(&place) {
            // Not even its owner may read it, and it goes back as it is.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(true),
            now => Ok(now? == hash),
        },
        // A copy is another file.
        _ => Ok(seen.ino != old.mark.ino || seen.mtime == old.mark.mtime),
    }
}

fn expected(seen: &Seen, put: Option<&Node>) -> Expected {
    let hash = put.and_then(Node::file).and_then(|file| file.content.hash());
    Expected { mark: seen.mark(), ctime: seen.ctime, hash }
}

fn is_directory(put: Option<&Node>) -> bool {
    matches!(put, Some(Node::Directory { .. }))
}
