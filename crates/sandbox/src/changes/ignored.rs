//! Which changes of a set git ignores, by the host's own rules.
//!
//! What counts are the `.gitignore` files of the host and `info/exclude` of its repository; where the run changed one, what it
//! held before. So nothing that the program wrote decides about it. What git tracks is not ignored, whatever the rules say. A
//! repository within is one of its own: what is in a directory that has a `.git` is not ignored by rules of another, and its
//! own are not asked, since which files it tracks is not known here.
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

use super::beneath::{Place, Workspace, WorkspaceError};
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
    /// Directories of the workspace, and whether each is a repository of its own.
    repositories: HashMap<Vec<u8>, bool>,
}

impl<'a> Rules<'a> {
    fn new(host: Host<'a>, checkout: Option<&Checkout>) -> Result<Self, IgnoreError> {
        let mut rules = Self {
            host,
            outer: Vec::new(),
            above: Vec::new(),
            within: HashMap::new(),
            repositories: HashMap::new(),
        };
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
        let path = entry.path.as_bytes();
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            if self.is_repository(&path[..at])? {
                return Ok(false);
            }
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

    /// Whether a directory of the workspace is a repository within another, a submodule too: what is in it is not that one's.
    fn is_repository(&mut self, dir: &[u8]) -> Result<bool, IgnoreError> {
        if let Some(known) = self.repositories.get(dir) {
            return Ok(*known);
        }
        let path = Path::new(OsStr::from_bytes(dir)).join(".git");
        let is_one = match ChangePath::new(&path) {
            Ok(path) => self.host.has(&path)?,
            Err(_) => false,
        };
        self.repositories.insert(dir.to_owned(), is_one);
        Ok(is_one)
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
        match self.look(path)? {
            // Git does not follow a link there either.
            Some((place, Kind::File)) => bounded(place.open_file(), path.as_path()),
            _ => Ok(None),
        }
    }

    /// Whether there is anything.
    fn has(&self, path: &ChangePath) -> Result<bool, IgnoreError> {
        Ok(self.look(path)?.is_some())
    }

    fn look<'p>(&self, path: &'p ChangePath) -> Result<Option<(Place<'p>, Kind)>, IgnoreError> {
        let place = match self.workspace.place(path) {
            Ok(place) => place,
            // A directory that is new, or behind a link, has nothing of the host's.
            Err(
                WorkspaceError::NoParent { .. }
                | WorkspaceError::Detour { .. }
                | WorkspaceError::OtherFileSystem { .. },
            ) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match place.look() {
            Ok(seen) => Ok(seen.map(|seen| (place, seen.kind))),
            Err(source) => Err(IgnoreError::Io { path: path.as_path().to_owned(), source }),
        }
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

    /// Whether the rules of one file ignore a path: down from the top, as for a change.
    fn ignores(rules: &IgnoreRules, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| (at, Shape::Directory));
        let mut said = ends.chain([(path.len(), Shape::Other)]);
        said.any(|(end, shape)| rules.says(&path.as_bytes()[..end], shape) == Some(Said::Ignored))
    }

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        use std::io::Write as _;
        use std::process::{Command, Stdio};

        const PATTERNS: &[&str] = &[
            "*.log",
            "/a",
            "a/b",
            "build/",
            "a/**",
            "**/c",
            "a/**/c",
            "a/*",
            "x{1,2}",
            "[!a]",
            "[^a]",
            // Named classes, and what only looks like one.
            "[[:digit:]]x",
            "[[:alpha:][:digit:]]x",
            "[![:alnum:]]x",
            "[[:punct:]]x",
            "[[:space:]]x",
            "[[:upper:]]x",
            "[[:lower:]]x",
            "[[:xdigit:]]x",
            "[[:cntrl:]]x",
            "[[:blank:]]x",
            "[[:graph:]]x",
            "[[:print:]]x",
            "[[:nonsense:]]x",
            "[[:digit]x",
            "[[:]x",
            "[:digit:]x",
            "[[:digit:]-x]x",
            // Signs that mean something in some place of a class.
            "b[\\]]b",
            "b[]]b",
            "b[]-]b",
            "b[]-a]b",
            "b[!]]b",
            "b[\\\\]b",
            "b[a-]b",
            "b[-a]b",
            "b[!-]b",
            "b[a\\-c]b",
            "b[a-\\c]b",
            "b[--0]b",
            "b[+--]b",
            "b[c-a]b",
            "b[!!]b",
            "b[!^]b",
            "b[\\!]b",
            "b[\\^]b",
            "b[\\!\\^]b",
            "b[-!^]b",
            "b[a!^]b",
            "b[{}]b",
            "b[,]b",
            "b[a",
            "b[",
            "b[a\\",
            "b[]",
            "b[*?]b",
            "b[[]b",
            "b[a-c-e]b",
            // A class never means a slash.
            "a[!x]b",
            "m[a/b]n",
            "/a[!x]b",
            "/a[.-0]b",
            "a[/]b",
            "/a[^x]b",
            "a/b[!x]c",
            // Stars.
            "**",
            "***",
            "c**",
            "**c",
            "c**c",
            "y/***/y",
            "y/**/y",
            "y/****",
            "***/y",
            "y/**y",
            "y/**/**/y",
            "/**/y",
            "y/*/y",
            "**/",
            "c?c",
            "?",
            "a\\/b",
            "y/**\\/y",
            "\\*",
            "\\**",
            "end\\",
            "a\\b",
            "a,b",
            "!a",
            "a]b",
        ];
        const NAMES: &[&str] = &[
            "a", "b", "c", "x", "1x", "ax", "Ax", "gx", "-x", ".x", " x", "\tx", "\u{b}x", "dx",
            "[:x", "]x", ":digit:x", "a.log", "d/a.log", "a/b", "x/a/b", "a/b/c", "a/c", "a/x/y/c",
            "build/f", "x{1,2}", "x1", "é", "éx", "b]b", "b\\b", "b-b", "bab", "bbb", "bcb", "bdb",
            "beb", "b!b", "b^b", "b{b", "b}b", "b,b", "b*b", "b?b", "b[b", "b0b", "b.b", "b/b",
            "b[a", "b[", "b[a\\", "b[]", "b+b", "a/b", "axb", "a.b", "a0b", "a-b", "m/n", "man",
            "mbn", "m[a/b]n", "a/bxc", "a/byc", "a/b/c", "cc", "cxc", "c/c", "cx/y/c", "y/y",
            "y/a/y", "y/a/b/y", "y/xa/y", "y/xa/b/y", "y/by", "*", "**", "*a", "end", "end\\",
            "ab", "a,b", "!a", "a]b",
        ];
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(dir.path()).args(args);
            git.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
            git.env("HOME", dir.path()).env("GIT_CONFIG_NOSYSTEM", "1");
            git.stdin(Stdio::piped()).stdout(Stdio::piped());
            git
        };
        assert!(git(&["init", "-q", "."]).status().unwrap().success());
        let mut wrong = Vec::new();
        for pattern in PATTERNS {
            let text = format!("{pattern}\n");
            std::fs::write(dir.path().join(".gitignore"), &text).unwrap();
            let mut asked = git(&["check-ignore", "--no-index", "-z", "--stdin"]).spawn().unwrap();
            let list: String = NAMES.iter().map(|name| format!("{name}\0")).collect();
            asked.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
            let said = asked.wait_with_output().unwrap();
            assert!(matches!(said.status.code(), Some(0 | 1)), "{pattern:?}: {said:?}");
            let said = String::from_utf8(said.stdout).unwrap();
            let gits: BTreeSet<&str> = said.split_terminator('\0').collect();
            let rules = IgnoreRules::parse(text.as_bytes()).unwrap();
            for name in NAMES {
                let (git, ours) = (gits.contains(name), ignores(&rules, name));
                if git != ours {
                    wrong.push(format!("{pattern:?} {name:?}: git {git}, here {ours}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
