//! Puts contents among the objects of a set that is being made.
//!
//! A sealing that is done again goes on with what is there: an object that was cut short by a crash is
//! noticed by its size and written anew.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::ContentHash;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RawDir, chmodat, linkat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::duplicate::duplicate;
use super::halt::Halt;
use super::set::OBJECTS;

/// A name that no hash has.
const INCOMING: &str = "incoming";

#[derive(Debug)]
pub(crate) struct Deposit {
    path: PathBuf,
    /// Opened when the first object comes: most runs change nothing.
    dir: Option<OwnedFd>,
    taking: Taking,
}

/// How files become objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taking {
    /// Nobody writes to them any more.
    Themselves,
    /// Somebody may: their bytes are copied.
    Copies,
}

impl Deposit {
    /// Of the set in `dir`.
    pub(crate) fn of(dir: &Path) -> Self {
        Self { path: dir.join(OBJECTS), dir: None, taking: Taking::Themselves }
    }

    /// Of the set in `dir`, with what is given copied.
    pub(crate) fn copying(dir: &Path) -> Self {
        Self { taking: Taking::Copies, ..Self::of(dir) }
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
        if self.taking == Taking::Copies {
            self.dir()?;
            let there = self.is_whole(hash, file.metadata()?.len());
            return match there {
                Ok(true) => Ok(()),
                _ => self.bring(hash, |incoming| duplicate(file, incoming)),
            };
        }
        let dir = self.dir()?;
        match linkat(from, name, dir, hash.to_string(), AtFlags::empty()) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) if self.is_whole(hash, file.metadata()?.len())? => Ok(()),
            Err(Errno::EXIST | Errno::XDEV | Errno::MLINK | Errno::PERM | Errno::NOTSUP) => {
                self.bring(hash, |incoming| duplicate(file, incoming))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// These bytes become the object.
    pub(crate) fn bytes(&mut self, hash: ContentHash, bytes: &[u8]) -> io::Result<()> {
        let dir = self.dir()?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        match openat(dir, hash.to_string(), flags, Mode::RUSR) {
            Ok(file) => File::from(file).write_all(bytes),
            Err(Errno::EXIST) if self.is_whole(hash, bytes.len() as u64)? => Ok(()),
            Err(Errno::EXIST) => self.bring(hash, |incoming| incoming.write_all(bytes)),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether an object that is there already was written to its end.
    fn is_whole(&mut self, hash: ContentHash, size: u64) -> io::Result<bool> {
        let stat = statat(self.dir()?, hash.to_string(), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(u64::try_from(stat.st_size).is_ok_and(|found| found == size))
    }

    /// Writes an object beside the others and then puts it in its place, whatever was there.
    fn bring(
        &mut self,
        hash: ContentHash,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let dir = self.dir()?;
        let flags =
            OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(dir, INCOMING, flags, Mode::RUSR | Mode::WUSR)?);
        write(&mut file)?;
        Ok(renameat(dir, INCOMING, dir, hash.to_string())?)
    }

    /// Makes every object read-only. The links to them in the upper directory become so, too, which is
    /// why it comes last.
    pub(crate) fn close(&mut self, halt: &Halt<'_>) -> io::Result<()> {
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
            halt.check().map_err(io::Error::other)?;
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if Mode::from_raw_mode(stat.st_mode & 0o7777) != Mode::RUSR {
                chmodat(dir, name, Mode::RUSR, AtFlags::empty())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use rustix::fd::AsFd as _;

    use super::*;

    #[test]
    fn an_object_that_was_cut_short_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let (hash, mut deposit) = (ContentHash::of(b"whole"), Deposit::of(dir.path()));
        let object = dir.path().join(OBJECTS).join(hash.to_string());
        fs::create_dir(dir.path().join(OBJECTS)).unwrap();
        fs::write(&object, "who").unwrap();
        deposit.bytes(hash, b"whole").unwrap();
        assert_eq!(fs::read(&object).unwrap(), b"whole");
        fs::write(&object, "wh").unwrap();
        fs::write(dir.path().join("file"), "whole").unwrap();
        let (top, file) = (File::open(dir.path()).unwrap(), File::open(dir.path().join("file")));
        let link = |deposit: &mut Deposit| {
            let file = file.as_ref().unwrap();
            deposit.link(hash, top.as_fd(), OsStr::new("file"), file).unwrap();
        };
        link(&mut deposit);
        assert_eq!(fs::read(&object).unwrap(), b"whole");
        fs::remove_file(&object).unwrap();
        link(&mut deposit);
        link(&mut deposit);
        assert_eq!(fs::metadata(&object).unwrap().nlink(), 2, "it is the file itself");
        deposit.close(&Halt::never()).unwrap();
        assert_eq!(fs::metadata(&object).unwrap().mode() & 0o7777, 0o400);
    }
}
