//! Entries to look at, one after the other.

use std::fs::File;
use std::io::BufReader;

use cofferdam_core::changes::manifest::ManifestReader;
use cofferdam_core::changes::rename::{self, Candidates, Origin, Renames};
use cofferdam_core::changes::{Change, Entry, Node};

use super::{Contents, DiffError, Found};
use crate::changes::{ChangeSet, EntryState, Ledger};

/// What somebody wants to see of an entry with this number: nothing, the entry, or what is left of it.
pub type Wanted<'a> = dyn FnMut(u64, Entry) -> Option<Entry> + 'a;

/// An entry to be shown.
#[derive(Debug)]
pub struct Item {
    /// Its number in the manifest, from 0.
    pub index: u64,
    pub entry: Entry,
    /// What of the change it is.
    pub portion: Portion,
    /// Where it was moved from.
    pub origin: Option<Origin>,
    /// A directory of the usual mode that came or went with what is in it: the entries that follow say so.
    pub implied: bool,
}

/// How much of a sealed change an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Portion {
    Whole,
    /// What some hunks that are applied have left over.
    Rest,
}

/// The wanted entries of a set. A deletion that is the beginning of a move is left out.
pub struct Items<'a> {
    entries: ManifestReader<BufReader<&'a File>>,
    wanted: &'a mut Wanted<'a>,
    renames: &'a Renames,
    read: u64,
    ahead: Option<Ahead>,
}

struct Ahead {
    index: u64,
    entry: Entry,
    portion: Portion,
}

impl std::fmt::Debug for Items<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Items").field("read", &self.read).finish_non_exhaustive()
    }
}

impl<'a> Items<'a> {
    pub fn of(
        set: &'a mut ChangeSet,
        wanted: &'a mut Wanted<'a>,
        renames: &'a Renames,
    ) -> Result<Self, DiffError> {
        let entries = set.entries()?;
        let mut items = Self { entries, wanted, renames, read: 0, ahead: None };
        items.ahead = items.advance()?;
        Ok(items)
    }

    fn advance(&mut self) -> Result<Option<Ahead>, DiffError> {
        for entry in self.entries.by_ref() {
            let index = self.read;
            self.read += 1;
            let entry = entry?;
            let sealed = entry.before.clone();
            if let Some(entry) = (self.wanted)(index, entry) {
                let portion = if entry.before == sealed { Portion::Whole } else { Portion::Rest };
                return Ok(Some(Ahead { index, entry, portion }));
            }
        }
        Ok(None)
    }

    fn next_item(&mut self) -> Result<Option<Item>, DiffError> {
        while let Some(Ahead { index, entry, portion }) = self.ahead.take() {
            self.ahead = self.advance()?;
            if self.renames.moved_away(&entry.path) {
                continue;
            }
            let within = |next: &Ahead| next.entry.path.is_within(&entry.path);
            let implied = is_usual_directory(&entry) && self.ahead.as_ref().is_some_and(within);
            let origin = self.renames.origin(&entry.path).cloned();
            return Ok(Some(Item { index, entry, portion, origin, implied }));
        }
        Ok(None)
    }
}

impl Iterator for Items<'_> {
    type Item = Result<Item, DiffError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_item().transpose()
    }
}

fn is_usual_directory(entry: &Entry) -> bool {
    let usual = |mode: u32| [0o700, 0o755, 0o775].contains(&mode);
    match (entry.change, &entry.before, &entry.after) {
        (Change::Created, _, Some(Node::Directory { mode })) => usual(mode.bits()),
        (Change::Deleted, Some(Node::Directory { .. }), _) => true,
        _ => false,
    }
}

/// What is left to be decided of an entry: all, what some hunks left over, or nothing.
pub fn pending(ledger: &Ledger, index: u64, entry: Entry) -> Option<Entry> {
    match ledger.state(index) {
        EntryState::Pending => Some(entry),
        EntryState::Partly { put } => Entry::between(entry.path, Some(put), entry.after)
            .map(|rest| Entry { stripped: entry.stripped, ..rest }),
        EntryState::Applied | EntryState::Discarded => None,
    }
}

/// The moves among the wanted entries. Goes through the whole set once.
pub fn find_moves(
    set: &mut ChangeSet,
    contents: &Contents,
    wanted: &mut Wanted<'_>,
) -> Result<Renames, DiffError> {
    let mut candidates = Candidates::default();
    for (index, entry) in (0..).zip(set.entries()?) {
        if let Some(entry) = wanted(index, entry?) {
            candidates.see(&entry);
        }
    }
    let mut failed = None;
    let renames = rename::pair(candidates, &mut |entry| {
        let found = match (&entry.before, &entry.after) {
            (Some(node), _) => contents.before(&entry.path, node, LARGEST_READ),
            (None, Some(node)) => contents.after(&entry.path, node, LARGEST_READ),
            (None, None) => return None,
        };
        match found {
            Ok(Found::Bytes(bytes)) => Some(bytes),
            Ok(_) => None,
            Err(error) => {
                failed = Some(error);
                None
            }
        }
    });
    failed.map_or(Ok(renames), Err)
}

/// No single content that is compared for moves is larger.
const LARGEST_READ: u64 = 1024 * 1024;
