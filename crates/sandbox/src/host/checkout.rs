//! Finds the checkout that a workspace is, or is a part of, as git looks for it: upwards.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::look_up;
use super::repository::{NotShown, proven};

/// A tree of files that git keeps track of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkout {
    pub(crate) top: PathBuf,
    /// Where its index is.
    pub(crate) dir: PathBuf,
    /// What all checkouts of the repository have in common.
    pub(crate) common: PathBuf,
}

/// `None` where there is none. A repository above the workspace counts only if it is of the same owner: anybody can put one
/// into a directory that all may write to.
pub(crate) fn checkout(workspace: &Path) -> Result<Option<Checkout>, NotShown> {
    let owner = |path: &Path| fs::symlink_metadata(path).map(|meta| meta.uid()).ok();
    for top in workspace.ancestors() {
        let git = top.join(".git");
        let Ok(meta) = fs::symlink_metadata(&git) else { continue };
        if top != workspace && Some(meta.uid()) != owner(workspace) {
            return Ok(None);
        }
        if meta.is_dir() && git.join("HEAD").is_file() {
            return Ok(Some(Checkout { top: top.to_owned(), dir: git.clone(), common: git }));
        }
        if meta.is_file() {
            let at = look_up(top)
                .map_err(|error| NotShown::Io { path: error.path, source: error.source })?;
            let found = proven(&at)?.map(|(dir, repository)| {
                let common = repository.source.real.to_path_buf();
                Checkout { top: top.to_owned(), dir, common }
            });
            return Ok(found);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_for_upwards() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("repo/.git")).unwrap();
        fs::create_dir_all(top.join("repo/a/b")).unwrap();
        assert_eq!(checkout(&top.join("repo/a/b")).unwrap(), None, "a directory of that name");
        fs::write(top.join("repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        for workspace in ["repo", "repo/a/b"] {
            let found = checkout(&top.join(workspace)).unwrap().unwrap();
            assert_eq!((found.top, found.dir), (top.join("repo"), top.join("repo/.git")));
        }
        assert_eq!(checkout(&top).unwrap(), None);
    }
}
