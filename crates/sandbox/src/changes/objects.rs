//! Contents of files, each under the hash of its bytes.
//!
//! An object is written once and believed never: whoever reads one compares its bytes with its name.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::ContentHash;
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fs::{Mode, OFlags};

/// The directory of a set's objects.
#[derive(Debug, Clone)]
pub struct Objects {
    dir: PathBuf,
}

impl Objects {
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn path(&self, hash: ContentHash) -> PathBuf {
        self.dir.join(hash.to_string())
    }

    /// The object, with its bytes compared to its hash, ready to be read from the start. Nobody but its
    /// owner can write to the directory, so it stays what it was compared to.
    pub fn open(&self, hash: ContentHash) -> io::Result<File> {
        let path = self.path(hash);
        let mut file = open_file(&path)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(&mut file)?;
        if ContentHash::from(hasher.finalize()) != hash && !weakened(Weakness::ObjectHash) {
            let message = format!("{} is not what was sealed", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    /// The bytes of an object that is expected to be `size` bytes long. The caller bounds `size`.
    pub fn read(&self, hash: ContentHash, size: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_file(&self.path(hash))?.take(size.saturating_add(1)).read_to_end(&mut bytes)?;
        if ContentHash::of(&bytes) != hash && !weakened(Weakness::ObjectHash) {
            let message = format!("{} is not what was sealed", self.path(hash).display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(bytes)
    }
}

/// A regular file for reading. Anything else that was put in its place is refused, and not waited for.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags | OFlags::NOCTTY, Mode::empty())?);
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"))
}
