//! What a preparation took from the host by name, so that it can be seen later whether the same
//! preparation would still come to the same.
//!
//! Between the making of a sandbox and its use the host goes on: a file that must be hidden may appear,
//! the workspace may get another owner, a library may be updated. Whoever keeps sandboxes takes a
//! witness before making one and another before using it, and uses it only where the two are equal.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use cofferdam_core::mount::HostPath;
use cofferdam_core::paths::ExactPath;
use cofferdam_core::plan::{Plan, Profile};
use cofferdam_core::spec::Mode;
use serde::{Deserialize, Serialize};

use crate::blocked;
use crate::confined::check_owners;
use crate::identity::effective_uid;
use crate::repository::{CONFIG, GIT};
use crate::root::{etc, system};
use crate::sys::mount::open_pinned;

/// Equal witnesses mean equal sandboxes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// What is shown of the host by name, the workspace first.
    pinned: Vec<Seen>,
    /// A repository that a workspace is written to around.
    repository: Option<Seen>,
    blocked: Vec<Seen>,
    /// Links and settings of the system, of which some are copied.
    system: Vec<Seen>,
    /// An ordinary user's sandbox shows what the host has mounted below each place.
    mounts: Option<Vec<u8>>,
}

impl Witness {
    /// `None` where a sandbox of this profile cannot be made ahead of its use: it would depend on too
    /// much of the workspace, or it cannot be made at all, and then the making says why.
    pub fn of(profile: &Profile) -> Option<Self> {
        let plan = profile.plan();
        // A copy is made for one run, when it begins.
        if plan.copies() {
            return None;
        }
        let source = &plan.workspace.source;
        let pinned = std::iter::once(source)
            .chain(plan.mounts.iter().map(|mount| &mount.source))
            .chain(plan.repository.iter().map(|repository| &repository.source))
            .chain(&plan.toolchains);
        let seen = |path: &HostPath| open_pinned(path).ok().and(Seen::place(&path.real).ok());
        let pinned = pinned.map(seen).collect::<Option<Vec<_>>>()?;
        let repository = match plan.workspace.mode {
            Mode::Direct => Some(Seen::place(&source.real.join(GIT)).ok()?),
            Mode::Stage | Mode::Readonly => None,
        };
        // An upper directory that its owner cannot write to cannot be given to a run later.
        let workspace = pinned.first().and_then(|workspace| workspace.state.as_ref());
        let writable = workspace.is_some_and(|state| state.mode & 0o200 != 0);
        if !writable || mounts_into_workspace(plan) {
            return None;
        }
        let ordinary = effective_uid() != 0;
        if ordinary && plan.workspace.mode == Mode::Stage {
            check_owners(plan).ok()?;
        }
        let settings = plan.repository.iter().map(|repository| repository.source.real.join(CONFIG));
        Some(Self {
            pinned,
            repository,
            blocked: blocked::sight(&source.real, &plan.blocked)?,
            system: system_and(settings)?,
            mounts: if ordinary { Some(fs::read("/proc/self/mountinfo").ok()?) } else { None },
        })
    }
}

/// Links and settings of the system, as they are.
pub(crate) fn system() -> Option<Vec<Seen>> {
    system_and(std::iter::empty())
}

fn system_and(more: impl Iterator<Item = PathBuf>) -> Option<Vec<Seen>> {
    let paths = system::looked_at().chain(etc::looked_at().ok()?).chain(more);
    paths.map(|path| Seen::content(&path)).collect::<Result<_, _>>().ok()
}

/// A mount point in the workspace is looked up, and so remembered by the kernel, when it is made.
fn mounts_into_workspace(plan: &Plan) -> bool {
    let targets = plan.mounts.iter().map(|mount| &*mount.target);
    let targets = targets.chain(plan.tmpfs.keys().map(|target| &**target));
    let mut targets = targets.chain(plan.toolchains.iter().map(|place| &*place.asked));
    targets.any(|target| target.starts_with(&plan.workspace.target))
}

/// What stands under a name, if anything does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    path: ExactPath,
    state: Option<State>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    device: u64,
    inode: u64,
    mode: u32,
    owner: (u32, u32),
    /// When it was made: another file may get the number of one that is gone.
    born: Option<Duration>,
    changed: Option<(i64, i64)>,
}

impl Seen {
    /// Which file it is, and whose.
    pub(crate) fn place(path: &Path) -> io::Result<Self> {
        let mut seen = Self::content(path)?;
        // Where nobody knows when it was made, any change may be that.
        if let Some(state) = seen.state.as_mut().filter(|state| state.born.is_some()) {
            state.changed = None;
        }
        Ok(seen)
    }

    /// That, and whether it was changed.
    fn content(path: &Path) -> io::Result<Self> {
        let state = match fs::symlink_metadata(path) {
            Ok(meta) => Some(State {
                device: meta.dev(),
                inode: meta.ino(),
                mode: meta.permissions().mode(),
                owner: (meta.uid(), meta.gid()),
                born: meta.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()),
                changed: Some((meta.ctime(), meta.ctime_nsec())),
            }),
            Err(e)
                if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                None
            }
            Err(e) => return Err(e),
        };
        Ok(Self { path: path.to_owned().into(), state })
    }

    pub(crate) fn is_symlink(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.mode & libc::S_IFMT == libc::S_IFLNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system gives the number of a file that is gone to the next one.
    #[test]
    fn another_file_under_a_name_is_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut reused = 0;
        for _ in 0..20 {
            fs::write(&path, "one").unwrap();
            let before = Seen::place(&path).unwrap();
            // A clock that is read once a tick must not give both the same time.
            std::thread::sleep(Duration::from_millis(20));
            fs::remove_file(&path).unwrap();
            fs::write(&path, "two").unwrap();
            let after = Seen::place(&path).unwrap();
            assert_ne!(before, after);
            let number = |seen: &Seen| seen.state.as_ref().map(|state| state.inode);
            reused += usize::from(number(&before) == number(&after));
            fs::write(&path, "three").unwrap();
            assert_eq!(after, Seen::place(&path).unwrap(), "it is the same with other words in it");
        }
        assert!(reused > 0 || Seen::place(&path).unwrap().state.unwrap().born.is_some());
    }
}
