//! The state directory: where runs, the audit log and trust decisions are kept.
//!
//! Compatibility: `format` holds the version of the layout. A newer one is refused, not guessed at.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use cofferdam_native::random;
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use crate::ballast::Ballast;

/// Version of the directory layout.
const FORMAT: u32 = 1;

/// An opened state directory, private to its owner.
#[derive(Debug, Clone)]
pub struct StateDir {
    root: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("cannot {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} has format {found}, and this version knows only {FORMAT}", path.display())]
    NewerFormat { path: PathBuf, found: String },
    #[error("{} is not a record of this program", path.display())]
    Unreadable { path: PathBuf, source: serde_json::Error },
    #[error(
        "{} belongs to another user or can be written by others (set XDG_STATE_HOME, or chown and \
         chmod it)", path.display()
    )]
    NotOurs { path: PathBuf },
    #[error("the system gives no random numbers")]
    Random { source: io::Error },
}

impl StateError {
    pub(crate) fn io<'a>(
        action: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// Whether it failed for want of space.
    pub fn is_for_want_of_space(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_full(source))
    }
}

/// Whether a disk, or what its owner may use of it, is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl StateDir {
    /// Opens the directory, and makes it on first use.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StateError> {
        let state = Self { root: root.into() };
        let format = state.root.join("format");
        state.must_be_ours()?;
        match fs::read_to_string(&format) {
            Ok(text) if text.trim() == FORMAT.to_string() => Ok(state),
            Ok(text) => {
                Err(StateError::NewerFormat { path: state.root, found: text.trim().to_owned() })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                for dir in [&state.root, &state.runs(), &state.active()] {
                    make_private_dir(dir)?;
                    keep_apart(dir);
                }
                write_atomically(&format, format!("{FORMAT}\n").as_bytes())?;
                Ballast::of(&state).keep();
                Ok(state)
            }
            Err(error) => Err(StateError::io("read", &format)(error)),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whoever can write here decides what was run and what is cleaned up.
    fn must_be_ours(&self) -> Result<(), StateError> {
        let metadata = match fs::metadata(&self.root) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(StateError::io("read", &self.root)(error)),
        };
        let me = fs::metadata("/proc/self").map_err(StateError::io("read", &self.root))?;
        let ours = metadata.uid() == me.uid();
        if ours && metadata.mode() & 0o022 == 0 {
            return Ok(());
        }
        Err(StateError::NotOurs { path: self.root.clone() })
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// One file for each run that has not ended: what a crash leaves behind is found here.
    pub(crate) fn active(&self) -> PathBuf {
        self.root.join("active")
    }

    /// One file for each workspace that changes are being applied to.
    pub(crate) fn applying(&self) -> PathBuf {
        self.root.join("applying")
    }

    /// One directory for each container whose workspace we mounted. Apart from the runs, so that nobody who
    /// removes one reaches through a mount.
    pub(crate) fn mounts(&self) -> PathBuf {
        self.root.join("mounts")
    }

    /// One directory for each launcher that runs.
    pub(crate) fn pool(&self) -> PathBuf {
        self.root.join("pool")
    }

    /// One file for each project that an image was built of.
    pub(crate) fn images(&self) -> PathBuf {
        self.root.join("images")
    }

    /// One directory for each loop.
    pub(crate) fn loops(&self) -> PathBuf {
        self.root.join("loops")
    }

    /// What a server keeps here: its database, where that is a file, and its first token. Made on first use.
    pub fn server(&self) -> Result<PathBuf, StateError> {
        let dir = self.root.join("server");
        make_private_dir(&dir)?;
        Ok(dir)
    }

    pub fn audit_log(&self) -> PathBuf {
        self.root.join("audit.jsonl")
    }

    pub(crate) fn audit_head(&self) -> PathBuf {
        self.root.join("audit.head")
    }
}

pub(crate) fn make_private_dir(path: &Path) -> Result<(), StateError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(StateError::io("create the directory", path))
}

/// Tells ext4 that what is made in a directory has nothing to do with each other, so that each run gets a
/// part of the disk for itself. Without it, a new file waits until the file system has looked at all the
/// files of other runs that were removed lately: milliseconds, where runs are many.
pub(crate) fn keep_apart(dir: &Path) {
    let hinted = File::open(dir).and_then(|dir| {
        let flags = ioctl_getflags(&dir)?;
        Ok(ioctl_setflags(&dir, flags | IFlags::TOPDIR)?)
    });
    // A hint: where the file system knows no such thing, nothing is lost.
    hinted.ok();
}

/// A file of ours: readable by its owner only.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = File::options();
    options.mode(0o600);
    options
}

/// Replaces a file so that a reader sees the old or the new one, never half of it. The temporary file has
/// a name that nobody can foresee and is never one that was there: somebody else may have planted a link.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    let mut random = [0; 8];
    random::fill(&mut random).map_err(|source| StateError::Random { source })?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}.tmp", u64::from_le_bytes(random)));
    let temporary = path.with_file_name(name);
    let mut file = private_file()
        .write(true)
        .create_new(true)
        .open(&temporary)
        .map_err(StateError::io("write", path))?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|source| {
        // Best effort: the error that matters is the first one.
        fs::remove_file(&temporary).ok();
        StateError::Io { action: "write", path: path.to_owned(), source }
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn is_made_once_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("a/state");
        StateDir::open(&root).unwrap();
        StateDir::open(&root).unwrap();
        assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_planted_link_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "untouched").unwrap();
        let target = dir.path().join("report.json");
        std::os::unix::fs::symlink(&victim, &target).unwrap();
        write_atomically(&target, b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file is left");
    }

    #[test]
    fn a_directory_that_others_can_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("state");
        StateDir::open(&root).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(StateDir::open(&root), Err(StateError::NotOurs { .. })));
    }

    #[test]
    fn a_newer_layout_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("format"), "2\n").unwrap();
        let error = StateDir::open(dir.path()).unwrap_err();
        assert!(error.to_string().contains("format 2"), "{error}");
    }
}
