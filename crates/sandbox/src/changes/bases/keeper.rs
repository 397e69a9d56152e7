//! The thread that sees paths appear in an upper directory.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::changes::{ChangePath, Content, ContentHash, FileNode, Node};
use cofferdam_core::paths::Arg;
use rustix::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat, statat,
};

use super::{BASES, Base};
use crate::changes::capture::{LARGEST_KEPT, bytes_of, changed_at, size_of};
use crate::changes::deposit::Deposit;
use crate::state::private_file;
use crate::tree::Names;

/// Directories that are watched, paths and bytes that are saved, at most.
const DIRECTORIES: usize = 4096;
const PATHS: usize = 4096;
const BYTES: u64 = 64 * 1024 * 1024;

/// A thread that saves bases until it is told to stop. It is started when the sandbox exists, for a process
/// that has threads must not make one, and ended before the changes are sealed.
#[derive(Debug)]
pub(crate) struct BaseKeeper {
    thread: JoinHandle<()>,
    over: Arc<AtomicBool>,
    inotify: Arc<OwnedFd>,
    top: i32,
}

impl BaseKeeper {
    /// Watches the directory `upper` of the run in `dir`.
    pub(crate) fn start(
        upper: &Path,
        dir: &Path,
        workspace: &Path,
        base: Moment,
    ) -> io::Result<Self> {
        let inotify = Arc::new(inotify::init(CreateFlags::CLOEXEC)?);
        let upper_fd = openat(CWD, upper, DIRECTORY, Mode::empty())?;
        let top = watch(&inotify, &upper_fd)?;
        let over = Arc::new(AtomicBool::new(false));
        let watching = Watching {
            inotify: Arc::clone(&inotify),
            over: Arc::clone(&over),
            upper: upper_fd,
            host: openat(CWD, workspace, DIRECTORY, Mode::empty())?,
            base,
            index: None,
            index_at: dir.join(BASES),
            deposit: Deposit::of(dir),
            watched: HashMap::from([(top, Vec::new())]),
            seen: HashSet::new(),
            room: BYTES,
        };
        let thread = std::thread::Builder::new()
            .name("bases".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || watching.run())?;
        Ok(Self { thread, over, inotify, top })
    }

    /// Ends it, whatever it has not got to yet.
    pub(crate) fn finish(self) {
        self.over.store(true, Ordering::SeqCst);
        // It reads until it is told that this watch is gone. The order matters: had it looked before the
        // flag was set, then this wakes it. Where the queue is full, it has something to read anyway.
        inotify::remove_watch(&*self.inotify, self.top).ok();
        // What it saved is on disk; how it ended makes no difference.
        self.thread.join().ok();
    }
}

struct Watching {
    inotify: Arc<OwnedFd>,
    over: Arc<AtomicBool>,
    upper: OwnedFd,
    host: OwnedFd,
    base: Moment,
    /// Opened when there is something to write.
    index: Option<File>,
    index_at: std::path::PathBuf,
    deposit: Deposit,
    /// Paths of the directories that are watched.
    watched: HashMap<i32, Vec<u8>>,
    seen: HashSet<Vec<u8>>,
    room: u64,
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

impl Watching {
    fn run(mut self) {
        self.scan(b"");
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let inotify = Arc::clone(&self.inotify);
        let mut events = inotify::Reader::new(&*inotify, &mut buffer);
        while !self.is_over() {
            let Ok(event) = events.next() else { return };
            let dir = self.watched.get(&event.wd());
            let (Some(dir), Some(name)) = (dir, event.file_name()) else { continue };
            let path = below(dir, name.to_bytes());
            if event.events().contains(ReadFlags::ISDIR) {
                self.follow(path);
            } else {
                self.save(path);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Watches a directory that appeared, if the host has one of that path: what lies in a new one has no
    /// base. The program may be changing it all the while, so no link is followed and no error matters.
    fn follow(&mut self, path: Vec<u8>) {
        let host = openat2(&self.host, &path[..], DIRECTORY, Mode::empty(), BENEATH);
        if host.is_err() || self.watched.len() >= DIRECTORIES {
            return;
        }
        let Ok(dir) = openat2(&self.upper, &path[..], DIRECTORY, Mode::empty(), BENEATH) else {
            return;
        };
        if let Ok(id) = watch(&self.inotify, &dir)
            && self.watched.insert(id, path.clone()).is_none()
        {
            self.scan(&path);
        }
    }

    /// What came into a directory before it was watched.
    fn scan(&mut self, path: &[u8]) {
        let at = if path.is_empty() { b"." } else { path };
        let Ok(dir) = openat2(&self.upper, at, DIRECTORY, Mode::empty(), BENEATH) else { return };
        let Ok(names) = Names::of(dir.as_fd()) else { return };
        for name in names.iter() {
            if self.is_over() {
                return;
            }
            let Ok(stat) = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let path = below(path, name.as_bytes());
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => self.follow(path),
                _ => self.save(path),
            }
        }
    }

    /// Saves what the host has at a path, once.
    fn save(&mut self, path: Vec<u8>) {
        if self.seen.len() < PATHS
            && !self.seen.contains(&path)
            && let Ok(Some(base)) = self.host_base(&path)
            && self.write(&base).is_ok()
        {
            self.seen.insert(path);
        }
    }

    fn host_base(&mut self, path: &[u8]) -> io::Result<Option<Base>> {
        let Ok(path) = ChangePath::new(OsStr::from_bytes(path)) else { return Ok(None) };
        let look = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = openat2(&self.host, path.as_path(), look, Mode::empty(), BENEATH)?;
        let stat = fstat(&found)?;
        if changed_at(&stat) > self.base {
            return Ok(None);
        }
        let node = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if size_of(&stat) <= LARGEST_KEPT.min(self.room) => {
                let file = openat2(&self.host, path.as_path(), FILE, Mode::empty(), BENEATH)?;
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

/// By descriptor: a path could lead elsewhere by now.
fn watch(inotify: &OwnedFd, dir: &OwnedFd) -> io::Result<i32> {
    let path = format!("/proc/self/fd/{}", dir.as_raw_fd());
    let what = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
    Ok(inotify::add_watch(inotify, path, what)?)
}
