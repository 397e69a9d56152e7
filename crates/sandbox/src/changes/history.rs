//! Commits that were made inside: looked at, and brought home as a branch.
//!
//! A change set holds what the program wrote to its repository. Only objects are taken from it, and the
//! hashes that its references name; they go into a quarantine, a fresh repository of ours that can see the
//! host's objects. From there git brings them to the host, checking each object. Nothing else that the
//! program wrote to a repository, settings, hooks, attributes, is ever looked at by git.

mod part;
mod quarantine;
mod submodule;
mod tip;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::manifest::{ManifestError, Tree};
use cofferdam_core::changes::{ChangePath, Content, Entry, FileNode, Node};
use cofferdam_core::event::EventKind;
use cofferdam_core::inert::Inert;
use cofferdam_core::record::Record;
use cofferdam_core::redact::Redactor;
use cofferdam_native::hides;
use serde::Serialize;

use super::git::{Git, GitError};
use super::{ChangeSet, Objects, REPOSITORY, SetError};
use crate::host::checkout;
use crate::runs::{Scribe, Store};
use crate::state::{StateDir, StateError};
use part::{Part, is_id, packed};
use quarantine::Quarantine;
use submodule::{Named, absent, gitlinks, of_submodule};
use tip::Kind;
pub use tip::{Left, Tip, short_name};

/// The commits of one run.
#[derive(Debug)]
pub struct History {
    quarantine: Quarantine,
    host: Git,
    /// All that the host has, the way git reads a list of revisions to leave out.
    known: Vec<u8>,
    /// What the program's references name and the host's do not reach, in the order in which it is brought home.
    tips: Vec<Tip>,
    /// Where commits were made that are not the checkout's own.
    submodules: Vec<PathBuf>,
    /// The host's git directory.
    repository: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    pub id: String,
    pub author: String,
    pub email: String,
    pub date: String,
    pub subject: String,
    /// References that name it, in full.
    pub refs: Vec<String>,
}

/// A branch that was made on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Imported {
    pub branch: String,
    /// What the branch points to.
    pub commit: String,
    /// How many came with it.
    pub commits: usize,
    /// The reference inside that it was taken from.
    pub from: String,
    /// What it did not bring along, and the next branches would.
    pub left: Vec<Left>,
}

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Set(#[from] SetError),
    #[error(transparent)]
    State(#[from] StateError),
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
    /// Whoever commits what it cannot see commits that it is empty.
    #[error("the commits change what was hidden from the program: {}", shown(.0))]
    Hidden(Vec<PathBuf>),
    /// Whoever checks such a branch out cannot have the submodule with it.
    #[error("the commits name commits of {} that the host does not have", submodules_in_words(.0))]
    Absent(Vec<PathBuf>),
}

/// One or several, by their places.
pub fn submodules_in_words(paths: &[PathBuf]) -> String {
    let s = if paths.len() == 1 { "" } else { "s" };
    format!("the submodule{s} {}", shown(paths))
}

fn shown(paths: &[PathBuf]) -> String {
    const NAMED: usize = 5;
    let mut text: Vec<_> =
        paths.iter().take(NAMED).map(|path| Inert::path(path).to_string()).collect();
    text.extend((paths.len() > NAMED).then(|| format!("{} more", paths.len() - NAMED)));
    text.join(", ")
}

/// What is to become of commits.
#[derive(Debug, Clone, Copy)]
pub struct Importing<'a> {
    pub branch: &'a str,
    /// What of that which was hidden they may change, with all below it.
    pub allowed: &'a [ChangePath],
}

/// More than any day's work; an object store of this size was not made by committing.
const MOST: u64 = 4 << 30;
/// References are a line; anything longer is not one.
const LONGEST_REFERENCE: u64 = 4096;
const LONGEST_PACKED: u64 = 16 << 20;

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ObjectFormat {
    #[default]
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// That of the host's repository of a run. Where there is none, or no git, the usual one.
    pub fn of_run(record: &Record) -> Self {
        let elsewhere = record.plan.as_ref().and_then(|plan| plan.repository.as_ref());
        let own = || record.workspace.join(".git");
        let dir = elsewhere.map_or_else(own, |repository| repository.source.real.to_path_buf());
        let asked = Git::of_host(&dir).map(|git| git.ask(["rev-parse", "--show-object-format"]));
        match asked {
            Ok(Ok(said)) if said.trim_ascii() == b"sha256" => Self::Sha256,
            _ => Self::Sha1,
        }
    }
}

impl History {
    /// Gathers the commits of a run.
    pub fn of_run(state: &StateDir, record: &Record) -> Result<Self, HistoryError> {
        Self::gather(&mut Source::of(state, record)?)
    }

    /// The same where there are commits. Where no reference was written to, no git is started to find out.
    pub fn any_of_run(state: &StateDir, record: &Record) -> Result<Option<Self>, HistoryError> {
        let mut source = match Source::of(state, record) {
            Err(HistoryError::Nothing) => return Ok(None),
            source => source?,
        };
        if !source.has_references()? {
            return Ok(None);
        }
        match Self::gather(&mut source) {
            Ok(Self { tips, submodules, .. }) if tips.is_empty() && submodules.is_empty() => {
                Ok(None)
            }
            Err(HistoryError::NoRepository(_)) => Ok(None),
            history => history.map(Some),
        }
    }

    /// A quarantine is made, for as long as this value lives.
    fn gather(source: &mut Source) -> Result<Self, HistoryError> {
        let Source { set, repository, workspace, scratch, .. } = source;
        if !repository.join("objects").is_dir() {
            return Err(HistoryError::NoRepository(repository.clone()));
        }
        let host = Git::of_host(repository).map_err(io_error("read", repository))?;
        let quarantine = Quarantine::make(scratch, repository, &host)?;
        let (objects, tree) = (set.objects(), set.header().tree);
        let mut references = BTreeMap::new();
        let mut submodules = Named::default();
        let mut size = 0;
        for entry in set.entries()? {
            let entry = entry.map_err(unreadable(scratch))?;
            if let Some((module, name, file)) = of_submodule(&entry, tree) {
                match Part::of(&name) {
                    Some(Part::Reference) => {
                        if let Some(id) = text_of(&objects, file, LONGEST_REFERENCE)? {
                            submodules.add(&module, &name, &id);
                        }
                    }
                    Some(Part::PackedReferences) => {
                        let text = text_of(&objects, file, LONGEST_PACKED)?.unwrap_or_default();
                        packed(&text).for_each(|(name, id)| submodules.add(&module, &name, &id));
                    }
                    Some(Part::Object | Part::Pack) | None => {}
                }
                continue;
            }
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
        let known = known(&host)?;
        let submodules = submodules.made_inside(repository, workspace, scratch)?;
        let (repository, tips) = (repository.clone(), Vec::new());
        let mut history = Self { quarantine, host, known, tips, submodules, repository };
        let head = source.head(&references);
        history.keep_new(references, &head)?;
        Ok(history)
    }

    /// Of the references, those that lead to a commit which the host's do not reach: first where HEAD was.
    fn keep_new(
        &mut self,
        references: BTreeMap<String, String>,
        head: &str,
    ) -> Result<(), HistoryError> {
        let known: HashSet<Vec<u8>> =
            self.known.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        for (name, text) in references {
            let is_known = known.contains(format!("^{text}").as_bytes());
            if Kind::of(&name).is_none() || !is_id(&text) || is_known {
                continue;
            }
            // A tag may be an object of its own: what it leads to is the first that is listed.
            if let Some(commit) = self.new_commits(&[&text], Some(1))?.pop() {
                self.tips.push(Tip { name, commit: commit.id });
            }
        }
        self.tips.sort_by_key(|tip| (tip.name != head, Kind::of(&tip.name), tip.name.clone()));
        Ok(())
    }

    /// The newest first, of all that are new.
    pub fn commits(&self, most: usize) -> Result<Vec<Commit>, HistoryError> {
        if self.tips.is_empty() {
            return Ok(Vec::new());
        }
        let mut commits = self.new_commits(&self.ends(), Some(most))?;
        for commit in &mut commits {
            let here = self.tips.iter().filter(|tip| tip.commit == commit.id);
            commit.refs = here.map(|tip| tip.name.clone()).collect();
        }
        Ok(commits)
    }

    /// How many there are.
    pub fn count(&self) -> Result<u64, HistoryError> {
        if self.tips.is_empty() {
            return Ok(0);
        }
        self.count_of(&self.ends(), &[])
    }

    fn count_of(&self, tips: &[&str], without: &[&str]) -> Result<u64, HistoryError> {
        let list = self.leading_to(tips, without)?;
        let count = self.quarantine.git.tell(["rev-list", "--count", "--stdin"], list)?;
        Ok(String::from_utf8_lossy(count.trim_ascii()).parse().unwrap_or_default())
    }

    fn ends(&self) -> Vec<&str> {
        self.tips.iter().map(|tip| tip.commit.as_str()).collect()
    }

    /// The one that is brought home first.
    fn first(&self) -> Result<&Tip, HistoryError> {
        self.tips.first().ok_or(HistoryError::Nothing)
    }

    /// The tips that a branch which is made now, of the first, does not bring along.
    pub fn left(&self) -> Result<Vec<Left>, HistoryError> {
        let Some((first, others)) = self.tips.split_first() else { return Ok(Vec::new()) };
        let mut along = vec![first.commit.as_str()];
        let mut left = Vec::new();
        for tip in others {
            let commits = self.count_of(&[&tip.commit], &along)?;
            if commits > 0 {
                along.push(&tip.commit);
                left.push(Left { tip: tip.clone(), commits });
            }
        }
        Ok(left)
    }

    /// The references that lead to new commits, the one that is brought home first before the others.
    pub fn tips(&self) -> &[Tip] {
        &self.tips
    }

    /// The submodules in which commits were made, by their places in the workspace. These commits are not among the others.
    pub fn submodules(&self) -> &[PathBuf] {
        &self.submodules
    }

    /// Makes a new branch on the host of what was committed inside, and writes down that it did.
    pub fn import(
        &self,
        state: &StateDir,
        record: &Record,
        actor: &str,
        wanted: Importing<'_>,
    ) -> Result<Imported, HistoryError> {
        let is_allowed = |path: &PathBuf| {
            wanted.allowed.iter().any(|allowed| path.starts_with(allowed.as_path()))
        };
        let mut hidden = self.hidden(record)?;
        hidden.retain(|path| !is_allowed(path));
        if !hidden.is_empty() {
            return Err(HistoryError::Hidden(hidden.into_iter().collect()));
        }
        let mut absent = self.absent(state, record)?;
        absent.retain(|path| !is_allowed(path));
        if !absent.is_empty() {
            return Err(HistoryError::Absent(absent));
        }
        let imported = self.bring(wanted.branch)?;
        let (workspace, actor) = (record.workspace.clone(), actor.to_owned());
        let mut scribe = Scribe::new(state, record.run, workspace, actor, Redactor::default());
        scribe.event(EventKind::Imported {
            branch: imported.branch.clone(),
            commit: imported.commit.clone(),
            commits: imported.commits as u64,
        })?;
        Ok(imported)
    }

    fn bring(&self, branch: &str) -> Result<Imported, HistoryError> {
        let first = self.first()?;
        let (tip, left) = (&first.commit, self.left()?);
        let reference = format!("refs/heads/{branch}");
        // `--branch` refuses what `git branch` would, and names what `@{-1}` stands for: that is no name.
        // HEAD would be another thing to every command; older versions of git let it pass.
        let named = self.host.ask(["check-ref-format", "--branch", branch]);
        let good = !branch.starts_with('-')
            && branch != "HEAD"
            && named.is_ok_and(|name| name.trim_ascii_end() == branch.as_bytes())
            && self.host.ask(["check-ref-format", reference.as_str()]).is_ok();
        if !good {
            return Err(HistoryError::BadName(branch.to_owned()));
        }
        let there = self.host.ask(["show-ref", "--verify", "--quiet", "--", &reference]);
        if there.is_ok() {
            return Err(HistoryError::Exists(branch.to_owned()));
        }
        let count = self.new_commits(&[tip], None)?.len();
        let known = self.leading_to(&[tip], &[])?;
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
        Ok(Imported {
            branch: branch.to_owned(),
            commit: tip.clone(),
            commits: count,
            from: first.name.clone(),
            left,
        })
    }

    /// What the new commits change of that which the program could not see. A merge counts with what it has from none of
    /// those it merged.
    fn hidden(&self, record: &Record) -> Result<BTreeSet<PathBuf>, HistoryError> {
        let Some(plan) = record.plan.as_ref().filter(|plan| !plan.blocked.is_empty()) else {
            return Ok(BTreeSet::new());
        };
        let args = ["log", "-z", "--format=", "--name-only", "--no-renames", "-c", "--stdin"];
        let text =
            self.quarantine.git.tell(args, self.leading_to(&[&self.first()?.commit], &[])?)?;
        let names = text.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let paths = names.map(|name| PathBuf::from(OsStr::from_bytes(name)));
        Ok(paths.filter(|path| hides(&plan.blocked, path)).collect())
    }

    /// The submodules of which the new commits name some that the host does not have.
    fn absent(&self, state: &StateDir, record: &Record) -> Result<Vec<PathBuf>, HistoryError> {
        let args = ["log", "-z", "--format=", "--raw", "--no-abbrev", "--no-renames", "-c"];
        let args = args.into_iter().chain(["--ignore-submodules=none", "--stdin"]);
        let list = self.leading_to(&[&self.first()?.commit], &[])?;
        let scratch = Store::new(state).dir(record.run);
        let places = (&*record.workspace, self.repository.as_path(), scratch.as_path());
        let mut found = Vec::new();
        for (path, ids) in gitlinks(&self.quarantine.git.tell(args, list)?) {
            if !absent(places, &path, &ids)?.is_empty() {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// A list for git: what leads to `tips`, and neither the host has nor leads to others.
    fn leading_to(&self, tips: &[&str], without: &[&str]) -> Result<File, HistoryError> {
        let tips = tips.iter().map(|tip| format!("{tip}\n"));
        let lines: String = tips.chain(without.iter().map(|tip| format!("^{tip}\n"))).collect();
        self.quarantine.list(&[lines.as_bytes(), &self.known].concat())
    }

    fn new_commits(&self, tips: &[&str], most: Option<usize>) -> Result<Vec<Commit>, HistoryError> {
        let mut args = vec![
            "log".to_owned(),
            "-z".to_owned(),
            // Commits of one second come in the order in which they were made.
            "--topo-order".to_owned(),
            "--no-color".to_owned(),
            "--format=%H%x00%an%x00%ae%x00%aI%x00%s".to_owned(),
        ];
        args.extend(most.map(|most| format!("--max-count={most}")));
        args.push("--stdin".to_owned());
        let text = self.quarantine.git.tell(args, self.leading_to(tips, &[])?)?;
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
            refs: Vec::new(),
        };
        Ok(fields.chunks_exact(5).map(commit).collect())
    }
}

/// Where the commits of a run would be.
struct Source {
    set: ChangeSet,
    /// The host's git directory.
    repository: PathBuf,
    /// What of it is the checkout's own.
    checkout: PathBuf,
    workspace: PathBuf,
    /// A directory of ours.
    scratch: PathBuf,
}

impl Source {
    fn of(state: &StateDir, record: &Record) -> Result<Self, HistoryError> {
        let scratch = Store::new(state).dir(record.run);
        let changes = record.changes.as_ref().ok_or(HistoryError::Nothing)?;
        let elsewhere = record.plan.as_ref().and_then(|plan| plan.repository.as_ref());
        let (set, repository) = match (elsewhere, &changes.repository) {
            (Some(repository), Some(sealed)) => {
                let set = ChangeSet::open(&scratch.join(REPOSITORY), sealed)?;
                (set, repository.source.real.to_path_buf())
            }
            _ => (ChangeSet::open(&scratch, &changes.manifest)?, record.workspace.join(".git")),
        };
        let checkout = match checkout(&record.workspace) {
            Ok(Some(checkout)) if checkout.common == repository => checkout.dir,
            _ => repository.clone(),
        };
        Ok(Self { set, repository, checkout, workspace: record.workspace.to_path_buf(), scratch })
    }

    /// Whether a reference was written to: a commit that none names is one that nobody finds.
    fn has_references(&mut self) -> Result<bool, HistoryError> {
        let tree = self.set.header().tree;
        for entry in self.set.entries()? {
            let entry = entry.map_err(unreadable(&self.scratch))?;
            let own = of_repository(&entry, tree).map(|(name, _)| name);
            let name = of_submodule(&entry, tree).map(|(_, name, _)| name).or(own);
            let part = name.and_then(|name| Part::of(&name));
            if matches!(part, Some(Part::Reference | Part::PackedReferences)) {
                return Ok(true);
            }
            // In order of their names, all the others come later.
            let top = entry.path.as_path().components().next();
            if tree == Tree::Workspace && top.is_some_and(|top| top.as_os_str() > ".git") {
                break;
            }
        }
        Ok(false)
    }

    /// The reference where the checkout's HEAD is: a branch, or HEAD itself. What the program did not change is the host's.
    fn head(&self, references: &BTreeMap<String, String>) -> String {
        let own = self.checkout.strip_prefix(&self.repository).unwrap_or(Path::new(""));
        let own = own.join("HEAD").to_string_lossy().into_owned();
        let text = match references.get(&own) {
            Some(text) => Some(text.clone()),
            None => fs::read_to_string(self.checkout.join("HEAD")).ok(),
        };
        let branch = text.as_deref().and_then(|text| text.trim_end().strip_prefix("ref: "));
        branch.map_or(own, str::to_owned)
    }
}

fn unreadable(scratch: &Path) -> impl FnOnce(ManifestError) -> SetError + '_ {
    |source| SetError::Manifest { path: scratch.join("manifest"), source }
}

fn known(host: &Git) -> Result<Vec<u8>, GitError> {
    let refs = host.ask(["for-each-ref", "--format=%(objectname)"])?;
    // A repository without a commit has no HEAD to speak of.
    let head = host.ask(["rev-parse", "--verify", "--quiet", "HEAD"]).unwrap_or_default();
    let ids = refs.split(|b| *b == b'\n').chain(head.split(|b| *b == b'\n'));
    let mut list = Vec::new();
    for id in ids.filter(|id| !id.is_empty()) {
        list.push(b'^');
        list.extend_from_slice(id);
        list.push(b'\n');
    }
    Ok(list)
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

fn io_error<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> HistoryError + 'a {
    move |source| HistoryError::Io { action, path: path.to_owned(), source }
}
