//! Puts contents among the objects of a set that is being made.
//!
//! An object appears under its name whole or not at all, so that a sealing that is done again can go on
//! with what is there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::ContentHash;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{Access, RawDir};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, accessat, chmodat, linkat, openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::duplicate::duplicate;
use super::set::OBJECTS;

/// A name that no hash has.
const INCOMING: &str = "incoming";

#[derive(Debug)]
pub(crate) struct Deposit {
    path: PathBuf,
    /// Opened when the first object comes: most runs change nothing.
    dir: Option<OwnedFd>,
}

impl Deposit {
    /// Of the set in `dir`.
    pub(crate) fn of(dir: &Path) -> Self {
        Self { path: dir.join(OBJECTS), dir: None }
    }

    fn dir(&mut self) -> io::Result<BorrowedFd<'_>> {
        if self.dir.is_none() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            self.dir = Some(openat(CWD, &self.path, flags, Mode::empty())?);
        }
        let dir = self.dir.as_ref().ok_or_else(|| io::Error::other("it was just opened"))?;
        Ok(rustix::fd::AsFd::as_fd(dir))
    }

    /// The file `name` in `from` itself becomes the object. Where the file system cannot have that, its
    /// bytes are copied from `file`.
    pub(crate) fn link(
        &mut self,
        hash: ContentHash,
        from: BorrowedFd<'_>,
        name: &OsStr,
        file: &File,
    ) -> io::Result<()> {
        let dir = self.dir()?;
        match linkat(from, name, dir, hash.to_string(), AtFlags::empty()) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(Errno::XDEV | Errno::MLINK | Errno::PERM | Errno::NOTSUP) => self.copy(hash, file),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The bytes of `file` become the object.
    pub(crate) fn copy(&mut self, hash: ContentHash, file: &File) -> io::Result<()> {
        self.bring(hash, |incoming| duplicate(file, incoming))
    }

    pub(crate) fn bytes(&mut self, hash: ContentHash, bytes: &[u8]) -> io::Result<()> {
        self.bring(hash, |incoming| incoming.write_all(bytes))
    }

    fn bring(
        &mut self,
        hash: ContentHash,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let dir = self.dir()?;
        let name = hash.to_string();
        if accessat(dir, &name, Access::EXISTS, AtFlags::empty()).is_ok() {
            return Ok(());
        }
        let flags =
            OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(dir, INCOMING, flags, Mode::RUSR | Mode::WUSR)?);
        write(&mut file)?;
        Ok(renameat(dir, INCOMING, dir, &name)?)
    }

    /// Makes every object read-only. The links to them in the upper directory become so, too, which is
    /// why it comes last.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        if self.dir.is_none() && !self.path.exists() {
            return Ok(());
        }
        let dir = self.dir()?;
        match unlinkat(dir, INCOMING, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut buffer = [std::mem::MaybeUninit::uninit(); 16 * 1024];
        let mut entries = RawDir::new(dir, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                chmodat(dir, name, Mode::RUSR, AtFlags::empty())?;
            }
        }
        Ok(())
    }
}
