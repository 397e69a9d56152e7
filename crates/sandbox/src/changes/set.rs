//! A sealed change set on disk.

use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::ContentHash;
use cofferdam_core::changes::manifest::{Header, ManifestError, ManifestReader};
use cofferdam_core::weaken::{Weakness, weakened};

use super::Objects;
use super::objects::open_file;

pub(super) const MANIFEST: &str = "manifest";
pub(crate) const OBJECTS: &str = "objects";
/// In a run's directory: the set of a repository that lies outside the workspace.
pub const REPOSITORY: &str = "git";

/// A change set whose manifest is the one that was sealed.
#[derive(Debug)]
pub struct ChangeSet {
    dir: PathBuf,
    header: Header,
    hash: ContentHash,
    manifest: File,
}

#[derive(Debug, thiserror::Error)]
pub enum SetError {
    #[error("cannot {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not the manifest that was sealed: its hash is {found}, not {sealed}", path.display())]
    Tampered { path: PathBuf, sealed: String, found: ContentHash },
    #[error("{}: {source}", path.display())]
    Manifest { path: PathBuf, source: ManifestError },
}

impl ChangeSet {
    /// Opens the set in `dir`. `sealed` is the hash that the run's record has for it.
    pub fn open(dir: &Path, sealed: &str) -> Result<Self, SetError> {
        let path = dir.join(MANIFEST);
        let io = |action| {
            let path = path.clone();
            move |source| SetError::Io { action, path, source }
        };
        let mut manifest = open_file(&path).map_err(io("open"))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(&mut manifest).map_err(io("read"))?;
        let hash = ContentHash::from(hasher.finalize());
        if hash.to_string() != sealed && !weakened(Weakness::ManifestHash) {
            return Err(SetError::Tampered { path, sealed: sealed.to_owned(), found: hash });
        }
        let reader = reader(&manifest).map_err(|source| SetError::Manifest { path, source })?;
        let header = reader.header().clone();
        Ok(Self { dir: dir.to_owned(), header, hash, manifest })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn objects(&self) -> Objects {
        Objects::at(self.dir.join(OBJECTS))
    }

    /// The entries, from the first. One reader at a time: they share one place in the file.
    pub fn entries(&mut self) -> Result<ManifestReader<BufReader<&File>>, SetError> {
        let path = self.dir.join(MANIFEST);
        reader(&self.manifest).map_err(|source| SetError::Manifest { path, source })
    }
}

fn reader(mut manifest: &File) -> Result<ManifestReader<BufReader<&File>>, ManifestError> {
    manifest.seek(SeekFrom::Start(0))?;
    ManifestReader::begin(BufReader::with_capacity(64 * 1024, manifest))
}
