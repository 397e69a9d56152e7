//! A copy of the workspace for a program to work in, where there can be no overlay.
//!
//! [`make`] copies a tree, by several threads, and without taking space where the file system can share
//! it. What the program changed in it is then sealed like the upper directory of an overlay, into the
//! same manifest: what did not change since the copy was made, by its ctime, is not read again. Its cost
//! is that of the whole tree, once before and once after.
//!
//! Deliberately absent: hard links, which become files of their own, and devices.

mod work;

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::inert::Inert;
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::state::private_file;
use work::Work;

/// Names in the run's directory: the copy, and a file that was made when it was done.
pub const COPY: &str = "copy";
pub(super) const COPIED: &str = "copied";

#[derive(Debug, thiserror::Error)]
#[error("cannot copy {}", Inert::path(path))]
pub struct CopyError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Copies `workspace` into the directory of a run, under the name [`COPY`]. Nothing may be started in it
/// before this returns.
pub fn make(workspace: &Path, dir: &Path) -> Result<(), CopyError> {
    let fail = |path: &Path, source| CopyError { path: path.to_owned(), source };
    let copy = dir.join(COPY);
    let made = std::fs::DirBuilder::new().mode(0o700).create(&copy);
    made.map_err(|e| fail(&copy, e))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open =
        |path: &Path| openat(CWD, path, flags, Mode::empty()).map_err(|e| fail(path, e.into()));
    Work::new(open(workspace)?, open(&copy)?).carry_out()?;
    let mark = dir.join(COPIED);
    private_file().write(true).create_new(true).open(&mark).map_err(|e| fail(&mark, e))?;
    let_time_pass(&mark).map_err(|e| fail(&mark, e))
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

/// When the copy in the directory of a run was done; `None` where there is none.
pub(super) fn made(dir: &Path) -> io::Result<Option<Moment>> {
    let meta = match File::open(dir.join(COPIED)) {
        Ok(mark) => mark.metadata()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or(0);
    Ok(Some(Moment { seconds: meta.ctime(), nanos }))
}
