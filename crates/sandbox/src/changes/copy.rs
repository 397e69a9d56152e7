//! A copy of a tree for a program to work in, where there can be no overlay.
//!
//! [`make`] copies a tree, by several threads, and without taking space where the file system can share
//! it, and leaves an index of what it did. What the program changed in it is then sealed like the upper
//! directory of an overlay, into the same manifest: what did not change since the copy was made, by its
//! ctime, is not read again. Its cost is that of the whole tree, once before and once after.
//!
//! Deliberately absent: hard links, which become files of their own, devices and sockets, attributes, and
//! what cannot be read. What is left out stands in the index, so that it does not look as if the program
//! had removed it.

mod index;
pub(crate) mod merge;
mod work;

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use cofferdam_core::inert::Inert;
use cofferdam_native::staging::stand_in;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::halt::{Halt, Halted};
use crate::state::private_file;
pub(super) use index::{COPIED, Index, PathKey, plain};
use work::{Owners, Work};

#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("cannot copy {}", Inert::path(path))]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Halted(#[from] Halted),
}

impl CopyError {
    fn io<E: Into<io::Error>>(path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source: source.into() }
    }
}

/// What is copied, and where to.
#[derive(Debug, Clone, Copy)]
pub struct Copying<'a> {
    pub tree: &'a Path,
    /// The copy, which is not there yet.
    pub to: &'a Path,
    /// The directory that gets the index.
    pub dir: &'a Path,
}

/// Makes the copy. Nothing may be started in it before this returns.
pub fn make(copying: Copying<'_>, halt: &Halt<'_>) -> Result<(), CopyError> {
    let Copying { tree, to, dir } = copying;
    let made = std::fs::DirBuilder::new().mode(0o700).create(to);
    made.map_err(CopyError::io(to))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |path: &Path| openat(CWD, path, flags, Mode::empty()).map_err(CopyError::io(path));
    let meta = std::fs::metadata(tree).map_err(CopyError::io(tree))?;
    // Where the tree is root's, whoever stands in for root inside owns the copy.
    let owners = Owners {
        uid: (meta.uid() == 0).then(|| stand_in(0)),
        gid: (meta.gid() == 0).then(|| stand_in(0)),
    };
    let index = Work::new(open(tree)?, open(to)?, owners, halt).carry_out()?;
    let mark = dir.join(COPIED);
    index.write(&mark).map_err(CopyError::io(&mark))?;
    let_time_pass(&mark).map_err(CopyError::io(&mark))
}

/// Waits until whatever is written has a later time than the mark: file systems count time in steps of
/// some milliseconds.
fn let_time_pass(mark: &Path) -> io::Result<()> {
    let time = |path: &Path| std::fs::metadata(path).map(|meta| (meta.ctime(), meta.ctime_nsec()));
    let probe = mark.with_extension("later");
    loop {
        private_file().write(true).create_new(true).open(&probe)?;
        let later = time(&probe)?;
        std::fs::remove_file(&probe)?;
        if later > time(mark)? {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
