//! The judgement of single changes, with a look into what they hold.
//!
//! [`Inspector`] is a [`Gate`] beside a set's objects. Reading is bounded: of each file the part that the
//! scan for secrets looks at. Whether an object is the sealed one is compared before any of it is believed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cofferdam_core::changes::secret::{self, Finding, LOOKED_AT, Place};
use cofferdam_core::changes::{Content, ContentHash, Entry, FileNode, Gate, Judgement, Node};

use super::aliases::Aliases;
use super::{Objects, Workspace};

/// Judges entries of one set.
#[derive(Debug)]
pub struct Inspector {
    gate: Gate,
    objects: Objects,
    aliases: Option<Aliases>,
    /// What was found in contents that were new where they were found: a tree may hold one many times.
    found: RefCell<HashMap<ContentHash, Vec<Finding>>>,
}

/// Contents that are remembered.
const REMEMBERED: usize = 1000;

impl Inspector {
    pub fn new(gate: Gate, objects: Objects) -> Self {
        Self { gate, objects, aliases: None, found: RefCell::default() }
    }

    /// Has the other names considered that `workspace` has for a path. One that is not there has none.
    #[must_use]
    pub fn on(mut self, workspace: &Path) -> Self {
        self.aliases = Workspace::open(workspace).ok().map(Aliases::new);
        self
    }

    pub fn judge(&self, entry: &Entry) -> io::Result<Judgement> {
        let mut secrets = self.secrets(entry)?;
        secrets.extend(in_name_and_target(entry));
        let names = self.aliases.as_ref().map(|aliases| aliases.of(&entry.path));
        let names = names.unwrap_or_default();
        let mut judgement = self.gate.judge_known_as(entry, &names, &secrets);
        if entry.after.as_ref().and_then(Node::file).is_some_and(is_long) {
            let most = LOOKED_AT >> 20;
            judgement.reasons.push(format!("only its first {most} MiB are searched for secrets"));
        }
        Ok(judgement)
    }

    /// What looks like a secret in the new content and not in the old.
    fn secrets(&self, entry: &Entry) -> io::Result<Vec<Finding>> {
        let Some(after) = entry.after.as_ref().and_then(Node::file) else { return Ok(Vec::new()) };
        let before = entry.before.as_ref().and_then(Node::file);
        let same = before.is_some_and(|before| {
            before.content.hash().is_some() && before.content.hash() == after.content.hash()
        });
        if same {
            return Ok(Vec::new());
        }
        // An old content that was not kept hides nothing.
        match before.map(|before| self.beginning(before)).transpose()?.flatten() {
            Some(old) => {
                let new = self.beginning(after)?;
                Ok(new.map(|new| secret::introduced(&old, &new)).unwrap_or_default())
            }
            None => self.in_new(after),
        }
    }

    fn in_new(&self, file: &FileNode) -> io::Result<Vec<Finding>> {
        let Content::Kept(hash) = file.content else { return Ok(Vec::new()) };
        if let Some(found) = self.found.borrow().get(&hash) {
            return Ok(found.clone());
        }
        let new = self.beginning(file)?;
        let found = new.map(|new| secret::scan(&new)).unwrap_or_default();
        let mut remembered = self.found.borrow_mut();
        if remembered.len() < REMEMBERED {
            remembered.insert(hash, found.clone());
        }
        Ok(found)
    }

    fn beginning(&self, file: &FileNode) -> io::Result<Option<Vec<u8>>> {
        let Content::Kept(hash) = file.content else { return Ok(None) };
        let mut bytes = Vec::new();
        self.objects.open(hash)?.take(LOOKED_AT as u64).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}

fn is_long(file: &FileNode) -> bool {
    file.size > LOOKED_AT as u64
}

/// Names that are new, and targets of links.
fn in_name_and_target(entry: &Entry) -> impl Iterator<Item = Finding> {
    let is_new = entry.before.is_none() && entry.after.is_some();
    let name = is_new.then(|| entry.path.split().1.as_bytes());
    let target = match (&entry.before, &entry.after) {
        (before, Some(after @ Node::Symlink { target })) if before.as_ref() != Some(after) => {
            Some(target.0.as_bytes())
        }
        _ => None,
    };
    let name = name.and_then(|name| secret::in_words(name, Place::Name));
    name.into_iter().chain(target.and_then(|target| secret::in_words(target, Place::Target)))
}
