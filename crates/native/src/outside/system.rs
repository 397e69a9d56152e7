//! What of the host's system a container without an image of its own is shown, as a native sandbox is.

use std::fs;
use std::path::{Path, PathBuf};

use super::User;
use crate::first;
use crate::root::{etc, memory, system};
use crate::sys::SysError;

/// A name at the top of the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    Link { path: PathBuf, target: PathBuf },
    Directory { path: PathBuf },
}

/// `/usr` and its companions as this host has them.
pub fn system_trees() -> Result<Vec<Tree>, SysError> {
    let mut trees = Vec::new();
    for path in system::looked_at() {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        trees.push(if meta.is_symlink() {
            let target =
                fs::read_link(&path).map_err(|e| SysError::on("readlink", path.display(), e))?;
            Tree::Link { path, target }
        } else {
            Tree::Directory { path }
        });
    }
    Ok(trees)
}

/// The files of `/etc` that are made up, by name.
pub fn etc_files(user: User) -> [(&'static str, String); 6] {
    etc::written(user.uid, user.gid)
}

/// What git is told, as in a native sandbox: files that [`crate::first`] puts into the home, by their names below
/// [`crate::first::SKELETON`].
pub fn git_files(placeholders: &[PathBuf]) -> [(&'static str, Vec<u8>); 2] {
    let [config, ignored] = first::FURNISHED;
    [(config, memory::GIT_CONFIG.to_vec()), (ignored, memory::ignored(placeholders))]
}

/// Paths in `/etc` that are shown as the host has them: those that are there and that everybody may read.
pub fn etc_shown() -> Result<Vec<PathBuf>, SysError> {
    Ok(etc::looked_at()?.filter(|path| is_public(path)).collect())
}

fn is_public(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|meta| {
        let needed = if meta.is_dir() { 0o005 } else { 0o004 };
        meta.permissions().mode() & needed == needed
    })
}
