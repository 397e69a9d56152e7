//! Where entries and contents go.

use std::collections::HashMap;
use std::io::{self, Write};

use cofferdam_core::changes::manifest::{ManifestWriter, Summary};
use cofferdam_core::changes::{ChangePath, ContentHash, Entry, Node};
use cofferdam_core::record::Glimpse;

use super::CaptureError;
use crate::changes::deposit::Deposit;

/// The manifest and the objects of a set in the making.
#[derive(Debug)]
pub(crate) struct Out<W> {
    manifest: ManifestWriter<W>,
    pub(super) deposit: Deposit,
    /// Directories that count only if something in them does.
    waiting: Vec<Entry>,
    /// The first path of each file that has several, by device and inode.
    links: HashMap<(u64, u64), ChangePath>,
    first: Vec<Glimpse>,
}

/// So many entries are remembered for whoever tells of them.
const FIRST: usize = 10;

/// What came of it.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) hash: ContentHash,
    pub(crate) summary: Summary,
    pub(crate) left_out: u64,
    pub(crate) first: Vec<Glimpse>,
}

impl<W: Write> Out<W> {
    pub(crate) fn new(manifest: ManifestWriter<W>, deposit: Deposit) -> Self {
        Self { manifest, deposit, waiting: Vec::new(), links: HashMap::new(), first: Vec::new() }
    }

    /// Writes an entry.
    pub(super) fn push(&mut self, entry: &Entry) -> Result<(), CaptureError> {
        let waiting = std::mem::take(&mut self.waiting);
        for above in waiting.iter().filter(|above| entry.path.is_within(&above.path)) {
            self.write(above)?;
        }
        self.write(entry)
    }

    fn write(&mut self, entry: &Entry) -> Result<(), CaptureError> {
        if self.first.len() < FIRST {
            let Entry { change, path, .. } = entry;
            self.first.push(Glimpse { change: *change, path: path.clone() });
        }
        self.manifest.push(entry).map_err(CaptureError::Write)
    }

    /// Counts something that was changed and has too long a path to be an entry.
    pub(super) fn leave_out(&mut self) {
        self.manifest.leave_out();
    }

    /// Writes an entry once another comes that lies below it.
    pub(super) fn hold(&mut self, entry: Entry) {
        self.waiting.retain(|above| entry.path.is_within(&above.path));
        self.waiting.push(entry);
    }

    /// Says of a file that has several names which one came first, or remembers this one.
    pub(super) fn join(&mut self, id: (u64, u64), entry: &mut Entry) {
        let Some(Node::File(file)) = &mut entry.after else { return };
        match self.links.get(&id) {
            Some(first) => file.link = Some(first.clone()),
            None => {
                self.links.insert(id, entry.path.clone());
            }
        }
    }

    pub(crate) fn finish(self) -> io::Result<Written> {
        let left_out = self.manifest.left_out();
        let (_, hash, summary) = self.manifest.finish()?;
        Ok(Written { hash, summary, left_out, first: self.first })
    }
}
