//! Where entries and contents go.

use std::collections::HashMap;
use std::io::{self, Write};

use cofferdam_core::changes::manifest::{ManifestWriter, Summary};
use cofferdam_core::changes::{ChangePath, ContentHash, Entry, Node};

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
}

impl<W: Write> Out<W> {
    pub(crate) fn new(manifest: ManifestWriter<W>, deposit: Deposit) -> Self {
        Self { manifest, deposit, waiting: Vec::new(), links: HashMap::new() }
    }

    /// Writes an entry.
    pub(super) fn push(&mut self, entry: &Entry) -> Result<(), CaptureError> {
        for above in self.waiting.drain(..).filter(|above| entry.path.is_within(&above.path)) {
            self.manifest.push(&above).map_err(CaptureError::Write)?;
        }
        self.manifest.push(entry).map_err(CaptureError::Write)
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

    pub(crate) fn finish(self) -> io::Result<(W, ContentHash, Summary)> {
        self.manifest.finish()
    }
}
