//! Which changes of a set git ignores, by the host's own rules.
//!
//! What counts are the `.gitignore` files of the host and `info/exclude` of its repository; where the run changed one, what it
//! held before. So nothing that the program wrote decides about it. What git tracks is not ignored, whatever the rules say.
//!
//! Deliberately absent: the rules of a user's own (`core.excludesFile`), which no repository has.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cofferdam_core::changes::glob::Shape;
use cofferdam_core::changes::ignore::{IgnoreRules, Said, TooManyRules};
use cofferdam_core::changes::manifest::ManifestError;
use cofferdam_core::changes::{BadPath, ChangePath, Content, ContentHash, Entry, FileNode, Node};

use super::beneath::{Workspace, WorkspaceError};
use super::git::{Git, GitError};
use super::objects::open_file;
use super::seen::Kind;
use super::{ChangeSet, Objects, SetError};
use crate::host::{Checkout, checkout};

#[derive(Debug, thiserror::Error)]
pub enum IgnoreError {
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Rules { path: PathBuf, source: TooManyRules },
    #[error("{} has more than {LARGEST} bytes", .0.display())]
    TooLarge(PathBuf),
    /// It was changed by the run and on the host.
    #[error("what {0} said when the run began is not known any more")]
    Unknown(ChangePath),
    #[error("cannot find out what git tracks")]
    Git(#[from] GitError),
    #[error("cannot find the repository: {0}")]
    Repository(String),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Set(#[from] SetError),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Path(#[from] BadPath),
}

/// Longer than any list of rules that people write.
const LARGEST: u64 = 1 << 20;
const RULES: &str = ".gitignore";
const EXCLUDE: &str = ".git/info/exclude";

/// The paths of a set that git ignores on the host.
pub fn ignored(
    set: &mut ChangeSet,
    workspace: &Workspace,
) -> Result<BTreeSet<ChangePath>, IgnoreError> {
    let checkout =
        checkout(workspace.path()).map_err(|error| IgnoreError::Repository(error.to_string()))?;
    let mut changed = HashMap::new();
    for entry in set.entries()? {
        let Entry { path, before, .. } = entry?;
        if path.name() == RULES || path.as_bytes() == EXCLUDE.as_bytes() {
            let file = match before {
                Some(Node::File(file)) => Some(file),
                _ => None,
            };
            changed.insert(path, file);
        }
    }
    let host = Host { workspace, changed, objects: set.objects() };
    let mut rules = Rules::new(host, checkout.as_ref())?;
    let mut found = BTreeSet::new();
    for entry in set.entries()? {
        let entry = entry?;
        if rules.ignore(&entry)? {
            found.insert(entry.path);
        }
    }
    if let Some(checkout) = checkout.filter(|_| !found.is_empty()) {
        let tracked = Tracked::of(&checkout)?;
        found.retain(|path| !tracked.has(&[rules.outer.as_slice(), path.as_bytes()].concat()));
    }
    Ok(found)
}

/// Rules by the directory that they lie in, read when they are needed.
struct Rules<'a> {
    host: Host<'a>,
    /// From the repository's top to the workspace, each name with a slash; empty where they are the same.
    outer: Vec<u8>,
    /// Those above the workspace, the topmost first: how long the path to each is.
    above: Vec<(usize, Rc<IgnoreRules>)>,
    within: HashMap<Vec<u8>, Option<Rc<IgnoreRules>>>,
}

impl<'a> Rules<'a> {
    fn new(host: Host<'a>, checkout: Option<&Checkout>) -> Result<Self, IgnoreError> {
        let mut rules = Self { host, outer: Vec::new(), above: Vec::new(), within: HashMap::new() };
        let Some(checkout) = checkout else { return Ok(rules) };
        let workspace = rules.host.workspace.path();
        let exclude = match checkout.common == workspace.join(".git") {
            true => rules.host.text(&ChangePath::new(EXCLUDE)?)?,
            false => read(&checkout.common.join("info/exclude"))?,
        };
        let exclude = exclude.map(|text| parse(&checkout.common.join("info/exclude"), &text));
        rules.above.extend(exclude.transpose()?.map(|exclude| (0, exclude)));
        // What lies above the workspace is no part of it: nothing of that was changed.
        let mut dir = checkout.top.clone();
        for name in workspace.strip_prefix(&checkout.top).into_iter().flat_map(Path::iter) {
            let path = dir.join(RULES);
            let text = read(&path)?.map(|text| parse(&path, &text)).transpose()?;
            rules.above.extend(text.map(|text| (rules.outer.len(), text)));
            rules.outer.extend_from_slice(name.as_bytes());
            rules.outer.push(b'/');
            dir.push(name);
        }
        Ok(rules)
    }

    /// What was of two kinds is ignored only if both are.
    fn ignore(&mut self, entry: &Entry) -> Result<bool, IgnoreError> {
        // Git's own is not git's to ignore.
        if entry.path.names().any(|name| name == ".git") {
            return Ok(false);
        }
        for node in [&entry.before, &entry.after].into_iter().flatten() {
            let shape = match node {
                Node::Directory { .. } => Shape::Directory,
                _ => Shape::Other,
            };
            if !self.ignores(&entry.path, shape)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Down from the top: what is in an ignored directory is ignored, and nothing in there is asked.
    fn ignores(&mut self, path: &ChangePath, shape: Shape) -> Result<bool, IgnoreError> {
        let whole = [self.outer.as_slice(), path.as_bytes()].concat();
        let outer = self.outer.len();
        let mut asked = self.above.clone();
        asked.extend(self.of(b"")?.map(|rules| (outer, rules)));
        let slashes = (outer..whole.len()).filter(|at| whole[*at] == b'/');
        for end in slashes.chain([whole.len()]) {
            let is_last = end == whole.len();
            let shape = if is_last { shape } else { Shape::Directory };
            // The nearest file has the last word.
            let mut answers =
                asked.iter().rev().map(|(at, rules)| rules.says(&whole[*at..end], shape));
            if answers.find_map(|said| said) == Some(Said::Ignored) {
                return Ok(true);
            }
            if !is_last {
                asked.extend(self.of(&whole[outer..end])?.map(|rules| (end + 1, rules)));
            }
        }
        Ok(false)
    }

    /// Of a directory of the workspace.
    fn of(&mut self, dir: &[u8]) -> Result<Option<Rc<IgnoreRules>>, IgnoreError> {
        if let Some(known) = self.within.get(dir) {
            return Ok(known.clone());
        }
        let path = Path::new(OsStr::from_bytes(dir)).join(RULES);
        let text = match ChangePath::new(&path) {
            Ok(path) => self.host.text(&path)?,
            // Too long to be named: nothing of the host's is there.
            Err(_) => None,
        };
        let rules = text.map(|text| parse(&path, &text)).transpose()?;
        self.within.insert(dir.to_owned(), rules.clone());
        Ok(rules)
    }
}

/// Files of the workspace, as they were before the run.
struct Host<'a> {
    workspace: &'a Workspace,
    /// What the run changed of them, and what was there.
    changed: HashMap<ChangePath, Option<FileNode>>,
    objects: Objects,
}

impl Host<'_> {
    fn text(&self, path: &ChangePath) -> Result<Option<Vec<u8>>, IgnoreError> {
        let Some(before) = self.changed.get(path) else { return self.present(path) };
        let Some(FileNode { size, content, .. }) = before else { return Ok(None) };
        match content {
            _ if *size > LARGEST => Err(IgnoreError::TooLarge(path.as_path().to_owned())),
            Content::Kept(hash) => {
                let read = self.objects.read(*hash, *size);
                let path = || path.as_path().to_owned();
                read.map(Some).map_err(|source| IgnoreError::Io { path: path(), source })
            }
            Content::Known(hash) => match self.present(path)? {
                Some(text) if ContentHash::of(&text) == *hash => Ok(Some(text)),
                _ => Err(IgnoreError::Unknown(path.clone())),
            },
            Content::Unknown => Err(IgnoreError::Unknown(path.clone())),
        }
    }

    fn present(&self, path: &ChangePath) -> Result<Option<Vec<u8>>, IgnoreError> {
        let place = match self.workspace.place(path) {
            Ok(place) => place,
            // A directory that is new, or behind a link, has no rules of the host's.
            Err(
                WorkspaceError::NoParent { .. }
                | WorkspaceError::Detour { .. }
                | WorkspaceError::OtherFileSystem { .. },
            ) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match place.look() {
            // Git does not follow a link there either.
            Ok(Some(seen)) if seen.kind == Kind::File => {}
            Ok(_) => return Ok(None),
            Err(source) => return Err(IgnoreError::Io { path: path.as_path().to_owned(), source }),
        }
        bounded(place.open_file(), path.as_path())
    }
}

/// What git keeps track of, sorted.
struct Tracked(Vec<Vec<u8>>);

impl Tracked {
    fn of(checkout: &Checkout) -> Result<Self, IgnoreError> {
        let io = |source| IgnoreError::Io { path: checkout.dir.clone(), source };
        let listed = Git::of_host(&checkout.dir).map_err(io)?.ask(["ls-files", "-z"])?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let mut paths: Vec<Vec<u8>> = paths.map(<[u8]>::to_vec).collect();
        paths.sort_unstable();
        Ok(Self(paths))
    }

    /// Itself, or something in it.
    fn has(&self, path: &[u8]) -> bool {
        let within = [path, b"/"].concat();
        let at = self.0.partition_point(|known| *known < within);
        self.0.binary_search_by(|known| known.as_slice().cmp(path)).is_ok()
            || self.0.get(at).is_some_and(|known| known.starts_with(&within))
    }
}

fn parse(path: &Path, text: &[u8]) -> Result<Rc<IgnoreRules>, IgnoreError> {
    let rules = IgnoreRules::parse(text);
    rules.map(Rc::new).map_err(|source| IgnoreError::Rules { path: path.to_owned(), source })
}

/// A file outside the workspace; none where there is no regular one.
fn read(path: &Path) -> Result<Option<Vec<u8>>, IgnoreError> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_file() => bounded(open_file(path), path),
        _ => Ok(None),
    }
}

fn bounded(file: io::Result<File>, path: &Path) -> Result<Option<Vec<u8>>, IgnoreError> {
    let mut text = Vec::new();
    let read = file.and_then(|file| file.take(LARGEST + 1).read_to_end(&mut text));
    read.map_err(|source| IgnoreError::Io { path: path.to_owned(), source })?;
    match text.len() as u64 > LARGEST {
        true => Err(IgnoreError::TooLarge(path.to_owned())),
        false => Ok(Some(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_tracked_with_what_is_in_it() {
        let tracked = Tracked(["a/b", "ab", "c"].map(|path| path.as_bytes().to_vec()).to_vec());
        for path in ["a", "a/b", "ab", "c"] {
            assert!(tracked.has(path.as_bytes()), "{path}");
        }
        for path in ["b", "a/c", "a/b/c", "d"] {
            assert!(!tracked.has(path.as_bytes()), "{path}");
        }
    }
}
