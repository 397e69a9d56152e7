//! How many paths a tree has, as far as anybody needs to know.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Counts what is below `tree`, git's own directory left out, and stops at `limit`. No link is followed.
/// What cannot be read is not counted: a tree that looks smaller is held to less.
pub fn count_paths(tree: &Path, limit: u64) -> Result<u64, CensusError> {
    let mut count = 0;
    let mut open = vec![tree.to_owned()];
    while let Some(directory) = open.pop() {
        let cannot = |source| CensusError { path: directory.clone(), source };
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if directory != tree && is_out_of_reach(&error) => continue,
            Err(error) => return Err(cannot(error)),
        };
        for entry in entries {
            let entry = entry.map_err(cannot)?;
            if directory == tree && entry.file_name() == ".git" {
                continue;
            }
            count += 1;
            if count >= limit {
                return Ok(limit);
            }
            if entry.file_type().map_err(cannot)?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(count)
}

/// Closed to us, or gone since its name was read.
fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound)
}

#[derive(Debug, thiserror::Error)]
#[error("cannot count what is in {}", path.display())]
pub struct CensusError {
    path: PathBuf,
    source: io::Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_to_the_limit_and_follows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["a/b", ".git/objects/aa", "sub/.git"] {
            fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        fs::write(dir.path().join("a/file"), "").unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("root")).unwrap();
        // a, a/b, a/file, root, sub, sub/.git
        assert_eq!(count_paths(dir.path(), 100).unwrap(), 6);
        assert_eq!(count_paths(dir.path(), 4).unwrap(), 4);
        assert!(count_paths(&dir.path().join("gone"), 4).is_err());
    }
}
