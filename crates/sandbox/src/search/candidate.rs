//! What a candidate is: the changes that its generator left, looked at before they run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cofferdam_core::changes::glob::{Globs, Shape};
use cofferdam_core::changes::{Content, Entry, FileNode, Node, Totals};
use cofferdam_core::check::Level;
use cofferdam_core::inert::Inert;
use cofferdam_core::record::Record;
use cofferdam_core::search::{ChangeBudget, Reason};

use crate::changes::{ChangeSet, Objects, REPOSITORY, SetError};
use crate::check::{LARGEST_SOURCE, Lang, Source, Validator};
use crate::runs::Store;

/// What is asked of a candidate's changes.
#[derive(Debug)]
pub(super) struct Rules<'a> {
    pub(super) protected: Globs,
    pub(super) budget: ChangeBudget,
    pub(super) validator: Option<&'a Validator>,
}

/// A candidate, as far as it can be known without running it.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidate {
    /// Equal for equal changes.
    pub(super) digest: String,
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) offence: Option<(Reason, String)>,
}

/// Where nothing of the changes can be trusted.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("it has no sealed changes")]
    Unsealed,
    #[error("some of its paths are too long to be named")]
    LeftOut,
    #[error(transparent)]
    Set(#[from] SetError),
    #[error("its manifest cannot be read")]
    Manifest(#[from] cofferdam_core::changes::manifest::ManifestError),
}

/// Looks at all that a run changed.
pub(super) fn inspect(
    store: &Store,
    record: &Record,
    rules: &Rules<'_>,
) -> Result<Candidate, Unusable> {
    let changes = record.changes.as_ref().filter(|_| record.unsealed.is_none());
    let changes = changes.ok_or(Unusable::Unsealed)?;
    if changes.left_out > 0 {
        return Err(Unusable::LeftOut);
    }
    let dir = store.dir(record.run);
    let mut seen =
        Seen { rules, totals: Totals::default(), hasher: blake3::Hasher::new(), offence: None };
    let mut set = ChangeSet::open(&dir, &changes.manifest)?;
    let objects = set.objects();
    for entry in set.entries()? {
        seen.entry(b"", &entry?, &objects);
    }
    if let Some(manifest) = &changes.repository {
        let mut set = ChangeSet::open(&dir.join(REPOSITORY), manifest)?;
        let objects = set.objects();
        for entry in set.entries()? {
            seen.entry(b".git/", &entry?, &objects);
        }
    }
    Ok(seen.finish())
}

struct Seen<'a> {
    rules: &'a Rules<'a>,
    totals: Totals,
    hasher: blake3::Hasher,
    offence: Option<(Reason, String)>,
}

impl Seen<'_> {
    fn entry(&mut self, prefix: &[u8], entry: &Entry, objects: &Objects) {
        let path = [prefix, entry.path.as_bytes()].concat();
        let known = serde_json::to_vec(&(entry.change, &entry.after))
            .unwrap_or_else(|_| unreachable!("an entry is text and numbers"));
        for part in [&path, &known] {
            self.hasher.update(&(part.len() as u64).to_le_bytes());
            self.hasher.update(part);
        }
        self.totals.count(entry);
        if self.offence.is_none() {
            self.offence = self.offence(&path, entry, objects);
        }
    }

    fn offence(&self, path: &[u8], entry: &Entry, objects: &Objects) -> Option<(Reason, String)> {
        let name = Inert::line(path).to_string();
        let is_directory = |node: &Option<Node>| matches!(node, Some(Node::Directory { .. }));
        let shape = match is_directory(&entry.before) || is_directory(&entry.after) {
            true => Shape::Directory,
            false => Shape::Other,
        };
        if !self.rules.protected.matching(path, shape).is_empty() {
            return Some((Reason::Protected, name));
        }
        let Some(Node::File(FileNode { size, content, .. })) = &entry.after else { return None };
        match (self.rules.validator, content) {
            (_, Content::Unknown) => Some((Reason::TooLarge, format!("{name} was not kept"))),
            (Some(validator), Content::Kept(hash)) => {
                if *size > LARGEST_SOURCE as u64 {
                    return Some((Reason::Check, format!("{name} is too large to check")));
                }
                let Ok(bytes) = objects.read(*hash, *size) else {
                    return Some((Reason::Unsealed, format!("{name} cannot be read")));
                };
                let found = findings(validator, path, &bytes).err()?;
                Some((Reason::Check, format!("{name}: {found}")))
            }
            _ => None,
        }
    }

    fn finish(self) -> Candidate {
        let Totals { files, bytes, .. } = self.totals;
        let ChangeBudget { files: most, bytes: most_bytes } = self.rules.budget;
        let too_large = || {
            let detail = format!("{files} paths and {bytes} bytes, of {most} and {most_bytes}");
            (files > most || bytes > most_bytes.0).then_some((Reason::TooLarge, detail))
        };
        let offence = self.offence.or_else(too_large);
        let digest = self.hasher.finalize().to_hex().to_string();
        Candidate { digest, files, bytes, offence }
    }
}

/// The first thing in a file that the validator denies.
fn findings(validator: &Validator, path: &[u8], bytes: &[u8]) -> Result<(), String> {
    let path = Path::new(OsStr::from_bytes(path));
    let Some(lang) = Lang::of_file(path, bytes) else { return Ok(()) };
    let name = path.to_string_lossy();
    let report = validator
        .check(Source { name: &name, lang, bytes })
        .map_err(|error| format!("the rules cannot be used: {error}"))?;
    match report.findings.iter().find(|finding| finding.level == Level::Deny) {
        None => Ok(()),
        Some(found) => Err(format!("line {}: {} ({})", found.line, found.message, found.rule)),
    }
}
