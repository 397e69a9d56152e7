//! Prepares what is new in slots, complete with mode and owner, so that one rename puts it in place.
//!
//! Contents are compared with their hashes on the way: what is staged is what was sealed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use cofferdam_core::changes::ContentHash;
use rustix::fs::{
    AtFlags, Mode, OFlags, SeekFrom, copy_file_range, ftruncate, ioctl_ficlone, linkat, mkdirat,
    openat, seek, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::attributes::{DirectoryRecord, own, set_mode};
use crate::changes::Objects;
use crate::changes::beneath::Place;
use crate::changes::seen::{Mark, Owner, Seen};

/// Files up to this size are read whole; larger ones are copied by the kernel.
const SMALL: u64 = 1024 * 1024;

/// A directory of slots that is being filled.
#[derive(Debug)]
pub(crate) struct Stage {
    slots: OwnedFd,
    next: u64,
    /// Files that have to reach the disk, while they are few.
    fresh: Vec<File>,
    files: u64,
}

/// Where the bytes of a staged file come from.
pub(crate) enum Source<'a> {
    Object {
        objects: &'a Objects,
        hash: ContentHash,
        size: u64,
    },
    Bytes(&'a [u8]),
    /// The file that is there, which must still be these bytes.
    Host {
        place: &'a Place<'a>,
        hash: ContentHash,
    },
    /// Any file, as it is.
    Copy(&'a mut File),
}

/// Up to this many files are synced one by one; more by syncing their whole file system.
const FEW: usize = 16;

impl Stage {
    /// `next` is the first slot that is free.
    pub(crate) fn new(slots: OwnedFd, next: u64) -> Self {
        Self { slots, next, fresh: Vec::new(), files: 0 }
    }

    /// A slot that is free.
    pub(crate) fn slot(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    pub(crate) fn file(
        &mut self,
        slot: u64,
        source: Source<'_>,
        mode: u32,
        owner: Owner,
    ) -> io::Result<Mark> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file =
            File::from(openat(&self.slots, slot.to_string(), flags, Mode::RUSR | Mode::WUSR)?);
        fill(&mut file, source)?;
        let held = OwnedFd::from(file);
        own(&held, owner)?;
        rustix::fs::fchmod(&held, Mode::from_raw_mode(mode))?;
        let mark = Seen::from(rustix::fs::fstat(&held)?).mark();
        self.files += 1;
        if self.fresh.len() < FEW {
            self.fresh.push(held.into());
        }
        Ok(mark)
    }

    /// The same file under another slot.
    pub(crate) fn link(&mut self, from: u64, slot: u64) -> io::Result<()> {
        let (from, slot) = (from.to_string(), slot.to_string());
        Ok(linkat(&self.slots, from, &self.slots, slot, AtFlags::empty())?)
    }

    pub(crate) fn symlink(&mut self, slot: u64, target: &OsStr, owner: Owner) -> io::Result<Mark> {
        symlinkat(target, &self.slots, slot.to_string())?;
        let held = self.hold(slot)?;
        own(&held, owner)?;
        Ok(Seen::from(rustix::fs::fstat(&held)?).mark())
    }

    pub(crate) fn directory(&mut self, slot: u64, mode: u32, owner: Owner) -> io::Result<Mark> {
        mkdirat(&self.slots, slot.to_string(), Mode::RWXU)?;
        let held = self.hold(slot)?;
        own(&held, owner)?;
        set_mode(&held, mode)?;
        Ok(Seen::from(rustix::fs::fstat(&held)?).mark())
    }

    /// A directory as it was recorded.
    pub(crate) fn record(&mut self, slot: u64, record: &DirectoryRecord) -> io::Result<Mark> {
        let name = slot.to_string();
        // One that an undo left which died: slots of an apply outlive what is tried with them.
        match unlinkat(&self.slots, &name, AtFlags::REMOVEDIR) {
            Err(Errno::NOENT) => {}
            done => done?,
        }
        record.make(&self.slots, name.as_ref())?;
        let made = Seen::at(&self.slots, &name)?;
        made.map(|seen| seen.mark()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn hold(&self, slot: u64) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.slots, slot.to_string(), flags, Mode::empty())?)
    }

    pub(crate) fn slots(&self) -> &OwnedFd {
        &self.slots
    }

    /// All that was staged reaches the disk.
    pub(crate) fn sync(self) -> io::Result<OwnedFd> {
        if self.files <= FEW as u64 {
            for file in &self.fresh {
                file.sync_all()?;
            }
            rustix::fs::fsync(&self.slots)?;
        } else {
            rustix::fs::syncfs(&self.slots)?;
        }
        Ok(self.slots)
    }
}

fn fill(file: &mut File, source: Source<'_>) -> io::Result<()> {
    match source {
        Source::Bytes(bytes) => file.write_all(bytes),
        Source::Object { objects, hash, size } if size <= SMALL => {
            file.write_all(&objects.read(hash, size)?)
        }
        Source::Object { objects, hash, .. } => copy(&objects.open(hash)?, file),
        Source::Copy(from) => copy(from, file),
        Source::Host { place, hash } => {
            let mut hasher = blake3::Hasher::new();
            let mut from = place.open_file()?;
            let mut part = vec![0; 256 * 1024];
            loop {
                let read = from.read(&mut part)?;
                if read == 0 {
                    break;
                }
                hasher.update(&part[..read]);
                file.write_all(&part[..read])?;
            }
            if ContentHash::from(hasher.finalize()) == hash {
                Ok(())
            } else {
                Err(io::Error::new(io::ErrorKind::InvalidData, "it changed while it was read"))
            }
        }
    }
}

/// Shares the blocks where the file system can; else copies what is not a hole.
fn copy(from: &File, to: &File) -> io::Result<()> {
    match ioctl_ficlone(to, from) {
        Ok(()) => return Ok(()),
        Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::NOTTY | Errno::NOSYS) => {}
        Err(errno) => return Err(errno.into()),
    }
    let size = from.metadata()?.len();
    ftruncate(to, size)?;
    let mut at = 0;
    while at < size {
        let data = match seek(from, SeekFrom::Data(at)) {
            Ok(data) => data,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        };
        let end = seek(from, SeekFrom::Hole(data))?;
        at = stretch(from, to, data, end)?;
    }
    Ok(())
}

fn stretch(from: &File, to: &File, mut at: u64, end: u64) -> io::Result<u64> {
    while at < end {
        let length = usize::try_from((end - at).min(1 << 30)).map_err(io::Error::other)?;
        let (mut read_at, mut write_at) = (at, at);
        match copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), length) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(copied) => at += copied as u64,
            Err(Errno::XDEV | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {
                at += by_hand(from, to, at, end)?;
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(at)
}

fn by_hand(from: &File, to: &File, at: u64, end: u64) -> io::Result<u64> {
    use std::os::unix::fs::FileExt as _;
    let mut part = vec![0; usize::try_from((end - at).min(1 << 18)).map_err(io::Error::other)?];
    from.read_exact_at(&mut part, at)?;
    to.write_all_at(&part, at)?;
    Ok(part.len() as u64)
}
