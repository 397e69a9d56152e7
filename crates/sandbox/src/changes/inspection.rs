//! The judgement of single changes, with a look into what they hold.
//!
//! [`Inspector`] is a [`Gate`] beside a set's objects. Reading is bounded: of each file the part that the
//! scan for secrets looks at. Whether an object is the sealed one is compared before any of it is believed.

use std::io::{self, Read as _};

use cofferdam_core::changes::secret::{self, Finding, LOOKED_AT};
use cofferdam_core::changes::{Content, Entry, FileNode, Gate, Judgement, Node};

use super::Objects;

/// Judges entries of one set.
#[derive(Debug)]
pub struct Inspector {
    gate: Gate,
    objects: Objects,
}

impl Inspector {
    pub fn new(gate: Gate, objects: Objects) -> Self {
        Self { gate, objects }
    }

    pub fn judge(&self, entry: &Entry) -> io::Result<Judgement> {
        Ok(self.gate.judge(entry, &self.secrets(entry)?))
    }

    /// What looks like a secret in the new content and not in the old.
    fn secrets(&self, entry: &Entry) -> io::Result<Vec<Finding>> {
        let Some(after) = entry.after.as_ref().and_then(Node::file) else { return Ok(Vec::new()) };
        let before = entry.before.as_ref().and_then(Node::file);
        let same = before.is_some_and(|before| {
            before.content.hash().is_some() && before.content.hash() == after.content.hash()
        });
        let Some(new) = (if same { None } else { self.beginning(after)? }) else {
            return Ok(Vec::new());
        };
        // An old content that was not kept hides nothing.
        Ok(match before.map(|before| self.beginning(before)).transpose()?.flatten() {
            Some(old) => secret::introduced(&old, &new),
            None => secret::scan(&new),
        })
    }

    fn beginning(&self, file: &FileNode) -> io::Result<Option<Vec<u8>>> {
        let Content::Kept(hash) = file.content else { return Ok(None) };
        let mut bytes = Vec::new();
        self.objects.open(hash)?.take(LOOKED_AT as u64).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}
