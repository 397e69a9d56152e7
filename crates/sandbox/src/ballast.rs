//! Room that is kept so that it can be let go of: `ballast/` in the state directory.
//!
//! Whoever frees a full disk has to write first: what was sealed, how a run ended, that it was discarded or removed. So
//! some files that hold nothing are made while there is plenty, and removed by whoever closes, discards or removes a run
//! where hardly anything is free. They come back with the next run, or clean-up, that finds room.
//!
//! Several files, because a disk can run out of those, too.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;

use cofferdam_native::random;
use rustix::fs::{FallocateFlags, fallocate, statvfs};

use crate::state::{StateDir, make_private_dir, private_file};

/// How many files, and how large each is: a mebibyte in all.
const FILES: u64 = 16;
const EACH: usize = 64 << 10;
const ALL: u64 = FILES * EACH as u64;
/// It is made where this much is free: on a smaller disk it would be in the way.
const PLENTY: u64 = 16 << 20;

#[derive(Debug, Clone)]
pub(crate) struct Ballast {
    dir: PathBuf,
    state: PathBuf,
}

impl Ballast {
    pub(crate) fn of(state: &StateDir) -> Self {
        Self { dir: state.root().join("ballast"), state: state.root().to_owned() }
    }

    /// Makes it, unless it is there or there is no room to spare. What fails is tried again by the next.
    pub(crate) fn keep(&self) {
        if self.file(FILES - 1).exists() || self.free_bytes() < PLENTY {
            return;
        }
        if make_private_dir(&self.dir).is_ok() {
            (0..FILES).try_for_each(|number| self.fill(number)).ok();
        }
    }

    /// Lets go of it where less is free than it holds. Where it cannot be removed, the write that needs the room says so.
    pub(crate) fn ease(&self) {
        if self.is_short() {
            fs::remove_dir_all(&self.dir).ok();
        }
    }

    /// Whether what has to be written may not fit.
    pub(crate) fn is_short(&self) -> bool {
        let Ok(disk) = statvfs(&self.state) else { return false };
        // Some file systems count no files, and say that there are 0.
        let few_files = disk.f_files > 0 && disk.f_favail < FILES;
        few_files || disk.f_bavail * disk.f_frsize < ALL
    }

    fn free_bytes(&self) -> u64 {
        statvfs(&self.state).map_or(0, |disk| disk.f_bavail * disk.f_frsize)
    }

    fn file(&self, number: u64) -> PathBuf {
        self.dir.join(number.to_string())
    }

    /// Its room is really taken: a hole would give nothing back.
    fn fill(&self, number: u64) -> io::Result<()> {
        let path = self.file(number);
        let mut file = match private_file().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            file => file?,
        };
        let filled = match fallocate(&file, FallocateFlags::empty(), 0, EACH as u64) {
            Err(rustix::io::Errno::OPNOTSUPP) => write_noise(&mut file),
            done => done.map_err(io::Error::from),
        };
        filled.inspect_err(|_| {
            fs::remove_file(&path).ok();
        })
    }
}

/// Bytes that no file system can make smaller.
fn write_noise(file: &mut File) -> io::Result<()> {
    let mut noise = [0; EACH];
    random::fill(&mut noise)?;
    file.write_all(&noise)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn is_really_there_and_stays_while_there_is_room() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(top.path().join("state")).unwrap();
        let ballast = Ballast::of(&state);
        fs::remove_dir_all(&ballast.dir).ok();
        ballast.keep();
        ballast.keep();
        ballast.ease();
        let held = |number| fs::metadata(ballast.file(number)).unwrap().blocks() * 512;
        assert_eq!((0..FILES).map(held).sum::<u64>(), ALL);
        let mut file = File::create(ballast.dir.join("noise")).unwrap();
        write_noise(&mut file).unwrap();
        assert_eq!(file.metadata().unwrap().len(), EACH as u64);
    }
}
