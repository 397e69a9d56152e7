//! Commits that were made inside: looked at, and brought home as a branch.
//!
//! A change set holds what the program wrote to its repository. Only objects are taken from it, and the
//! hashes that its references name; they go into a quarantine, a fresh repository of ours that can see the
//! host's objects. From there git brings them to the host, checking each object. Nothing else that the
//! program wrote to a repository, settings, hooks, attributes, is ever looked at by git.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::manifest::Tree;
use cofferdam_core::changes::{Content, Entry, FileNode, Node};
use serde::Serialize;

use super::git::{Git, GitError};
use super::{ChangeSet, Objects, SetError};

/// The commits of one run.
#[derive(Debug)]
pub struct History {
    quarantine: Quarantine,
    host: Git,
    /// Hashes that the program's references name and the host's do not.
    tips: BTreeMap<String, String>,
    /// Where the program's HEAD was in the end.
    head: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    pub id: String,
    pub author: String,
    pub email: String,
    pub date: String,
    pub subject: String,
}

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Set(#[from] SetError),
    #[error("cannot {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not a git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("there is no commit that the host does not have")]
    Nothing,
    #[error("the commits inside are {size} bytes, more than {MOST}")]
    TooLarge { size: u64 },
    #[error("there is a branch {0:?} already")]
    Exists(String),
    #[error("{0:?} is not a name for a branch")]
    BadName(String),
    #[error("the path of {} has a line break, which git cannot take", .0.display())]
    OddPath(PathBuf),
}

/// More than any day's work; an object store of this size was not made by committing.
const MOST: u64 = 4 << 30;
/// References are a line; anything longer is not one.
const LONGEST_REFERENCE: u64 = 4096;
const LONGEST_PACKED: u64 = 16 << 20;

impl History {
    /// Gathers what `set` has of commits. `repository` is the host's git directory; `scratch` is a
    /// directory of ours, in which a quarantine is made for as long as this value lives.
    pub fn gather(
        set: &mut ChangeSet,
        repository: &Path,
        scratch: &Path,
    ) -> Result<Self, HistoryError> {
        if !repository.join("objects").is_dir() {
            return Err(HistoryError::NoRepository(repository.to_owned()));
        }
        let host = Git::of_host(repository).map_err(io_error("read", repository))?;
        let quarantine = Quarantine::make(scratch, repository, &host)?;
        let (objects, tree) = (set.objects(), set.header().tree);
        let mut references = BTreeMap::new();
        let mut size = 0;
        for entry in set.entries()? {
            let entry = entry
                .map_err(|source| SetError::Manifest { path: scratch.join("manifest"), source })?;
            let Some((name, file)) = of_repository(&entry, tree) else { continue };
            match Part::of(&name) {
                Some(Part::Object) => {
                    size += file.size;
                    if size > MOST {
                        return Err(HistoryError::TooLarge { size });
                    }
                    quarantine.take(&objects, file, &name)?;
                }
                Some(Part::Pack) => {
                    size += file.size;
                    if size > MOST {
                        return Err(HistoryError::TooLarge { size });
                    }
                    quarantine.unpack(&objects, file)?;
                }
                Some(Part::Reference) => {
                    if let Some(text) = text_of(&objects, file, LONGEST_REFERENCE)? {
                        references.insert(name, text);
                    }
                }
                Some(Part::PackedReferences) => {
                    let text = text_of(&objects, file, LONGEST_PACKED)?.unwrap_or_default();
                    for (name, id) in packed(&text) {
                        references.entry(name).or_insert(id);
                    }
                }
                None => {}
            }
        }
        let head = head(&references, &host);
        let mut history = Self { quarantine, host, tips: BTreeMap::new(), head };
        history.keep_new(references)?;
        Ok(history)
    }

    /// Of the references, those that name a commit which the host's do not reach.
    fn keep_new(&mut self, references: BTreeMap<String, String>) -> Result<(), HistoryError> {
        for (name, text) in references {
            let is_tip = name.starts_with("refs/heads/") || name.ends_with("HEAD");
            if !is_tip || !is_id(&text) {
                continue;
            }
            if !self.new_commits(&text, Some(1))?.is_empty() {
                self.tips.insert(name, text);
            }
        }
        Ok(())
    }

    /// The newest first, of all that are new.
    pub fn commits(&self, most: usize) -> Result<Vec<Commit>, HistoryError> {
        match self.tip() {
            Ok(tip) => self.new_commits(&tip, Some(most)),
            Err(HistoryError::Nothing) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The branches, or detached heads, that have new commits.
    pub fn tips(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tips.iter().map(|(name, id)| (name.as_str(), id.as_str()))
    }

    /// What would be brought home: where HEAD was, or else the one branch that is new.
    fn tip(&self) -> Result<String, HistoryError> {
        let head = self.head.as_ref().filter(|head| self.tips.values().any(|id| id == *head));
        head.or_else(|| self.tips.values().next()).cloned().ok_or(HistoryError::Nothing)
    }

    /// Makes a new branch on the host of what was committed inside. Returns how many commits came.
    pub fn import(&self, branch: &str) -> Result<(String, usize), HistoryError> {
        let tip = self.tip()?;
        let reference = format!("refs/heads/{branch}");
        let good = !branch.starts_with('-')
            && self.host.ask(["check-ref-format", reference.as_str()]).is_ok();
        if !good {
            return Err(HistoryError::BadName(branch.to_owned()));
        }
        let there = self.host.ask(["show-ref", "--verify", "--quiet", "--", &reference]);
        if there.is_ok() {
            return Err(HistoryError::Exists(branch.to_owned()));
        }
        let count = self.new_commits(&tip, None)?.len();
        let known = self.quarantine.list(&self.known(&tip)?)?;
        let pack = self.quarantine.file("outgoing.pack")?;
        let wanted =
            ["pack-objects", "--quiet", "--revs", "--thin", "--stdout", "--delta-base-offset"];
        self.quarantine.git.pass(wanted, known, pack.1)?;
        let pack = File::open(&pack.0).map_err(io_error("open", &pack.0))?;
        // Checks every object, and that all that they name is there.
        self.host.tell(["index-pack", "--stdin", "--fix-thin", "--strict"], pack)?;
        // All zeros: only where there is no such branch.
        let none = "0".repeat(tip.len());
        self.host.ask(["update-ref", reference.as_str(), tip.as_str(), none.as_str()])?;
        Ok((tip, count))
    }

    /// A tip, and all that the host has, the way git reads a list of revisions.
    fn known(&self, tip: &str) -> Result<Vec<u8>, HistoryError> {
        let mut list = format!("{tip}\n").into_bytes();
        let refs = self.host.ask(["for-each-ref", "--format=%(objectname)"])?;
        // A repository without a commit has no HEAD to speak of.
        let head = self.host.ask(["rev-parse", "--verify", "--quiet", "HEAD"]).unwrap_or_default();
        let ids = refs.split(|b| *b == b'\n').chain(head.split(|b| *b == b'\n'));
        for id in ids.filter(|id| !id.is_empty()) {
            list.push(b'^');
            list.extend_from_slice(id);
            list.push(b'\n');
        }
        Ok(list)
    }

    fn new_commits(&self, tip: &str, most: Option<usize>) -> Result<Vec<Commit>, HistoryError> {
        let mut args = vec![
            "log".to_owned(),
            "-z".to_owned(),
            "--no-color".to_owned(),
            "--format=%H%x00%an%x00%ae%x00%aI%x00%s".to_owned(),
        ];
        args.extend(most.map(|most| format!("--max-count={most}")));
        args.push("--stdin".to_owned());
        let text = self.quarantine.git.tell(args, self.quarantine.list(&self.known(tip)?)?)?;
        let fields: Vec<String> = text
            .split(|byte| *byte == 0)
            .map(|field| String::from_utf8_lossy(field).into_owned())
            .collect();
        let commit = |f: &[String]| Commit {
            id: f[0].clone(),
            author: f[1].clone(),
            email: f[2].clone(),
            date: f[3].clone(),
            subject: f[4].clone(),
        };
        Ok(fields.chunks_exact(5).map(commit).collect())
    }
}

/// The name in its repository, and the content, of a file that the program wrote to a repository.
fn of_repository(entry: &Entry, tree: Tree) -> Option<(String, &FileNode)> {
    let name = match tree {
        Tree::Workspace => entry.path.as_bytes().strip_prefix(b".git/")?,
        Tree::GitCommon => entry.path.as_bytes(),
    };
    match &entry.after {
        Some(Node::File(file)) => Some((String::from_utf8(name.to_vec()).ok()?, file)),
        _ => None,
    }
}

/// The parts of a repository that are looked at. All else is not.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Object,
    Pack,
    Reference,
    PackedReferences,
}

impl Part {
    fn of(name: &str) -> Option<Self> {
        let names: Vec<&str> = name.split('/').collect();
        match names.as_slice() {
            ["objects", two, rest] if two.len() == 2 && is_id(&format!("{two}{rest}")) => {
                Some(Self::Object)
            }
            ["objects", "pack", pack] => {
                let id = pack.strip_prefix("pack-").and_then(|pack| pack.strip_suffix(".pack"));
                id.is_some_and(is_id).then_some(Self::Pack)
            }
            ["packed-refs"] => Some(Self::PackedReferences),
            ["HEAD"] | ["worktrees", _, "HEAD"] | ["refs", "heads", ..] => Some(Self::Reference),
            _ => None,
        }
    }
}

/// A hash as git writes it, of either kind.
fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn packed(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.filter(|(id, _)| is_id(id)).map(|(id, name)| (name.to_owned(), id.to_owned()))
}

/// Where HEAD is, followed once if it names a branch. What the program did not change is the host's.
fn head(references: &BTreeMap<String, String>, host: &Git) -> Option<String> {
    let worktree = references.keys().find(|name| name.starts_with("worktrees/"));
    let own = worktree.or_else(|| references.keys().find(|name| *name == "HEAD"));
    let text = match own.and_then(|name| references.get(name)) {
        Some(text) => text.clone(),
        None => {
            let branch = host.ask(["symbolic-ref", "--quiet", "HEAD"]).ok()?;
            format!("ref: {}", String::from_utf8_lossy(branch.trim_ascii()))
        }
    };
    match text.strip_prefix("ref: ") {
        Some(branch) => references.get(branch).cloned(),
        None => Some(text),
    }
}

fn text_of(objects: &Objects, file: &FileNode, most: u64) -> Result<Option<String>, HistoryError> {
    let Content::Kept(hash) = file.content else { return Ok(None) };
    if file.size > most {
        return Ok(None);
    }
    let bytes = objects.read(hash, file.size).map_err(|source| HistoryError::Io {
        action: "read",
        path: objects.path(hash),
        source,
    })?;
    Ok(String::from_utf8(bytes).ok().map(|text| text.trim_end().to_owned()))
}

/// A repository of ours that holds objects of the program's. Gone when dropped.
#[derive(Debug)]
struct Quarantine {
    dir: PathBuf,
    git: Git,
}

impl Quarantine {
    fn make(scratch: &Path, repository: &Path, host: &Git) -> Result<Self, HistoryError> {
        let dir = scratch.join("quarantine");
        let objects = repository.join("objects");
        if objects.as_os_str().as_bytes().contains(&b'\n') {
            return Err(HistoryError::OddPath(objects));
        }
        // Of one who was killed.
        match fs::remove_dir_all(&dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("remove", &dir)(e));
            }
            _ => {}
        }
        let format = host.ask(["rev-parse", "--show-object-format"])?;
        let format = String::from_utf8_lossy(format.trim_ascii()).into_owned();
        let git = Git::at(&dir);
        let quarantine = Self { dir, git };
        let kind = format!("--object-format={format}");
        quarantine.git.ask(["init", "--quiet", "--bare", "--template=", kind.as_str()])?;
        let mut line = objects.into_os_string().into_vec();
        line.push(b'\n');
        quarantine.write("objects/info/alternates", &line)?;
        Ok(quarantine)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), HistoryError> {
        let path = self.dir.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, bytes)).map_err(io_error("write", &path))
    }

    /// A file of ours in here, and its path.
    fn file(&self, name: &str) -> Result<(PathBuf, File), HistoryError> {
        let path = self.dir.join(name);
        let file = File::create(&path).map_err(io_error("create", &path))?;
        Ok((path, file))
    }

    /// A list for git to read.
    fn list(&self, lines: &[u8]) -> Result<File, HistoryError> {
        self.write("list", lines)?;
        let path = self.dir.join("list");
        File::open(&path).map_err(io_error("open", &path))
    }

    /// A loose object, by its name. That it is what its name says is checked when it is fetched.
    fn take(&self, objects: &Objects, file: &FileNode, name: &str) -> Result<(), HistoryError> {
        let Content::Kept(hash) = file.content else { return Ok(()) };
        let path = self.dir.join(name);
        let mut from = objects.open(hash).map_err(io_error("read", &objects.path(hash)))?;
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| File::create(&path))
            .and_then(|mut to| io::copy(&mut from, &mut to))
            .map_err(io_error("write", &path))?;
        Ok(())
    }

    /// A pack, indexed anew: an index that came with it would be believed.
    fn unpack(&self, objects: &Objects, file: &FileNode) -> Result<(), HistoryError> {
        let Content::Kept(hash) = file.content else { return Ok(()) };
        let pack = objects.open(hash).map_err(io_error("read", &objects.path(hash)))?;
        self.git.tell(["index-pack", "--stdin", "--fix-thin"], pack)?;
        Ok(())
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        // Left behind it is removed by the next one, or with the run.
        fs::remove_dir_all(&self.dir).ok();
    }
}

fn io_error<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> HistoryError + 'a {
    move |source| HistoryError::Io { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_and_references_are_looked_at() {
        let id = "0".repeat(38);
        let whole = "a".repeat(40);
        for (name, part) in [
            (format!("objects/ab/{id}"), Some(Part::Object)),
            (format!("objects/pack/pack-{whole}.pack"), Some(Part::Pack)),
            (format!("objects/pack/pack-{whole}.idx"), None),
            (format!("objects/pack/pack-{whole}.promisor"), None),
            ("objects/info/alternates".to_owned(), None),
            ("objects/info/commit-graph".to_owned(), None),
            ("refs/heads/a/b".to_owned(), Some(Part::Reference)),
            ("refs/replace/x".to_owned(), None),
            ("worktrees/w/HEAD".to_owned(), Some(Part::Reference)),
            ("config".to_owned(), None),
            ("config.worktree".to_owned(), None),
            ("hooks/post-checkout".to_owned(), None),
            ("info/attributes".to_owned(), None),
            ("modules/m/config".to_owned(), None),
        ] {
            assert_eq!(Part::of(&name), part, "{name}");
        }
    }

    #[test]
    fn a_line_of_packed_references_is_an_id_and_a_name() {
        let id = "b".repeat(40);
        let text =
            format!("# pack-refs with: peeled\n{id} refs/heads/x\n^{id}\nnot an id refs/heads/y\n");
        assert_eq!(packed(&text).collect::<Vec<_>>(), [("refs/heads/x".to_owned(), id)]);
    }
}
