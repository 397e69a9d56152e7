//! What stands in a workspace wherever a set has something to say: one hash of the tree itself.
//!
//! It is read from the host and not from what an apply says of itself, so that it binds what was found there afterwards:
//! everything of the set for a whole apply, a part of it for a part, what was there before for an undo. Deliberately
//! absent: the rest of the tree, which is no business of the set's.

use std::io;

use cofferdam_core::changes::{ChangePath, ContentHash};
use rustix::fs::readlinkat;

use super::Workspace;
use super::beneath::{Place, WorkspaceError};
use super::conflict::hash_of;
use super::seen::Kind;
use super::set::{ChangeSet, SetError};

#[derive(Debug, thiserror::Error)]
pub enum LandedError {
    #[error(transparent)]
    Set(#[from] SetError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("cannot read {path}")]
    Io { path: ChangePath, source: io::Error },
    #[error("the manifest cannot be read")]
    Manifest { source: cofferdam_core::changes::manifest::ManifestError },
}

/// Hashes what stands at each path of the set, in the manifest's order: nothing, or kind, permissions and content.
pub fn landed(set: &mut ChangeSet, workspace: &Workspace) -> Result<ContentHash, LandedError> {
    let mut hasher = blake3::Hasher::new();
    for entry in set.entries()? {
        let path = entry.map_err(|source| LandedError::Manifest { source })?.path;
        let line = match workspace.place(&path) {
            Ok(place) => {
                line(&place).map_err(|source| LandedError::Io { path: path.clone(), source })?
            }
            // Without the directory there is nothing in it; through a link there is nothing of the workspace's.
            Err(WorkspaceError::NoParent { .. } | WorkspaceError::Detour { .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        for part in [path.as_bytes(), &line] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(hasher.finalize().into())
}

fn line(place: &Place<'_>) -> io::Result<Vec<u8>> {
    let Some(seen) = place.look()? else { return Ok(Vec::new()) };
    let mode = format!("{:04o}", seen.mode & 0o7777);
    Ok(match seen.kind {
        Kind::File => format!("file {mode} {}", hash_of(place)?).into_bytes(),
        Kind::Directory => format!("directory {mode}").into_bytes(),
        Kind::Symlink => {
            let target = readlinkat(&place.dir, place.name, Vec::new())?;
            [b"symlink ", target.as_bytes()].concat()
        }
        Kind::Special(_) => b"special".to_vec(),
    })
}
