//! The host's programs and libraries, read-only. Its homes, state, sockets and secrets are elsewhere
//! and stay there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, readlinkat, statat};
use rustix::io::Errno;

use super::Root;
use crate::sys::SysError;
use crate::sys::mount::Depth;

/// Where programs and libraries are. On most hosts all but the first are links into it.
const TREES: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Directories that programs expect to be there, though nothing is in them, or nothing of the host's.
const EMPTY: [&str; 4] = ["run", "home", "var", "proc"];

/// What of the host it depends on.
pub(crate) fn looked_at() -> impl Iterator<Item = PathBuf> {
    TREES.iter().map(|name| Path::new("/").join(name))
}

/// Shows the system trees as the host has them: a link as the same link, a directory read-only.
pub(crate) fn show(root: &Root, depth: Depth) -> Result<(), SysError> {
    for name in TREES {
        let host = format!("/{name}");
        let stat = match statat(CWD, &host, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(SysError::on("stat", host, errno)),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let target = readlinkat(CWD, &host, Vec::new())
                    .map_err(|e| SysError::on("readlink", &host, e))?;
                root.symlink(name, OsStr::from_bytes(target.to_bytes()))?;
            }
            _ => {
                root.directory(name)?;
                root.bind_readonly(&host, name, depth)?;
            }
        }
    }
    for name in EMPTY {
        root.directory(name)?;
    }
    Ok(())
}
