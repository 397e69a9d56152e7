//! Turns a path somebody named into what it really is.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use cofferdam_core::mount::{HostKind, HostPath, Identity};

#[derive(Debug, thiserror::Error)]
#[error("cannot look at {}", path.display())]
pub struct LookupError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Follows every symlink and notes which file it is. `path` must be absolute.
pub fn look_up(path: &Path) -> Result<HostPath, LookupError> {
    let fail = |source| LookupError { path: path.to_owned(), source };
    let real = fs::canonicalize(path).map_err(fail)?;
    // Of the real path, without following: it must not have become a link in the meantime.
    let metadata = fs::symlink_metadata(&real).map_err(fail)?;
    let kind = metadata.file_type();
    let kind = if kind.is_dir() {
        HostKind::Directory
    } else if kind.is_file() {
        HostKind::File
    } else if kind.is_socket() {
        HostKind::Socket
    } else if kind.is_fifo() {
        HostKind::Fifo
    } else {
        HostKind::Device
    };
    let asked = cofferdam_core::paths::clean_absolute(path).unwrap_or_else(|| path.to_owned());
    Ok(HostPath {
        asked: asked.into(),
        real: real.into(),
        kind,
        identity: Identity { device: metadata.dev(), inode: metadata.ino() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_seen_for_what_it_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("engine.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let link = dir.path().join("harmless");
        std::os::unix::fs::symlink(&socket, &link).unwrap();
        let found = look_up(&link).unwrap();
        assert_eq!(found.kind, HostKind::Socket);
        assert_eq!(found.real.0, socket.canonicalize().unwrap());
        assert_eq!(found.asked.0, link);
        assert!(look_up(&dir.path().join("missing")).is_err());
    }
}
