//! A git worktree of a project for one task: its own directory and branch, beside what the owner works on.
//!
//! Git is started to make it, on the owner's own repository. It is removed without git, because what lies in it then may be a
//! sandboxed program's: the directory, and what the repository knows of it. Its branch stays.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::git::{Git, GitError};

#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("{} is not the top of a git repository", root.display())]
    NoRepository { root: PathBuf },
    #[error("{} belongs to another user", root.display())]
    NotOurs { root: PathBuf },
    #[error("it has no commit yet")]
    Unborn,
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot use {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Makes a worktree of the repository at `root` in `path`, on a branch of that name: what it had before, or `HEAD`.
pub fn add(root: &Path, path: &Path, branch: &str) -> Result<(), WorktreeError> {
    let common = root.join(".git");
    let found = fs::symlink_metadata(&common).ok().filter(fs::Metadata::is_dir);
    let found = found.ok_or_else(|| WorktreeError::NoRepository { root: root.to_owned() })?;
    let us = fs::metadata("/proc/self").map_err(at(Path::new("/proc/self")))?;
    if found.uid() != us.uid() {
        return Err(WorktreeError::NotOurs { root: root.to_owned() });
    }
    let git = Git::at(&common);
    git.ask(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
        .map_err(|_| WorktreeError::Unborn)?;
    let name = format!("refs/heads/{branch}");
    let is_there = git.ask(["rev-parse", "--verify", "--quiet", &name]).is_ok();
    let words: &[&OsStr] = match is_there {
        true => &[
            "worktree".as_ref(),
            "add".as_ref(),
            "--quiet".as_ref(),
            path.as_ref(),
            branch.as_ref(),
        ],
        false => &[
            "worktree".as_ref(),
            "add".as_ref(),
            "--quiet".as_ref(),
            "--no-track".as_ref(),
            "-b".as_ref(),
            branch.as_ref(),
            path.as_ref(),
            "HEAD".as_ref(),
        ],
    };
    git.ask(words)?;
    Ok(())
}

/// Removes a worktree that [`add`] made. One that is gone is no error.
pub fn remove(path: &Path) -> Result<(), WorktreeError> {
    let known = known_as(path);
    match fs::remove_dir_all(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(WorktreeError::Io { path: path.to_owned(), source });
        }
        _ => {}
    }
    match known {
        Some(known) => fs::remove_dir_all(&known).map_err(at(&known)),
        None => Ok(()),
    }
}

/// What the repository keeps about it. The file that says where may have been written by anybody: it is believed only
/// where what it names says the same from its side.
fn known_as(path: &Path) -> Option<PathBuf> {
    let file = path.join(".git");
    let text = fs::read_to_string(&file).ok()?;
    let dir = fs::canonicalize(path.join(text.trim_end().strip_prefix("gitdir: ")?)).ok()?;
    let back = fs::read_to_string(dir.join("gitdir")).ok()?;
    let is_same = fs::canonicalize(back.trim_end()).ok()? == fs::canonicalize(&file).ok()?;
    let is_kept = dir.parent()?.file_name()? == "worktrees" && dir.join("commondir").is_file();
    (is_same && is_kept).then_some(dir)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> WorktreeError + use<> {
    let path = path.to_owned();
    move |source| WorktreeError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(dir: &Path, words: &[&str]) -> String {
        let said = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "safe.directory=*"])
            .args(words)
            .current_dir(dir)
            .output()
            .unwrap();
        assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    }

    #[test]
    fn is_made_and_removed_and_its_branch_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (root, tree) = (dir.path().join("root"), dir.path().join("trees/t1"));
        fs::create_dir(&root).unwrap();
        assert!(matches!(add(&root, &tree, "b"), Err(WorktreeError::NoRepository { .. })));
        git(&root, &["init", "-q", "-b", "main"]);
        assert!(matches!(add(&root, &tree, "b"), Err(WorktreeError::Unborn)));
        fs::write(root.join("a"), "1").unwrap();
        git(&root, &["add", "a"]);
        git(&root, &["commit", "-qm", "one"]);
        fs::write(root.join("a"), "not committed").unwrap();

        add(&root, &tree, "cofferdam/t1").unwrap();
        assert_eq!(fs::read_to_string(tree.join("a")).unwrap(), "1");
        assert_eq!(git(&tree, &["branch", "--show-current"]).trim(), "cofferdam/t1");
        remove(&tree).unwrap();
        remove(&tree).unwrap();
        assert!(!tree.exists());
        assert!(!root.join(".git/worktrees/t1").exists());
        assert!(git(&root, &["branch", "--list", "cofferdam/t1"]).contains("cofferdam/t1"));
        add(&root, &tree, "cofferdam/t1").unwrap();
        assert!(tree.join("a").exists());
    }

    /// A program that may write in the worktree names another directory as the repository's.
    #[test]
    fn a_file_that_lies_removes_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, victim) = (dir.path().join("tree"), dir.path().join("worktrees/victim"));
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(&victim).unwrap();
        fs::write(victim.join("commondir"), "..").unwrap();
        fs::write(victim.join("gitdir"), dir.path().join("other/.git").to_str().unwrap()).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}", victim.display())).unwrap();
        remove(&tree).unwrap();
        assert!(victim.exists() && !tree.exists());
    }
}
