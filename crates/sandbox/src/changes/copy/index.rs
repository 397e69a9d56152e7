//! What a copy consisted of when it was made.
//!
//! A file in a copy is what was copied if its ctime is not later than the index, and if it lies where it
//! was put. A program that renames a directory leaves the ctimes of all below it alone, so the index has
//! the inode of every directory, by its path. It is needed once, and in memory each path is a part of its
//! hash.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::manifest::Moment;

use crate::state::private_file;

/// Its name in the run's directory. It is there when the copy is whole, and its ctime says since when.
pub(crate) const COPIED: &str = "copied";

/// A path, as the first bytes of its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PathKey([u8; 16]);

impl PathKey {
    pub(crate) fn of(path: &[u8]) -> Self {
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::hash(path).as_bytes()[..16]);
        Self(key)
    }
}

/// A directory of the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) inode: u64,
    pub(crate) mode: u32,
}

/// An index in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) directories: Vec<(PathBuf, Placed)>,
    pub(super) left_out: Vec<PathBuf>,
}

impl Draft {
    /// Appears whole.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let temporary = path.with_extension("new");
        let file = private_file().write(true).create(true).truncate(true).open(&temporary)?;
        let mut out = BufWriter::new(file);
        let text = |path: &Path| [plain(path), b"\0"].concat();
        for (path, Placed { inode, mode }) in &self.directories {
            write!(out, "{inode} {mode}\0")?;
            out.write_all(&text(path))?;
        }
        for path in &self.left_out {
            out.write_all(b"-\0")?;
            out.write_all(&text(path))?;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?;
        std::fs::rename(&temporary, path)
    }
}

/// Without the `./` that paths of a walk begin with.
pub(crate) fn plain(path: &Path) -> &[u8] {
    let bytes = path.as_os_str().as_bytes();
    bytes.strip_prefix(b"./").unwrap_or(if bytes == b"." { b"" } else { bytes })
}

#[derive(Debug)]
pub(crate) struct Index {
    /// When the copy was done.
    pub(crate) copied: Moment,
    directories: HashMap<PathKey, Placed>,
    left_out: HashSet<PathKey>,
}

impl Index {
    /// Of the copy of the run in `dir`; `None` where there is none, or it was never finished.
    pub(crate) fn read(dir: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(dir.join(COPIED)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let meta = file.metadata()?;
        let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or(0);
        let copied = Moment { seconds: meta.ctime(), nanos };
        let mut index = Self { copied, directories: HashMap::new(), left_out: HashSet::new() };
        let mut file = BufReader::new(file).take(meta.len());
        let (mut words, mut path) = (Vec::new(), Vec::new());
        loop {
            words.clear();
            path.clear();
            if file.read_until(0, &mut words)? == 0 {
                return Ok(Some(index));
            }
            file.read_until(0, &mut path)?;
            let ended = words.pop() == Some(0) && path.pop() == Some(0);
            let key = PathKey::of(&path);
            let placed = std::str::from_utf8(&words).ok().and_then(|words| {
                let (inode, mode) = words.split_once(' ')?;
                Some(Placed { inode: inode.parse().ok()?, mode: mode.parse().ok()? })
            });
            match placed {
                _ if !ended => return Err(garbled()),
                Some(placed) => {
                    index.directories.insert(key, placed);
                }
                None if words == b"-" => {
                    index.left_out.insert(key);
                }
                None => return Err(garbled()),
            }
        }
    }

    /// What the copying put at a path, if that was a directory.
    pub(crate) fn placed(&self, path: &[u8]) -> Option<Placed> {
        self.directories.get(&PathKey::of(path)).copied()
    }

    /// Whether the host had something there that was not copied.
    pub(crate) fn is_left_out(&self, path: &[u8]) -> bool {
        self.left_out.contains(&PathKey::of(path))
    }
}

fn garbled() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the index of the copy is garbled")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back_and_a_cut_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Index::read(dir.path()).unwrap().is_none());
        let placed = |inode| Placed { inode, mode: 0o40755 };
        let draft = Draft {
            directories: vec![(".".into(), placed(1)), ("./a\nb".into(), placed(2))],
            left_out: vec!["./a\nb/socket".into()],
        };
        let path = dir.path().join(COPIED);
        draft.write(&path).unwrap();
        let index = Index::read(dir.path()).unwrap().unwrap();
        assert_eq!(index.placed(b"a\nb"), Some(placed(2)));
        assert_eq!((index.placed(b""), index.placed(b"a")), (Some(placed(1)), None));
        assert!(index.is_left_out(b"a\nb/socket") && !index.is_left_out(b"a\nb"));
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        assert!(Index::read(dir.path()).is_err());
    }
}
