//! The project file: found from the workspace upwards, and read without following a link.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use cofferdam_core::inert::Inert;

/// Its name, wherever it stands.
pub(crate) const NAME: &str = "cofferdam.yaml";

/// A name that people give it, and that is not read.
pub(crate) const MISNAMED: &str = "cofferdam.yml";

/// A project file as it stood when it was read.
#[derive(Debug)]
pub(crate) struct ProjectFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl ProjectFile {
    /// The nearest one in `workspace` and the directories that hold it, up to the repository's root or the
    /// home directory, and not into a directory that everybody may write to: a file there may be anybody's.
    /// `workspace` has no symlink in it.
    pub(crate) fn find(workspace: &Path, home: &Path) -> Result<Option<Self>> {
        match nearest(NAME, workspace, home)? {
            Some((path, found)) => Self::read(path, &found, workspace).map(Some),
            None => Ok(None),
        }
    }

    /// The directory that its relative paths start from.
    pub(crate) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// What trust is bound to: not the name alone, but every byte of it.
    pub(crate) fn hash(&self) -> blake3::Hash {
        blake3::hash(self.text.as_bytes())
    }

    fn read(path: PathBuf, found: &fs::Metadata, workspace: &Path) -> Result<Self> {
        let shown = Inert::path(&path).to_string();
        if found.is_symlink() {
            bail!(
                "{shown} is a symlink, which a project file must not be: put the file itself there"
            );
        }
        if !found.is_file() {
            bail!("{shown} is not a regular file: a project file must be one");
        }
        let owner = fs::metadata(workspace)?.uid();
        if found.uid() != owner && found.uid() != 0 {
            bail!(
                "{shown} belongs to another user than the workspace: remove it, or make it the \
                 workspace owner's"
            );
        }
        let file = File::open(&path).with_context(|| format!("cannot read {shown}"))?;
        let opened = file.metadata().with_context(|| format!("cannot read {shown}"))?;
        if (opened.dev(), opened.ino()) != (found.dev(), found.ino()) {
            bail!("{shown} was replaced while it was being read: try again");
        }
        let text = super::text(&path, file)?;
        Ok(Self { path, text })
    }
}

/// One that is named so that it is not found, where a project file would be.
pub(crate) fn misnamed(workspace: &Path, home: &Path) -> Result<Option<PathBuf>> {
    Ok(nearest(MISNAMED, workspace, home)?.map(|(path, _)| path))
}

fn nearest(name: &str, workspace: &Path, home: &Path) -> Result<Option<(PathBuf, fs::Metadata)>> {
    for directory in workspace.ancestors() {
        if directory != workspace && is_open_to_all(directory)? {
            break;
        }
        let path = directory.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) => return Ok(Some((path, found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let message = format!("cannot look at {}", Inert::path(&path));
                return Err(anyhow::Error::new(error).context(message));
            }
        }
        if directory == home || directory.join(".git").symlink_metadata().is_ok() {
            break;
        }
    }
    Ok(None)
}

fn is_open_to_all(directory: &Path) -> Result<bool> {
    let found = fs::metadata(directory)
        .with_context(|| format!("cannot look at {}", Inert::path(directory)))?;
    Ok(found.mode() & 0o002 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A home with a repository in it and a directory in that.
    fn tree() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let inner = home.join("repo/inner");
        fs::create_dir_all(inner.join("deep")).unwrap();
        (dir, home, inner)
    }

    fn found(inner: &Path, home: &Path) -> Option<PathBuf> {
        ProjectFile::find(inner, home).unwrap().map(|file| file.path)
    }

    #[test]
    fn the_nearest_one_upwards() {
        let (_dir, home, inner) = tree();
        assert_eq!(found(&inner.join("deep"), &home), None);
        fs::write(home.join(NAME), "").unwrap();
        assert_eq!(found(&inner.join("deep"), &home), Some(home.join(NAME)));
        fs::write(inner.join(NAME), "").unwrap();
        assert_eq!(found(&inner.join("deep"), &home), Some(inner.join(NAME)));
    }

    #[test]
    fn not_beyond_the_repository_or_the_home() {
        let (_dir, home, inner) = tree();
        fs::write(home.join(NAME), "").unwrap();
        fs::create_dir(home.join("repo/.git")).unwrap();
        assert_eq!(found(&inner, &home), None);
        fs::write(home.join("repo").join(NAME), "").unwrap();
        assert_eq!(found(&inner, &home), Some(home.join("repo").join(NAME)));
        assert_eq!(found(&inner.join("deep"), &inner), None);
    }

    #[test]
    fn not_into_a_directory_that_all_may_write_to() {
        let (_dir, home, inner) = tree();
        fs::write(home.join("repo").join(NAME), "").unwrap();
        assert!(found(&inner, &home).is_some());
        fs::set_permissions(home.join("repo"), fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(found(&inner, &home), None);
        // The workspace itself is what it is.
        assert!(found(&home.join("repo"), &home).is_some());
    }

    #[test]
    fn a_link_or_a_directory_is_an_error() {
        let (_dir, home, inner) = tree();
        fs::write(home.join("elsewhere"), "").unwrap();
        symlink(home.join("elsewhere"), inner.join(NAME)).unwrap();
        let said = ProjectFile::find(&inner, &home).unwrap_err().to_string();
        assert!(said.contains("is a symlink"), "{said}");
        fs::remove_file(inner.join(NAME)).unwrap();
        symlink("dangling", inner.join(NAME)).unwrap();
        assert!(ProjectFile::find(&inner, &home).is_err());
        fs::remove_file(inner.join(NAME)).unwrap();
        fs::create_dir(inner.join(NAME)).unwrap();
        assert!(ProjectFile::find(&inner, &home).is_err());
    }
}
