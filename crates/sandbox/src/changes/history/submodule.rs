//! The submodules of a checkout: whether commits were made in them, and whether the host's have the commits that new ones
//! of the checkout name. Their commits do not come home with the checkout's.
//!
//! No git is started on a submodule's repository: one of ours sees the objects of the host's, and is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use cofferdam_core::changes::manifest::Tree;
use cofferdam_core::changes::{Entry, FileNode};
use cofferdam_core::repository::worktree;

use super::part::{Part, is_id};
use super::quarantine::Quarantine;
use super::tip::Kind;
use super::{HistoryError, of_repository};
use crate::host::checkout;

/// Hashes that references of submodules name, by the submodule's directory in the repository.
#[derive(Debug, Default)]
pub(super) struct Named(BTreeMap<String, BTreeSet<String>>);

impl Named {
    /// That a reference of the submodule in `module` names `id`.
    pub(super) fn add(&mut self, module: &str, name: &str, id: &str) {
        if Kind::of(name).is_some() && is_id(id) {
            self.0.entry(module.to_owned()).or_default().insert(id.to_owned());
        }
    }

    /// The submodules of which the host lacks some of it, by their places in the workspace where these are known.
    pub(super) fn made_inside(
        &self,
        repository: &Path,
        workspace: &Path,
        scratch: &Path,
    ) -> Result<Vec<PathBuf>, HistoryError> {
        let mut made = Vec::new();
        for (module, ids) in &self.0 {
            let dir = repository.join(module);
            if !lacking(scratch, Some(&dir.join("objects")), ids)?.is_empty() {
                made.push(place(&dir, workspace).unwrap_or_else(|| name(module)));
            }
        }
        Ok(made)
    }
}

/// The directory of a submodule's repository in that of the checkout, the name in there, and the content, of a file
/// that the program wrote.
pub(super) fn of_submodule(entry: &Entry, tree: Tree) -> Option<(String, String, &FileNode)> {
    let (path, file) = of_repository(entry, tree)?;
    let names: Vec<&str> = path.split('/').collect();
    let first = match names.as_slice() {
        ["modules", ..] => 1,
        ["worktrees", _, "modules", ..] => 3,
        _ => return None,
    };
    // Names of submodules have slashes in them, and submodules have submodules.
    (first + 1..names.len()).find_map(|at| {
        let rest = names[at..].join("/");
        Part::of(&rest).is_some().then(|| (names[..at].join("/"), rest, file))
    })
}

/// Where the host has the submodule of a repository in `dir`.
fn place(dir: &Path, workspace: &Path) -> Option<PathBuf> {
    let config = fs::read(dir.join("config")).ok()?;
    let tree = dir.join(OsStr::from_bytes(worktree(&config)?));
    let tree = fs::canonicalize(tree).ok()?;
    Some(tree.strip_prefix(fs::canonicalize(workspace).ok()?).ok()?.to_owned())
}

fn name(module: &str) -> PathBuf {
    PathBuf::from(module.split_once("modules/").map_or(module, |(_, name)| name))
}

/// Which of the commits that are named for the submodule at `path` the host's does not have.
pub(super) fn absent(
    (workspace, repository, scratch): (&Path, &Path, &Path),
    path: &Path,
    ids: &BTreeSet<String>,
) -> Result<Vec<String>, HistoryError> {
    lacking(scratch, objects(workspace, repository, path).as_deref(), ids)
}

/// Where the host's submodule at `path` has its objects. The path is the program's: it leads through no link.
fn objects(workspace: &Path, repository: &Path, path: &Path) -> Option<PathBuf> {
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let workspace = fs::canonicalize(workspace).ok()?;
    let dir = workspace.join(path);
    let is_there = fs::canonicalize(&dir).is_ok_and(|real| real == dir);
    let found = if is_there { checkout(&dir).ok().flatten() } else { None };
    // Where it is not checked out, the host may still have it.
    let kept = || Some(repository.join("modules").join(path)).filter(|kept| kept.is_dir());
    let found = found.filter(|found| found.top == dir).map(|found| found.common).or_else(kept)?;
    Some(found.join("objects"))
}

fn lacking(
    scratch: &Path,
    objects: Option<&Path>,
    ids: &BTreeSet<String>,
) -> Result<Vec<String>, HistoryError> {
    let Some(objects) = objects.filter(|objects| objects.is_dir()) else {
        return Ok(ids.iter().cloned().collect());
    };
    let format = if ids.iter().any(|id| id.len() > 40) { "sha256" } else { "sha1" };
    let ours = Quarantine::seeing(&scratch.join("submodule"), objects, format)?;
    let list: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let said = ours.git.tell(["cat-file", "--batch-check"], ours.list(list.as_bytes())?)?;
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok(said.lines().filter_map(|line| line.strip_suffix(" missing")).map(str::to_owned).collect())
}

/// What `git log --raw -z` says of gitlinks: the commits that are named for each path.
pub(super) fn gitlinks(raw: &[u8]) -> BTreeMap<PathBuf, BTreeSet<String>> {
    let mut links: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let mut fields = raw.split(|byte| *byte == 0);
    while let Some(field) = fields.next() {
        let field = String::from_utf8_lossy(field.trim_ascii_start()).into_owned();
        let parents = field.bytes().take_while(|byte| *byte == b':').count();
        if parents == 0 {
            continue;
        }
        let Some(path) = fields.next() else { break };
        // A mode and a hash of each parent, and then of what is new.
        let words: Vec<&str> = field[parents..].split(' ').collect();
        if let (Some(&"160000"), Some(id)) = (words.get(parents), words.get(2 * parents + 1)) {
            let path = PathBuf::from(OsStr::from_bytes(path));
            links.entry(path).or_default().insert((*id).to_owned());
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gitlinks_are_read_of_commits_and_of_merges() {
        let raw = b":100644 100644 a b M\0:odd\0:160000 160000 c d M\0sub\0\0\
                    ::160000 160000 160000 e f g MM\0other\0:160000 000000 h 0 D\0gone\0";
        let links = gitlinks(raw);
        let links: Vec<_> = links
            .iter()
            .map(|(path, ids)| (path.to_str().unwrap(), ids.iter().next().unwrap().as_str()))
            .collect();
        assert_eq!(links, [("other", "g"), ("sub", "d")]);
    }
}
