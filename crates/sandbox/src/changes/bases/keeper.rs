//! The thread that looks which paths appear in an upper directory.
//!
//! It looks every now and then instead of having the kernel tell it: letting go of a watch makes the end of
//! every run wait for the kernel, for milliseconds; a look at a directory that did not change is one call.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::changes::{ChangePath, Content, ContentHash, FileNode, Node};
use cofferdam_core::paths::Arg;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, openat2, readlinkat, statat,
};

use super::{BASES, Base};
use crate::changes::beneath::{READ_DIRECTORY, READ_FILE, RESOLVE};
use crate::changes::capture::{LARGEST_KEPT, bytes_of, changed_at, size_of};
use crate::changes::deposit::Deposit;
use crate::clock;
use crate::state::private_file;
use crate::tree::Names;

/// Paths that are looked at, and bytes that are saved, at most.
const PATHS: usize = 50_000;
const BYTES: u64 = 64 * 1024 * 1024;
/// From one look to the next; and no more than a tenth of the time is spent on looking.
const PAUSE: Duration = Duration::from_millis(40);
const SHARE: u32 = 10;

/// A thread that saves bases until it is told to stop. It is started when the sandbox exists, for a process
/// that has threads must not make one.
#[derive(Debug)]
pub(crate) struct BaseKeeper {
    thread: Option<JoinHandle<()>>,
    end: Arc<End>,
}

/// How the thread is told. It holds the lock while it writes, and writes nothing once it is over.
#[derive(Debug, Default)]
struct End {
    is_over: Mutex<bool>,
    told: Condvar,
}

impl BaseKeeper {
    /// Looks at the directory `upper` of the run in `dir`.
    pub(crate) fn start(
        upper: &Path,
        dir: &Path,
        workspace: &Path,
        base: Moment,
    ) -> io::Result<Self> {
        let end = Arc::new(End::default());
        let looking = Looking {
            end: Arc::clone(&end),
            upper: openat(CWD, upper, READ_DIRECTORY, Mode::empty())?,
            host: openat(CWD, workspace, READ_DIRECTORY, Mode::empty())?,
            base,
            index: None,
            index_at: dir.join(BASES),
            deposit: Deposit::of(dir),
            directories: BTreeMap::from([(Vec::new(), None)]),
            seen: HashSet::new(),
            room: BYTES,
        };
        let thread = std::thread::Builder::new()
            .name("bases".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || looking.run())?;
        Ok(Self { thread: Some(thread), end })
    }

    /// From when this returns nothing is saved any more, whatever the thread has not got to yet. It is
    /// waited for only when this is dropped, by which time it has long ended.
    pub(crate) fn stop(&self) {
        *self.end.lock() = true;
        self.end.told.notify_all();
    }
}

impl Drop for BaseKeeper {
    fn drop(&mut self) {
        self.stop();
        // What it saved is on disk; how it ended makes no difference.
        self.thread.take().map(JoinHandle::join);
    }
}

impl End {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is over, by the end of a pause.
    fn comes_within(&self, pause: Duration) -> bool {
        let waited = self.told.wait_timeout_while(self.lock(), pause, |is_over| !*is_over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

struct Looking {
    end: Arc<End>,
    upper: OwnedFd,
    host: OwnedFd,
    base: Moment,
    /// Opened when there is something to write.
    index: Option<File>,
    index_at: PathBuf,
    deposit: Deposit,
    /// Directories of the upper layer that the host has, too, and when each last changed; `None` if it
    /// changed a moment ago, and may again without its time telling.
    directories: BTreeMap<Vec<u8>, Option<(i64, u64)>>,
    seen: HashSet<Vec<u8>>,
    room: u64,
}

impl Looking {
    fn run(mut self) {
        loop {
            let begin = Instant::now();
            self.look_around();
            let pause = PAUSE.max(begin.elapsed() * SHARE);
            if self.seen.len() >= PATHS || self.end.comes_within(pause) {
                return;
            }
        }
    }

    fn look_around(&mut self) {
        let mut waiting: Vec<Vec<u8>> = self.directories.keys().cloned().collect();
        while let Some(path) = waiting.pop() {
            self.look_into(path, &mut waiting);
        }
    }

    /// Looks at a directory if it changed since the last time. The program may be changing it all the
    /// while, so no link is followed and no error matters.
    fn look_into(&mut self, path: Vec<u8>, waiting: &mut Vec<Vec<u8>>) {
        let at = if path.is_empty() { b"." } else { &path[..] };
        let dir = openat2(&self.upper, at, READ_DIRECTORY, Mode::empty(), RESOLVE);
        let Ok((dir, stat)) = dir.and_then(|dir| fstat(&dir).map(|stat| (dir, stat))) else {
            self.directories.remove(&path);
            return;
        };
        let changed = Some((stat.st_mtime, stat.st_mtime_nsec));
        if self.directories.get(&path) == Some(&changed) {
            return;
        }
        self.directories.insert(path.clone(), changed.filter(|_| is_past(stat.st_mtime)));
        let Ok(names) = Names::of(dir.as_fd()) else { return };
        for name in names.iter() {
            let below = below(&path, name.as_bytes());
            if self.seen.contains(&below) {
                continue;
            }
            if self.seen.len() >= PATHS || !self.look_at(&dir, name, below, waiting) {
                return;
            }
        }
    }

    /// Saves what the host has at a path that appeared. A directory waits. `false` when it is over.
    fn look_at(
        &mut self,
        dir: &OwnedFd,
        name: &OsStr,
        path: Vec<u8>,
        waiting: &mut Vec<Vec<u8>>,
    ) -> bool {
        let Ok(stat) = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) else { return true };
        let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        self.seen.insert(path.clone());
        if is_dir {
            // What lies in a directory that the host does not have has no base.
            if openat2(&self.host, &path[..], READ_DIRECTORY, Mode::empty(), RESOLVE).is_ok() {
                self.directories.insert(path.clone(), None);
                waiting.push(path);
            }
            return !*self.end.lock();
        }
        let end = Arc::clone(&self.end);
        let is_over = end.lock();
        if *is_over {
            return false;
        }
        if let Ok(Some(base)) = self.host_base(&path) {
            // One that cannot be written is as good as not saved.
            self.write(&base).ok();
        }
        true
    }

    fn host_base(&mut self, path: &[u8]) -> io::Result<Option<Base>> {
        let Ok(path) = ChangePath::new(OsStr::from_bytes(path)) else { return Ok(None) };
        let look = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = openat2(&self.host, path.as_path(), look, Mode::empty(), RESOLVE)?;
        let stat = fstat(&found)?;
        if changed_at(&stat) > self.base {
            return Ok(None);
        }
        let node = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if size_of(&stat) <= LARGEST_KEPT.min(self.room) => {
                let file = openat2(&self.host, path.as_path(), READ_FILE, Mode::empty(), RESOLVE)?;
                let mut file = File::from(file);
                let stat = fstat(&file)?;
                let bytes = bytes_of(&mut file, &stat)?;
                // Whoever wrote to it while it was read changed its time, too.
                let (Some(bytes), false) = (bytes, changed_at(&fstat(&file)?) > self.base) else {
                    return Ok(None);
                };
                let hash = ContentHash::of(&bytes);
                self.deposit.bytes(hash, &bytes)?;
                self.room = self.room.saturating_sub(bytes.len() as u64);
                let (mode, size) = (stat.st_mode.into(), bytes.len() as u64);
                Node::File(FileNode { mode, size, content: Content::Kept(hash), link: None })
            }
            FileType::Symlink => {
                let target = readlinkat(&found, "", Vec::new())?.into_bytes();
                Node::Symlink { target: Arg(OsString::from_vec(target)) }
            }
            _ => return Ok(None),
        };
        Ok(Some(Base { path, node }))
    }

    fn write(&mut self, base: &Base) -> io::Result<()> {
        let mut line = serde_json::to_vec(base)?;
        line.push(b'\n');
        let index = match &mut self.index {
            Some(index) => index,
            none => none.insert(private_file().append(true).create(true).open(&self.index_at)?),
        };
        index.write_all(&line)
    }
}

fn below(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}

/// Whether a time of a file is so long ago that no change can get it any more: that clock goes in steps.
fn is_past(seconds: i64) -> bool {
    i64::try_from(clock::now().unix_millis() / 1000).is_ok_and(|now| now > seconds + 1)
}
