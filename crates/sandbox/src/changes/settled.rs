//! What was decided about a session's changes while it went on.
//!
//! Each look at a session is a sealed set with a ledger of its own; `looks` in the session's directory names them.
//! What was applied or discarded there is left out of later looks and of the end. A file that was applied and then
//! changed again is a change of what was applied.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::Path;

use cofferdam_core::changes::manifest::{
    Header, ManifestError, ManifestReader, ManifestWriter, Summary,
};
use cofferdam_core::changes::{ChangePath, Content, ContentHash, Entry, FileNode, Node};
use cofferdam_core::id::RunId;
use serde::{Deserialize, Serialize};

use super::rights::as_put;
use super::{ChangeSet, EntryState, Ledger};
use crate::state::private_file;

/// In a session's directory: one JSON object a line.
pub(crate) const LOOKS: &str = "looks";

/// A look at a session that goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    pub run: RunId,
    pub manifest: String,
    /// Where it is a checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The looks at the session in `dir`, oldest first.
pub fn looks(dir: &Path) -> io::Result<Vec<Look>> {
    match fs::read_to_string(dir.join(LOOKS)) {
        // The last line may have been cut off by a crash: nobody was told of that look.
        Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

pub(crate) fn note(dir: &Path, look: &Look) -> io::Result<()> {
    let mut line = serde_json::to_vec(look)?;
    line.push(b'\n');
    private_file().append(true).create(true).open(dir.join(LOOKS))?.write_all(&line)
}

/// A session that begins anew knows the checkpoints of the one before.
pub fn carry_checkpoints(from: &Path, to: &Path) -> io::Result<()> {
    let named = looks(from)?.into_iter().filter(|look| look.name.is_some());
    named.into_iter().try_for_each(|look| note(to, &look))
}

/// What became of paths, the latest decision on each.
#[derive(Debug, Default)]
pub(super) struct Settled {
    fates: HashMap<ChangePath, Fate>,
}

#[derive(Debug, Clone)]
enum Fate {
    /// The host has this now.
    Applied(Option<Node>),
    /// Nobody wants this.
    Discarded(Option<Node>),
}

impl Settled {
    /// Of the session in `dir`. A look that was removed meanwhile decides nothing any more.
    pub(super) fn of(dir: &Path) -> io::Result<Self> {
        let mut settled = Self::default();
        let Some(runs) = dir.parent() else { return Ok(settled) };
        for look in looks(dir)? {
            let set = ChangeSet::open(&runs.join(look.run.to_string()), &look.manifest);
            let Ok(mut set) = set else { continue };
            let Ok(ledger) = Ledger::load(&set) else { continue };
            settled.add(&mut set, &ledger).map_err(io::Error::other)?;
        }
        Ok(settled)
    }

    fn add(&mut self, set: &mut ChangeSet, ledger: &Ledger) -> Result<(), ManifestError> {
        let Ok(entries) = set.entries() else { return Ok(()) };
        for (index, entry) in (0..).zip(entries) {
            let entry = entry?;
            let fate = match ledger.state(index) {
                EntryState::Pending => continue,
                EntryState::Applied => Fate::Applied(as_put(&entry)),
                EntryState::Partly { put } => Fate::Applied(Some(put)),
                EntryState::Discarded => Fate::Discarded(entry.after),
            };
            self.fates.insert(entry.path, fate);
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fates.is_empty()
    }

    /// What of an entry is still to be decided.
    fn sift(&self, entry: Entry) -> Option<Entry> {
        match self.fates.get(&entry.path) {
            None => Some(entry),
            Some(Fate::Discarded(node)) => {
                (!alike(node.as_ref(), entry.after.as_ref())).then_some(entry)
            }
            Some(Fate::Applied(node)) if alike(node.as_ref(), as_put(&entry).as_ref()) => None,
            Some(Fate::Applied(node)) => {
                let Entry { path, after, stripped, .. } = entry;
                let rest = Entry::between(path, node.clone().map(known), after)?;
                Some(Entry { stripped, ..rest })
            }
        }
    }

    /// Writes the manifest at `path` anew, with what is still to be decided.
    pub(super) fn rewrite(
        &self,
        path: &Path,
        header: &Header,
    ) -> Result<(ContentHash, Summary), ManifestError> {
        let unsifted = path.with_extension("unsifted");
        fs::rename(path, &unsifted)?;
        let out = private_file().write(true).create_new(true).open(path)?;
        let mut out = ManifestWriter::begin(BufWriter::new(out), header)?;
        for entry in ManifestReader::begin(BufReader::new(File::open(&unsifted)?))? {
            if let Some(entry) = self.sift(entry?) {
                out.push(&entry)?;
            }
        }
        let (_, hash, summary) = out.finish()?;
        fs::remove_file(&unsifted)?;
        Ok((hash, summary))
    }
}

fn alike(one: Option<&Node>, other: Option<&Node>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.looks_like(other),
        _ => false,
    }
}

/// Its bytes lie among another set's objects.
fn known(node: Node) -> Node {
    match node {
        Node::File(FileNode { content: Content::Kept(hash), mode, size, link }) => {
            Node::File(FileNode { content: Content::Known(hash), mode, size, link })
        }
        other => other,
    }
}
