//! Bytes of what stood there before and of what stands there after.

use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;

use cofferdam_core::changes::manifest::ManifestError;
use cofferdam_core::changes::{ChangePath, Content, ContentHash, FileNode, Node};

use crate::changes::{ChangeSet, Objects, SetError, Workspace};

/// Where the contents of a set are: its objects, and for what was before them the workspace.
#[derive(Debug)]
pub struct Contents {
    objects: Objects,
    /// Absent where the set was brought from elsewhere, or the workspace is gone.
    workspace: Option<Workspace>,
}

/// What came of looking for a content.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// A file's bytes, a link's target.
    Bytes(Vec<u8>),
    /// More than was asked for.
    TooLarge,
    /// Nobody has it any more, and why.
    Gone(&'static str),
    /// Directories and special files have none.
    Nothing,
}

#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    #[error(transparent)]
    Set(#[from] SetError),
    #[error("cannot read the list of changes")]
    Manifest(#[from] ManifestError),
    #[error("cannot read what was kept of {path}")]
    Object { path: ChangePath, source: io::Error },
}

impl Contents {
    pub fn of(set: &ChangeSet) -> Self {
        let workspace = Workspace::open(&set.header().workspace).ok();
        Self { objects: set.objects(), workspace }
    }

    /// What `node`, which stood at `path` before, held.
    pub fn before(&self, path: &ChangePath, node: &Node, limit: u64) -> Result<Found, DiffError> {
        match self.either(path, node, limit)? {
            Found::Gone(why) => match node.file().and_then(|file| file.content.hash()) {
                Some(hash) => {
                    Ok(self.on_host(path, node, hash).map_or(Found::Gone(why), Found::Bytes))
                }
                None => Ok(Found::Gone(why)),
            },
            found => Ok(found),
        }
    }

    /// What `node`, which stands at `path` after, holds.
    pub fn after(&self, path: &ChangePath, node: &Node, limit: u64) -> Result<Found, DiffError> {
        self.either(path, node, limit)
    }

    fn either(&self, path: &ChangePath, node: &Node, limit: u64) -> Result<Found, DiffError> {
        match node {
            Node::Symlink { target } => Ok(Found::Bytes(target.0.as_bytes().to_vec())),
            Node::Directory { .. } | Node::Special { .. } => Ok(Found::Nothing),
            Node::File(file) if file.size > limit => Ok(Found::TooLarge),
            Node::File(FileNode { content: Content::Kept(hash), size, .. }) => {
                match self.objects.read(*hash, *size) {
                    Ok(bytes) => Ok(Found::Bytes(bytes)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        Ok(Found::Gone("it is no longer kept"))
                    }
                    Err(source) => Err(DiffError::Object { path: path.clone(), source }),
                }
            }
            Node::File(FileNode { content: Content::Known(_), .. }) => {
                Ok(Found::Gone("the host has another file there by now"))
            }
            Node::File(FileNode { content: Content::Unknown, .. }) => {
                Ok(Found::Gone("it changed on the host while the program ran"))
            }
        }
    }

    /// The host's file, where it still is what it was.
    fn on_host(&self, path: &ChangePath, node: &Node, hash: ContentHash) -> Option<Vec<u8>> {
        let size = node.file()?.size;
        let file = self.workspace.as_ref()?.place(path).ok()?.open_file().ok()?;
        let now = file.metadata().ok()?;
        if !now.is_file() || now.len() != size {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(size + 1).read_to_end(&mut bytes).ok()?;
        (ContentHash::of(&bytes) == hash).then_some(bytes)
    }
}
