//! What is to be done about each entry, found by reading the manifest and looking at the host. Nothing is
//! written.
//!
//! Entries depend on each other: a file needs the new directory that it is in, and a directory goes only
//! when all in it goes. Parents come right before their children, so one pass and a stack of open
//! directories are enough. In memory there are ten bytes an entry.

use std::collections::BTreeSet;

use cofferdam_core::changes::manifest::{Moment, Summary};
use cofferdam_core::changes::{Change, ChangePath, Content, Entry, Node};

use super::combine;
use super::step::count;
use super::{ApplyError, Held, Judge, Merging, Opinion, Refused, Why};
use crate::changes::ChangeSet;
use crate::changes::beneath::{Workspace, WorkspaceError};
use crate::changes::conflict::{Standing, look};
use crate::changes::ledger::{EntryState, Ledger};
use crate::changes::rights::as_put;
use crate::changes::selection::{Part, Selection};

/// How many refused paths are told one by one.
const TOLD: usize = 1000;

/// What a survey looks at and how.
pub(crate) struct Surveyor<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) base: Moment,
    pub(crate) ledger: &'a Ledger,
    pub(crate) selection: &'a Selection,
    pub(crate) merging: Merging,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    marks: Vec<u16>,
    /// The nearest directory above that has an entry, by number.
    above: Vec<u32>,
    /// Of a directory that goes: how many in it go before it.
    going: Vec<u32>,
    /// Files that others in the set are other names of.
    pub(crate) linked: BTreeSet<ChangePath>,
    pub(crate) already: u64,
    pub(crate) refused: Vec<Refused>,
    pub(crate) refused_in_all: u64,
    pub(crate) held: Vec<Held>,
    /// Selected and left, for whatever reason.
    pub(crate) left: u64,
    /// Selected, and applied or discarded before.
    pub(crate) applied_before: u64,
    pub(crate) discarded_before: u64,
}

const SELECTED: u16 = 1;
const PENDING: u16 = 1 << 1;
/// A directory stands there before and not after.
const GOES: u16 = 1 << 2;
/// A directory stands there after and not before.
const COMES: u16 = 1 << 3;
/// It is not applied.
const STAYS: u16 = 1 << 4;
/// The host has it already.
const ALREADY: u16 = 1 << 5;
/// The host has what was there before.
const READY: u16 = 1 << 6;

/// Above this bit: what kind of change it is.
const CHANGE: u32 = 8;
const CHANGES: [Change; 4] = [Change::Created, Change::Modified, Change::Deleted, Change::Retyped];

const NONE: u32 = u32::MAX;
/// Files with several names, beyond which such files become several.
const MOST_LINKED: usize = 100_000;

impl Survey {
    /// Whether the entry is to be applied.
    pub(crate) fn takes(&self, index: u64) -> bool {
        let mark = self.mark(index);
        mark & (SELECTED | PENDING) == SELECTED | PENDING && mark & STAYS == 0
    }

    /// Whether it was asked for, could be applied, and is not.
    pub(crate) fn leaves(&self, index: u64) -> bool {
        self.mark(index) & (SELECTED | PENDING | STAYS) == SELECTED | PENDING | STAYS
    }

    /// A deletion is not made. The words are for the first of them.
    pub(crate) fn hold(&mut self, index: u64, held: Held) {
        if self.held.len() < TOLD {
            self.held.push(held);
        }
        if let Ok(index) = u32::try_from(index) {
            self.stays(index);
        }
    }

    /// It is not applied; neither can be the removal of the directory that it is in.
    fn stays(&mut self, index: u32) {
        self.marks[index as usize] |= STAYS;
        self.left += 1;
        let above = self.above[index as usize];
        if above != NONE && self.takes(u64::from(above)) && self.marks[above as usize] & GOES != 0 {
            // Told by the entry in it; nothing more is to be said here.
            self.stays(above);
        }
    }

    /// Whether it is applied without anything being done.
    pub(crate) fn has_already(&self, index: u64) -> bool {
        self.mark(index) & ALREADY != 0
    }

    /// Whether it is in a directory that is new itself.
    pub(crate) fn is_in_a_new_directory(&self, index: u64) -> bool {
        let above = usize::try_from(index).ok().and_then(|index| self.above.get(index).copied());
        above.is_some_and(|above| above != NONE && self.brings(above))
    }

    pub(crate) fn chosen(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.marks.len() as u64).filter(|index| self.takes(*index))
    }

    /// How many changes of each kind are to be made.
    pub(crate) fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for index in self.chosen().filter(|index| !self.has_already(*index)) {
            let change = (self.mark(index) >> CHANGE) as usize;
            summary.count(CHANGES[change % CHANGES.len()]);
        }
        summary
    }

    fn mark(&self, index: u64) -> u16 {
        usize::try_from(index).ok().and_then(|index| self.marks.get(index).copied()).unwrap_or(0)
    }

    /// Whether this entry is a directory that this apply makes.
    fn brings(&self, index: u32) -> bool {
        let mark = self.marks[index as usize];
        mark & COMES != 0 && mark & READY != 0 && self.takes(u64::from(index))
    }

    fn refuse(&mut self, path: &ChangePath, why: Why, words: Vec<String>) {
        self.refused_in_all += 1;
        if self.refused.len() < TOLD {
            self.refused.push(Refused { path: Some(path.clone()), why, words });
        }
    }
}

impl Surveyor<'_> {
    pub(crate) fn survey(
        &self,
        set: &mut ChangeSet,
        judge: &mut dyn Judge,
    ) -> Result<Survey, ApplyError> {
        let mut survey = Survey::default();
        self.select(set, &mut survey)?;
        self.judge(set, judge, &mut survey)?;
        Ok(survey)
    }

    /// First pass: which entries are meant, and those that they need.
    fn select(&self, set: &mut ChangeSet, survey: &mut Survey) -> Result<(), ApplyError> {
        let mut missing: Vec<&ChangePath> = self.selection.named().collect();
        let mut open: Vec<(ChangePath, u32)> = Vec::new();
        for (number, entry) in set.entries()?.enumerate() {
            let entry = entry?;
            let index = u32::try_from(number).map_err(|_| ApplyError::TooMany)?;
            missing.retain(|named| !entry.path.is_within(named));
            while open.last().is_some_and(|(path, _)| !entry.path.is_within(path)) {
                open.pop();
            }
            survey.above.push(open.last().map_or(NONE, |(_, index)| *index));
            let mark = self.first_mark(u64::from(index), &entry, survey);
            survey.marks.push(mark);
            let first = entry.after.as_ref().and_then(Node::file).and_then(|f| f.link.clone());
            if let Some(first) = first.filter(|_| survey.linked.len() < MOST_LINKED) {
                survey.linked.insert(first);
            }
            if is_directory(entry.before.as_ref()) || is_directory(entry.after.as_ref()) {
                open.push((entry.path, index));
            }
        }
        if let Some(path) = missing.first() {
            return Err(ApplyError::NoSuchChange { path: (*path).clone() });
        }
        for index in (0..survey.marks.len()).rev() {
            let (mark, above) = (survey.marks[index], survey.above[index]);
            if mark & (SELECTED | PENDING) == SELECTED | PENDING && above != NONE {
                let above = &mut survey.marks[above as usize];
                if *above & (COMES | PENDING) == COMES | PENDING {
                    *above |= SELECTED;
                }
            }
        }
        survey.going = vec![0; survey.marks.len()];
        Ok(())
    }

    fn first_mark(&self, index: u64, entry: &Entry, survey: &mut Survey) -> u16 {
        let selected = self.selection.part(&entry.path) != Part::Nothing;
        let state = self.ledger.state(index);
        let mut mark = if selected { SELECTED } else { 0 };
        match (&state, selected) {
            (EntryState::Pending | EntryState::Partly { .. }, _) => mark |= PENDING,
            (EntryState::Applied, true) => survey.applied_before += 1,
            (EntryState::Discarded, true) => survey.discarded_before += 1,
            _ => {}
        }
        let (before, after) =
            (is_directory(entry.before.as_ref()), is_directory(entry.after.as_ref()));
        let change = CHANGES.iter().position(|change| *change == entry.change).unwrap_or(0);
        mark |= u16::try_from(change).unwrap_or(0) << CHANGE;
        mark | if before && !after { GOES } else { 0 } | if after && !before { COMES } else { 0 }
    }

    /// Second pass: what the gate says and how the host stands.
    fn judge(
        &self,
        set: &mut ChangeSet,
        judge: &mut dyn Judge,
        survey: &mut Survey,
    ) -> Result<(), ApplyError> {
        let objects = set.objects();
        let mut open: Vec<(ChangePath, u32)> = Vec::new();
        for (number, entry) in set.entries()?.enumerate() {
            let entry = entry?;
            let index = u32::try_from(number).map_err(|_| ApplyError::TooMany)?;
            while let Some((path, going)) = open.pop_if(|(path, _)| !entry.path.is_within(path)) {
                self.leave(&path, going, survey);
            }
            if !survey.takes(u64::from(index)) {
                continue;
            }
            if survey.marks[number] & GOES != 0 {
                open.push((entry.path.clone(), index));
            }
            let above = survey.above[number];
            let missing = above != NONE && self.is_missing(above, survey);
            match judge.entry(&entry) {
                Opinion::Fine if missing => {
                    survey.marks[number] |= STAYS;
                    survey.left += 1;
                    continue;
                }
                Opinion::Fine => {}
                Opinion::Later => {
                    survey.stays(index);
                    continue;
                }
                Opinion::Blocked(words) => {
                    survey.refuse(&entry.path, Why::Gate, words);
                    survey.stays(index);
                    continue;
                }
            }
            let standing = match never(&entry) {
                Some(words) => Standing::Conflict(words.to_owned()),
                None => self.standing(index, &entry, &objects, survey)?,
            };
            match standing {
                Standing::AsBefore => {
                    survey.marks[number] |= READY;
                    let above = survey.above[number];
                    if above != NONE && entry.after.is_none() {
                        survey.going[above as usize] += 1;
                    }
                }
                Standing::AsAfter => {
                    survey.marks[number] |= ALREADY;
                    survey.already += 1;
                }
                Standing::Conflict(words) => {
                    survey.refuse(&entry.path, Why::Conflict, vec![words]);
                    survey.stays(index);
                }
            }
        }
        while let Some((path, going)) = open.pop() {
            self.leave(&path, going, survey);
        }
        for words in judge.whole() {
            survey.refused_in_all += 1;
            survey.refused.push(Refused { path: None, why: Why::Budget, words: vec![words] });
        }
        Ok(())
    }

    /// Whether the entry of the directory above says that it is to come, and it will not.
    fn is_missing(&self, above: u32, survey: &Survey) -> bool {
        let mark = survey.marks[above as usize];
        mark & COMES != 0 && mark & SELECTED != 0 && mark & STAYS != 0
    }

    /// All in a directory that goes was looked at: is there anything else in it?
    fn leave(&self, path: &ChangePath, index: u32, survey: &mut Survey) {
        let mark = survey.marks[index as usize];
        if mark & STAYS != 0 || mark & READY == 0 {
            return;
        }
        let going = u64::from(survey.going[index as usize]);
        let holds = self
            .workspace
            .place(path)
            .map_err(std::io::Error::other)
            .and_then(|place| count(&place, going + 1));
        let words = match holds {
            Ok(holds) if holds <= going => return,
            Ok(_) => "it holds something on the host that does not go with it".to_owned(),
            Err(error) => format!("it cannot be read: {error}"),
        };
        survey.refuse(path, Why::Conflict, vec![words]);
        survey.stays(index);
    }

    fn standing(
        &self,
        index: u32,
        entry: &Entry,
        objects: &crate::changes::Objects,
        survey: &Survey,
    ) -> Result<Standing, ApplyError> {
        let above = survey.above[index as usize];
        if above != NONE && survey.brings(above) {
            return Ok(Standing::AsBefore);
        }
        let put = partly(self.ledger, u64::from(index));
        let before = put.as_ref().or(entry.before.as_ref());
        let after = as_put(entry);
        let (standing, seen) = look(self.workspace, entry, before, after.as_ref(), self.base);
        if standing == Standing::AsBefore && seen.is_none() {
            return Ok(match self.workspace.place(&entry.path) {
                Err(WorkspaceError::NoParent { .. }) => {
                    Standing::Conflict("its directory is not there on the host".to_owned())
                }
                _ => standing,
            });
        }
        if let Part::Hunks(chosen) = self.selection.part(&entry.path) {
            if standing == Standing::AsBefore {
                combine::picked(self.workspace, entry, objects, chosen, put.as_ref())?;
            }
            return Ok(standing);
        }
        match (&standing, self.merging) {
            (Standing::Conflict(words), Merging::Clean) => {
                Ok(match combine::merged(self.workspace, entry, objects)? {
                    Ok(_) => Standing::AsBefore,
                    Err(why) => Standing::Conflict(format!("{words}, and cannot be merged: {why}")),
                })
            }
            _ => Ok(standing),
        }
    }
}

/// What some hunks of an entry made of it.
pub(crate) fn partly(ledger: &Ledger, index: u64) -> Option<Node> {
    match ledger.state(index) {
        EntryState::Partly { put } => Some(put),
        _ => None,
    }
}

fn is_directory(node: Option<&Node>) -> bool {
    matches!(node, Some(Node::Directory { .. }))
}

/// What is never applied, whatever anybody allows.
fn never(entry: &Entry) -> Option<&'static str> {
    match &entry.after {
        Some(Node::Special { .. }) => Some("devices, FIFOs and sockets are never applied"),
        Some(Node::File(file)) if file.content == Content::Unknown => {
            Some("its content was too large to be kept")
        }
        Some(Node::File(file))
            if entry.change != Change::Modified && !matches!(file.content, Content::Kept(_)) =>
        {
            Some("its content was not kept")
        }
        _ => None,
    }
}
