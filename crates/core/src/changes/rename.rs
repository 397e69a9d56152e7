//! Deletions and creations that are one file that was moved.
//!
//! Entries are seen one by one ([`Candidates::see`]); then [`pair`] finds for new files the old ones that
//! they came from: first by equal content, then by likeness. Everything is bounded: the candidates that
//! are held, the bytes that are read, the steps that are made. Beyond a bound a move is shown as a
//! deletion and a creation, which is what it is.
//!
//! Deliberately absent from manifests: applying knows only deletions and creations. It asks here only so as not to
//! delete the one where it leaves the other.

mod likeness;

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::hash::Hash;

use super::{Change, ChangePath, ContentHash, Entry, FileNode};
use likeness::{Budget, Prints};

/// How many deletions or creations are held. A change of more files is not read move by move.
const HELD: usize = 20_000;
/// How many of those without an equal are compared with each other.
const COMPARED: usize = 300;
/// What is less alike than this, in percent, is another file.
const ALIKE: u8 = 50;

/// Deleted and created files, as far as they may be two ends of a move.
#[derive(Debug, Default)]
pub struct Candidates {
    gone: Vec<Entry>,
    come: Vec<Entry>,
    seen: usize,
}

impl Candidates {
    pub fn see(&mut self, entry: &Entry) {
        let (node, list) = match entry.change {
            Change::Deleted => (&entry.before, &mut self.gone),
            Change::Created => (&entry.after, &mut self.come),
            Change::Modified | Change::Retyped => return,
        };
        // Empty files are all alike, and a further name of the same file is not a move.
        let told =
            |file: &FileNode| file.size > 0 && file.link.is_none() && file.content.hash().is_some();
        if !node.as_ref().and_then(|node| node.file()).is_some_and(told) {
            return;
        }
        self.seen += 1;
        if self.seen <= HELD {
            list.push(entry.clone());
        } else {
            // Half of the candidates would find half of the moves, by chance.
            self.gone.clear();
            self.come.clear();
        }
    }
}

/// A move: the deletion it began with, and how much of the content stayed, in percent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub from: Entry,
    pub likeness: u8,
}

/// Moves, found by either end.
#[derive(Debug, Default)]
pub struct Renames {
    origins: HashMap<ChangePath, Origin>,
    destinations: HashMap<ChangePath, ChangePath>,
}

impl Renames {
    /// Where the file that was created at `path` came from.
    pub fn origin(&self, path: &ChangePath) -> Option<&Origin> {
        self.origins.get(path)
    }

    /// Whether the deletion of `path` is the beginning of a move, and so is shown where the file went.
    pub fn moved_away(&self, path: &ChangePath) -> bool {
        self.destination(path).is_some()
    }

    /// Where the file went that was deleted at `path`.
    pub fn destination(&self, path: &ChangePath) -> Option<&ChangePath> {
        self.destinations.get(path)
    }

    pub fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }

    fn add(&mut self, from: Entry, to: ChangePath, likeness: u8) {
        self.destinations.insert(from.path.clone(), to.clone());
        self.origins.insert(to, Origin { from, likeness });
    }
}

/// Finds moves. `read` gives the content of a candidate, or nothing where it cannot be had or is not text.
pub fn pair(candidates: Candidates, read: &mut dyn FnMut(&Entry) -> Option<Vec<u8>>) -> Renames {
    let mut renames = Renames::default();
    if candidates.gone.is_empty() || candidates.come.is_empty() {
        return renames;
    }
    let (gone, come) = pair_equal(candidates, &mut renames);
    if gone.len() <= COMPARED && come.len() <= COMPARED {
        pair_alike(gone, come, read, &mut renames);
    }
    renames
}

/// Those with equal content, a file of the same name first. What is left over is given back.
fn pair_equal(candidates: Candidates, renames: &mut Renames) -> (Vec<Entry>, Vec<Entry>) {
    let mut come = candidates.come;
    let gone = pair_by(candidates.gone, &mut come, renames, |entry| {
        (content(entry), entry.path.names().next_back().map(OsStr::to_owned))
    });
    let gone = pair_by(gone, &mut come, renames, content);
    (gone, come)
}

/// Pairs those for which `key` is the same, in the order of their paths.
fn pair_by<K: Hash + Eq>(
    gone: Vec<Entry>,
    come: &mut Vec<Entry>,
    renames: &mut Renames,
    key: impl Fn(&Entry) -> K,
) -> Vec<Entry> {
    let mut by_key: HashMap<K, VecDeque<Entry>> = HashMap::new();
    for entry in gone {
        by_key.entry(key(&entry)).or_default().push_back(entry);
    }
    come.retain(|entry| match by_key.get_mut(&key(entry)).and_then(VecDeque::pop_front) {
        Some(from) => {
            renames.add(from, entry.path.clone(), 100);
            false
        }
        None => true,
    });
    let mut left: Vec<Entry> = by_key.into_values().flatten().collect();
    left.sort_by(|a, b| a.path.cmp(&b.path));
    left
}

fn pair_alike(
    gone: Vec<Entry>,
    come: Vec<Entry>,
    read: &mut dyn FnMut(&Entry) -> Option<Vec<u8>>,
    renames: &mut Renames,
) {
    let mut budget = Budget::default();
    let mut prints = |entries: &[Entry]| -> Vec<Option<Prints>> {
        entries.iter().map(|entry| budget.prints(size(entry), || read(entry))).collect()
    };
    let (old, new) = (prints(&gone), prints(&come));
    let mut found: Vec<(u8, usize, usize)> = Vec::new();
    for (to, new) in new.iter().enumerate() {
        for (from, old) in old.iter().enumerate() {
            let likeness = old.as_ref().zip(new.as_ref()).and_then(|(a, b)| budget.compare(a, b));
            found.extend(likeness.filter(|l| *l >= ALIKE).map(|likeness| (likeness, from, to)));
        }
    }
    // The most alike first; the order of the paths decides between equals.
    found.sort_by_key(|(likeness, from, to)| (std::cmp::Reverse(*likeness), *to, *from));
    let (mut used_from, mut used_to) = (HashSet::new(), HashSet::new());
    for (likeness, from, to) in found {
        if used_from.contains(&from) || used_to.contains(&to) {
            continue;
        }
        used_from.insert(from);
        used_to.insert(to);
        // Not equal in every byte, or it would have been found before.
        renames.add(gone[from].clone(), come[to].path.clone(), likeness.min(99));
    }
}

fn file(entry: &Entry) -> Option<&FileNode> {
    entry.before.as_ref().or(entry.after.as_ref())?.file()
}

fn content(entry: &Entry) -> Option<ContentHash> {
    file(entry)?.content.hash()
}

fn size(entry: &Entry) -> u64 {
    file(entry).map_or(0, |file| file.size)
}

#[cfg(test)]
mod tests;
