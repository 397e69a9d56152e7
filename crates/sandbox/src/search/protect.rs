//! Protected paths as mounts: shown read-only over themselves, so that a candidate cannot change them while it
//! runs. What it changed before or created is found when its changes are looked at.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::glob::{BadGlob, Globs, Shape};
use cofferdam_core::mount::{Access, Mount};
use cofferdam_core::plan::WORKSPACE;

use crate::host::look_up;

#[derive(Debug, thiserror::Error)]
pub enum ProtectError {
    #[error("cannot look for what is protected in {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Glob(#[from] BadGlob),
    #[error(
        "the patterns of `protected` mean more than {MOST} files and directories: name the directories \
         that hold them"
    )]
    TooMany,
}

/// Each is a mount in each sandbox.
const MOST: usize = 200;

/// The topmost files and directories that the patterns mean.
pub(super) fn mounts(workspace: &Path, protected: &[String]) -> Result<Vec<Mount>, ProtectError> {
    let globs = Globs::new(protected)?;
    let (mut mounts, mut dirs) = (Vec::new(), Vec::new());
    if !protected.is_empty() {
        dirs.push(PathBuf::new());
    }
    while let Some(dir) = dirs.pop() {
        let here = workspace.join(&dir);
        let failed = |source| ProtectError::Io { path: here.clone(), source };
        for entry in fs::read_dir(&here).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (kind, path) = (entry.file_type().map_err(failed)?, dir.join(entry.file_name()));
            let shape = if kind.is_dir() { Shape::Directory } else { Shape::Other };
            if globs.matching(path.as_os_str().as_bytes(), shape).is_empty() {
                if kind.is_dir() {
                    dirs.push(path);
                }
                continue;
            }
            // A link has nothing of its own to be mounted over; what it leads to has a name, too.
            if !kind.is_dir() && !kind.is_file() {
                continue;
            }
            if mounts.len() == MOST {
                return Err(ProtectError::TooMany);
            }
            let source = look_up(&workspace.join(&path)).map_err(|error| failed(error.source))?;
            let target = Path::new(WORKSPACE).join(&path).into();
            mounts.push(Mount { source, target, access: Access::Read });
        }
    }
    mounts.sort_by(|a, b| a.target.0.cmp(&b.target.0));
    Ok(mounts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topmost_of_what_a_pattern_means_is_mounted() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["tests/unit/a.py", "src/tests/b.py", "src/b.py", "setup.cfg", "src/x.cfg"] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("/etc", dir.path().join("link.cfg")).unwrap();
        let targets = |patterns: &[&str]| -> Vec<String> {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            let mounts = mounts(dir.path(), &patterns).unwrap();
            assert!(mounts.iter().all(|mount| mount.access == Access::Read));
            mounts.iter().map(|mount| mount.target.display().to_string()).collect()
        };
        assert_eq!(targets(&[]), Vec::<String>::new());
        assert_eq!(targets(&["tests"]), ["/workspace/src/tests", "/workspace/tests"]);
        assert_eq!(
            targets(&["/tests", "*.cfg"]),
            ["/workspace/setup.cfg", "/workspace/src/x.cfg", "/workspace/tests"]
        );
        assert_eq!(targets(&["nothing"]), Vec::<String>::new());
    }
}
