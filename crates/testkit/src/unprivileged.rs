//! Being nobody in particular: tests run as root on test machines, users do not.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tree::walk;

/// Who runs the binary and owns its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Caller,
    /// An id that no account has, so that it owns nothing but what the test gave it.
    Nobody,
}

/// Uid and gid of [`User::Nobody`]. Not 65534, which is also what unmapped ids are shown as.
pub(crate) const ID: u32 = 12345;

impl User {
    /// The user without privileges: only root has any to give up.
    pub(crate) fn unprivileged() -> Self {
        if caller_is_root() { Self::Nobody } else { Self::Caller }
    }

    /// Makes `command` run as this user. The standard library drops root's other groups with it.
    pub(crate) fn take_over(self, command: &mut Command) {
        match self {
            Self::Caller => {}
            Self::Nobody => {
                command.uid(ID).gid(ID);
            }
        }
    }

    /// Gives `path`, and what is beneath it, to this user.
    pub(crate) fn own(self, path: &Path) {
        match self {
            Self::Caller => {}
            Self::Nobody => {
                for node in walk(path) {
                    lchown(&node, Some(ID), Some(ID))
                        .unwrap_or_else(|e| panic!("{}: cannot change owner: {e}", node.display()));
                }
            }
        }
    }

    /// A path under which this user can run `binary`: its own where others may reach it, else a copy
    /// in `place`.
    pub(crate) fn reachable(self, binary: &Path, place: &Path) -> PathBuf {
        if self == Self::Caller || others_can_run(binary) {
            return binary.to_owned();
        }
        let copy = place.join("cofferdam");
        fs::copy(binary, &copy).unwrap_or_else(|e| {
            panic!("cannot copy {} to {}: {e}", binary.display(), copy.display())
        });
        copy
    }
}

/// The directory that a process appears as belongs to the user it acts as.
pub(crate) fn caller_is_root() -> bool {
    fs::metadata("/proc/self").expect("/proc is mounted").uid() == 0
}

fn others_can_run(binary: &Path) -> bool {
    let mode = |path: &Path| fs::metadata(path).map(|meta| meta.permissions().mode());
    let runs = mode(binary).is_ok_and(|mode| mode & 0o5 == 0o5);
    runs && binary.ancestors().skip(1).all(others_can_enter)
}

/// Whether a stranger may pass through directory `path`.
pub(crate) fn others_can_enter(path: &Path) -> bool {
    path.as_os_str().is_empty()
        || fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o1 == 0o1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_behind_a_closed_door_is_copied() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let binary = dir.path().join("b");
        fs::copy("/bin/sh", &binary).unwrap();
        let place = tempfile::tempdir().unwrap();
        assert_eq!(User::Nobody.reachable(&binary, place.path()), place.path().join("cofferdam"));
        assert_eq!(
            User::Nobody.reachable(Path::new("/bin/sh"), place.path()),
            Path::new("/bin/sh")
        );
        assert_eq!(User::Caller.reachable(&binary, place.path()), binary);
    }
}
