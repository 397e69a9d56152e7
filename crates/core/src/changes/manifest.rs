//! The sealed list of what a run changed.
//!
//! A manifest is text, one JSON object a line: a [`Header`], the entries in the order of their paths, a
//! [`Summary`]. Its hash is BLAKE3 over all of it and stands in the run's record and in the audit chain.
//! It is written and read as a stream: a million entries need no more memory than one.
//!
//! Compatibility: `version` goes up when a reader of the old one would misunderstand; a newer one is
//! refused.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use super::{Change, ChangePath, ContentHash, Entry};
use crate::id::RunId;
use crate::paths::ExactPath;
use crate::stamp::Stamp;

pub const FORMAT: &str = "cofferdam.changes";
pub const VERSION: u32 = 1;
/// Two paths and some numbers; a line that is longer was not written by us.
const LONGEST_LINE: u64 = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub format: String,
    pub version: u32,
    pub run: RunId,
    pub workspace: ExactPath,
    pub tree: Tree,
    /// A file of the host that changed after this, by its ctime, is not what the program began with.
    pub base: Moment,
    pub sealed_at: Stamp,
}

/// Which tree the paths start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tree {
    Workspace,
    /// The repository that a linked worktree belongs to.
    GitCommon,
}

/// A time of a file, as the kernel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment {
    pub seconds: i64,
    pub nanos: u32,
}

/// How many entries of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    pub created: u64,
    pub modified: u64,
    pub deleted: u64,
    pub retyped: u64,
}

impl Summary {
    pub fn total(self) -> u64 {
        self.created + self.modified + self.deleted + self.retyped
    }

    pub fn count(&mut self, change: Change) {
        *match change {
            Change::Created => &mut self.created,
            Change::Modified => &mut self.modified,
            Change::Deleted => &mut self.deleted,
            Change::Retyped => &mut self.retyped,
        } += 1;
    }
}

/// The last line. Without it the manifest was cut short.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Footer {
    end: Summary,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_out: Option<u64>,
}

/// Writes a manifest. Entries must come in order.
#[derive(Debug)]
pub struct ManifestWriter<W> {
    out: W,
    hasher: blake3::Hasher,
    summary: Summary,
    left_out: u64,
    last: Option<ChangePath>,
}

impl<W: Write> ManifestWriter<W> {
    pub fn begin(out: W, header: &Header) -> io::Result<Self> {
        let (hasher, summary) = (blake3::Hasher::new(), Summary::default());
        let mut writer = Self { out, hasher, summary, left_out: 0, last: None };
        writer.line(header)?;
        Ok(writer)
    }

    /// # Panics
    /// Where the entry does not come after the one before it: a reader would refuse the manifest.
    pub fn push(&mut self, entry: &Entry) -> io::Result<()> {
        assert!(self.last.as_ref().is_none_or(|last| *last < entry.path), "entries come in order");
        self.line(entry)?;
        self.summary.count(entry.change);
        self.last = Some(entry.path.clone());
        Ok(())
    }

    /// Counts something that was changed and cannot be an entry.
    pub fn leave_out(&mut self) {
        self.left_out += 1;
    }

    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes the end. The hash is of all that was written.
    pub fn finish(mut self) -> io::Result<(W, ContentHash, Summary)> {
        let left_out = (self.left_out > 0).then_some(self.left_out);
        let footer = Footer { end: self.summary, left_out };
        self.line(&footer)?;
        self.out.flush()?;
        Ok((self.out, self.hasher.finalize().into(), self.summary))
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.hasher.update(&line);
        self.out.write_all(&line)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("cannot read the manifest")]
    Io(#[from] io::Error),
    #[error("line {line} of the manifest is not what was written")]
    Line { line: u64, source: serde_json::Error },
    #[error("the manifest has version {found}, and this program knows only {VERSION}")]
    Newer { found: u32 },
    #[error("line {line} of the manifest is out of order: {path}")]
    Order { line: u64, path: ChangePath },
    #[error("the manifest was cut short or does not add up")]
    Incomplete,
}

/// Reads a manifest. An iterator over its entries, which ends with an error where the manifest does not
/// end as it should. Whether it is the one that was sealed is for the caller to check first, by its hash.
#[derive(Debug)]
pub struct ManifestReader<R> {
    input: R,
    header: Header,
    lines: u64,
    summary: Summary,
    left_out: u64,
    last: Option<ChangePath>,
    done: bool,
}

impl<R: BufRead> ManifestReader<R> {
    pub fn begin(mut input: R) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let text = next_line(&mut input)?.ok_or(ManifestError::Incomplete)?;
        let bad = |source| ManifestError::Line { line: 1, source };
        let Version { version } = serde_json::from_slice(&text).map_err(bad)?;
        if version > VERSION {
            return Err(ManifestError::Newer { found: version });
        }
        let header: Header = serde_json::from_slice(&text).map_err(bad)?;
        let summary = Summary::default();
        Ok(Self { input, header, lines: 1, summary, left_out: 0, last: None, done: false })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many changes are no entries; known when all entries were read.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn advance(&mut self) -> Result<Option<Entry>, ManifestError> {
        let text = next_line(&mut self.input)?.ok_or(ManifestError::Incomplete)?;
        self.lines += 1;
        let line = self.lines;
        let bad = |source| ManifestError::Line { line, source };
        if text.starts_with(b"{\"end\"") {
            let Footer { end, left_out } = serde_json::from_slice(&text).map_err(bad)?;
            self.left_out = left_out.unwrap_or(0);
            let whole = end == self.summary && next_line(&mut self.input)?.is_none();
            return if whole { Ok(None) } else { Err(ManifestError::Incomplete) };
        }
        let entry: Entry = serde_json::from_slice(&text).map_err(bad)?;
        if self.last.as_ref().is_some_and(|last| *last >= entry.path) {
            return Err(ManifestError::Order { line, path: entry.path });
        }
        self.summary.count(entry.change);
        self.last = Some(entry.path.clone());
        Ok(Some(entry))
    }
}

impl<R: BufRead> Iterator for ManifestReader<R> {
    type Item = Result<Entry, ManifestError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.advance().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

fn next_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    io::Read::take(&mut *input, LONGEST_LINE).read_until(b'\n', &mut line)?;
    Ok((!line.is_empty()).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Node;

    fn header() -> Header {
        Header {
            format: FORMAT.to_owned(),
            version: VERSION,
            run: "01jck4s8b7xgpz3m5t0v9yq2rd".parse().unwrap(),
            workspace: "/work".into(),
            tree: Tree::Workspace,
            base: Moment { seconds: 1, nanos: 2 },
            sealed_at: "2026-01-02T03:04:05.000006Z".parse().unwrap(),
        }
    }

    fn entry(path: &str) -> Entry {
        let after = Some(Node::Symlink { target: "x".into() });
        Entry::between(ChangePath::new(path).unwrap(), None, after).unwrap()
    }

    fn written(paths: &[&str]) -> (Vec<u8>, ContentHash) {
        let mut writer = ManifestWriter::begin(Vec::new(), &header()).unwrap();
        for path in paths {
            writer.push(&entry(path)).unwrap();
        }
        let (bytes, hash, summary) = writer.finish().unwrap();
        assert_eq!(summary.total(), paths.len() as u64);
        (bytes, hash)
    }

    fn read(bytes: &[u8]) -> Result<Vec<Entry>, ManifestError> {
        ManifestReader::begin(bytes)?.collect()
    }

    #[test]
    fn what_was_written_is_read() {
        let (bytes, hash) = written(&["a", "a/b", "c"]);
        assert_eq!(hash, ContentHash::of(&bytes));
        assert_eq!(read(&bytes).unwrap(), ["a", "a/b", "c"].map(entry));
        assert_eq!(ManifestReader::begin(&bytes[..]).unwrap().header(), &header());
        assert_eq!(read(&written(&[]).0).unwrap(), []);
    }

    #[test]
    fn a_manifest_that_was_cut_mixed_or_extended_is_not_read() {
        let (bytes, _) = written(&["a", "b", "c"]);
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let without = |n: usize| -> Vec<u8> {
            lines
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != n)
                .flat_map(|(_, l)| l.to_vec())
                .collect()
        };
        for n in 0..lines.len() {
            assert!(read(&without(n)).is_err(), "without line {n}");
        }
        let swapped = [lines[0], lines[2], lines[1], lines[3], lines[4]].concat();
        assert!(matches!(read(&swapped), Err(ManifestError::Order { .. })));
        assert!(read(&[&bytes[..], lines[1]].concat()).is_err());
        let newer = String::from_utf8(bytes).unwrap().replace("\"version\":1", "\"version\":2");
        assert!(matches!(read(newer.as_bytes()), Err(ManifestError::Newer { found: 2 })));
    }

    #[test]
    fn a_path_that_leads_out_is_not_read() {
        let (bytes, _) = written(&["a"]);
        let text = String::from_utf8(bytes).unwrap().replace("\"path\":\"a\"", "\"path\":\"../a\"");
        assert!(matches!(read(text.as_bytes()), Err(ManifestError::Line { line: 2, .. })));
    }
}
