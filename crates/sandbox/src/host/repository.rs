//! Finds the repository of a workspace whose `.git` is a file: a linked worktree, or a submodule.
//!
//! The file is part of the workspace, so whoever wrote to the workspace may have written it. It is believed
//! only if the directory that it names says, from its side, that it belongs to this workspace. Otherwise
//! any directory of the host could be shown by naming it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use cofferdam_core::mount::HostPath;
use cofferdam_core::plan::WORKSPACE;
use cofferdam_core::repository::{Repository, RepositoryOf, worktree};

use super::look_up;

/// Why a repository is not shown although the workspace names one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotShown {
    #[error("{} names {}, which does not say that it belongs to this workspace", named_by.display(), path.display())]
    Unproven { named_by: PathBuf, path: PathBuf },
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// The repository, where the workspace has one elsewhere.
pub(crate) fn repository(workspace: &HostPath) -> Result<Option<Repository>, NotShown> {
    Ok(proven(workspace)?.map(|(_, repository)| repository))
}

/// The same, with the directory that is the workspace's own in it.
pub(super) fn proven(workspace: &HostPath) -> Result<Option<(PathBuf, Repository)>, NotShown> {
    let file = workspace.real.join(".git");
    if !fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file()) {
        return Ok(None);
    }
    let Some(named) = line(&file)?.strip_prefix(b"gitdir: ").map(to_path) else { return Ok(None) };
    let dir = real(&workspace.real.join(&named))?;
    let unproven = || NotShown::Unproven { named_by: file.clone(), path: dir.clone() };
    let common_file = dir.join("commondir");
    let (source, target, of) = if common_file.exists() {
        let back = line(&dir.join("gitdir"))?;
        if real(&dir.join(to_path(&back)))? != file {
            return Err(unproven());
        }
        let common = to_path(&line(&common_file)?);
        let source = real(&dir.join(&common))?;
        if dir.parent() != Some(&source.join("worktrees")) {
            return Err(unproven());
        }
        (source, seen_from_inside(&named.join(common)), RepositoryOf::Worktree)
    } else {
        let config = dir.join("config");
        let config = fs::read(&config).map_err(|source| NotShown::Io { path: config, source })?;
        let back = worktree(&config).ok_or_else(unproven)?;
        if real(&dir.join(to_path(back)))? != *workspace.real {
            return Err(unproven());
        }
        (dir.clone(), seen_from_inside(&named), RepositoryOf::Submodule)
    };
    let is_repository = source.join("HEAD").is_file()
        && source.join("objects").is_dir()
        && source.join("refs").is_dir();
    if !is_repository {
        return Err(unproven());
    }
    let source = look_up(&source)
        .map_err(|error| NotShown::Io { path: error.path, source: error.source })?;
    Ok(Some((dir, Repository { source, target: target.into(), of })))
}

/// Where a path of the host's `.git` file leads for whoever reads it in the workspace's place inside. As
/// in the kernel, what is above the root is the root.
fn seen_from_inside(path: &Path) -> PathBuf {
    let mut seen = PathBuf::from(WORKSPACE);
    for part in path.components() {
        match part {
            Component::RootDir => seen = PathBuf::from("/"),
            Component::ParentDir => {
                seen.pop();
            }
            Component::Normal(name) => seen.push(name),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    seen
}

fn real(path: &Path) -> Result<PathBuf, NotShown> {
    fs::canonicalize(path).map_err(|source| NotShown::Io { path: path.to_owned(), source })
}

/// The one line of a file of git's, which are never long.
fn line(path: &Path) -> Result<Vec<u8>, NotShown> {
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(8192).read_to_end(&mut text))
        .map_err(|source| NotShown::Io { path: path.to_owned(), source })?;
    while text.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        text.pop();
    }
    Ok(text)
}

fn to_path(text: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        _dir: tempfile::TempDir,
        top: PathBuf,
    }

    fn place() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        Place { _dir: dir, top }
    }

    impl Place {
        fn write(&self, path: &str, text: &str) {
            let path = self.top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn repository_at(&self, path: &str) {
            self.write(&format!("{path}/HEAD"), "ref: refs/heads/main\n");
            fs::create_dir_all(self.top.join(path).join("objects")).unwrap();
            fs::create_dir_all(self.top.join(path).join("refs")).unwrap();
        }

        fn found(&self, workspace: &str) -> Result<Option<Repository>, NotShown> {
            repository(&look_up(&self.top.join(workspace)).unwrap())
        }
    }

    fn linked(place: &Place, back: &str) {
        let top = place.top.display();
        place.repository_at("repo/.git");
        place.write("wt/.git", &format!("gitdir: {top}/repo/.git/worktrees/wt\n"));
        place.write("repo/.git/worktrees/wt/commondir", "../..\n");
        place.write("repo/.git/worktrees/wt/gitdir", &format!("{top}/{back}/.git\n"));
    }

    #[test]
    fn a_linked_worktree_is_believed_when_both_sides_say_so() {
        let place = place();
        linked(&place, "wt");
        let found = place.found("wt").unwrap().unwrap();
        assert_eq!(found.source.real.0, place.top.join("repo/.git"));
        assert_eq!(found.target.0, place.top.join("repo/.git"));
        assert_eq!(found.of, RepositoryOf::Worktree);
    }

    #[test]
    fn a_file_that_names_a_repository_of_others_is_not_believed() {
        let place = place();
        linked(&place, "other");
        place.write("other/.git", "x");
        assert!(matches!(place.found("wt"), Err(NotShown::Unproven { .. })));
        // Nor one that names something else altogether.
        place.write("ssh/id_ed25519", "secret");
        place.write("wt/.git", &format!("gitdir: {}/ssh\n", place.top.display()));
        assert!(place.found("wt").is_err());
        // A repository that names no workspace belongs to none.
        place.repository_at("separate");
        place.write("separate/config", "[core]\n\tbare = false\n");
        place.write("wt/.git", "gitdir: ../separate\n");
        assert!(matches!(place.found("wt"), Err(NotShown::Unproven { .. })));
    }

    #[test]
    fn a_submodule_is_seen_under_the_name_that_git_uses_inside() {
        let place = place();
        place.repository_at("super/.git/modules/lib");
        let config = "[core]\n\tbare = false\n\tworktree = ../../../lib\n";
        place.write("super/.git/modules/lib/config", config);
        place.write("super/lib/.git", "gitdir: ../.git/modules/lib\n");
        let found = place.found("super/lib").unwrap().unwrap();
        assert_eq!(found.target.0, Path::new("/.git/modules/lib"));
        assert_eq!(found.of, RepositoryOf::Submodule);
    }

    #[test]
    fn a_workspace_with_its_own_repository_or_none_has_none_elsewhere() {
        let place = place();
        place.repository_at("own/.git");
        fs::create_dir(place.top.join("none")).unwrap();
        assert!(place.found("own").unwrap().is_none() && place.found("none").unwrap().is_none());
    }
}
