//! Whether writes to a workspace can be kept apart from it by an overlay, or only in a copy.
//!
//! On the way of every start, so that where both file systems are of kinds that are known to serve,
//! nothing is tried. Of others the kernel is asked, by mounting an overlay of them in a namespace of our
//! own: whether a kind serves also depends on the kernel's version and on who owns the workspace.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use cofferdam_core::mount::HostPath;
use cofferdam_core::spec::Staging;
use rustix::fs::statfs;
use rustix::mount::{MountPropagationFlags, mount_change};

use crate::caps::kernel_version;
use crate::identity::{Identity, Ids, NOBODYS, Owners, effective_uid};
use crate::kernel_text;
use crate::sys::aside::aside;
use crate::sys::clone::threads;
use crate::sys::mount::open_pinned;
use crate::sys::{SysError, keep_dead_children};
use crate::workspace::{WORKSPACE_LAYERS, make_layers, staged};

/// File systems that cannot hold the upper layer of an overlay, by their numbers in statfs(2): for want of
/// whiteouts or of attributes, or because others may change them.
const NO_UPPER: [(u64, &str); 14] = [
    (OVERLAYFS, "overlayfs"),
    (0x6969, "NFS"),
    (0x6573_5546, "FUSE"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x517b, "SMB"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x6175_6673, "aufs"),
    (0xf15f, "eCryptfs"),
    (0x4d44, "FAT"),
    (0x2011_bab0, "exFAT"),
    (0x8584_58f6, "ramfs"),
];
const OVERLAYFS: u64 = 0x794c_7630;

/// Kinds that serve as either layer, for any owner: ext4, XFS, Btrfs, F2FS.
const SERVE: [u64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010];
/// Serves from this kernel on: before, it had no `user.` attributes.
const TMPFS: (u64, (u32, u32)) = (0x0102_1994, (6, 6));

/// How `workspace` is to be staged for a run whose directory is, or will be, in `state`.
pub fn staging(state: &Path, workspace: &HostPath) -> Staging {
    // The directory may not be there yet; then its place will be on what holds the nearest one that is.
    let Some((home, kind)) = state.ancestors().find_map(|dir| Some((dir, kind_of(dir)?))) else {
        return Staging::Overlay;
    };
    if let Some((_, name)) = NO_UPPER.iter().find(|(number, _)| *number == kind) {
        let reason = format!("{} is on {name}, which cannot hold an overlay", state.display());
        return Staging::Copy { reason };
    }
    let serves = kind_of(&workspace.real).is_some_and(serves) && serves(kind);
    if serves && kernel_has_overlays() {
        return Staging::Overlay;
    }
    // A process with threads must not try it; where it cannot be tried, the run itself will tell.
    if !threads().is_ok_and(|count| count == 1) {
        return Staging::Overlay;
    }
    match Trial::make(home) {
        Some(trial) => trial.judge(workspace),
        None => Staging::Overlay,
    }
}

/// Who the owner of a workspace is in a copy of it, which is mounted without a map of owners: never root.
pub fn stand_in(id: u32) -> u32 {
    if id == 0 && effective_uid() == 0 { NOBODYS } else { id }
}

fn kind_of(path: &Path) -> Option<u64> {
    u64::try_from(statfs(path).ok()?.f_type & 0xffff_ffff).ok()
}

fn serves(kind: u64) -> bool {
    let release = || rustix::system::uname().release().to_string_lossy().into_owned();
    let is_new = || kernel_version(&release()).is_some_and(|version| version >= TMPFS.1);
    SERVE.contains(&kind) || (kind == TMPFS.0 && is_new())
}

/// One that is a module and not loaded yet is not to be seen; trying loads it.
fn kernel_has_overlays() -> bool {
    // Seen faster than the list is read, wherever /sys is mounted.
    if Path::new("/sys/module/overlay").exists() {
        return true;
    }
    let listed = kernel_text::read("/proc/filesystems").unwrap_or_default();
    listed.lines().any(|line| line.split_whitespace().last() == Some("overlay"))
}

/// What the directory of a trial is called, before the number of its process.
const TRIAL: &str = ".cofferdam-trial-";

/// A directory of ours beside the runs, to try in.
struct Trial {
    dir: PathBuf,
}

impl Trial {
    fn make(home: &Path) -> Option<Self> {
        // Where others can write, a name of ours may be theirs.
        let meta = fs::metadata(home).ok()?;
        if meta.uid() != effective_uid() || meta.mode() & 0o022 != 0 {
            return None;
        }
        Self::sweep(home);
        let dir = home.join(format!("{TRIAL}{}", std::process::id()));
        fs::create_dir(&dir).ok()?;
        Some(Self { dir })
    }

    /// Removes what somebody left who was killed while trying.
    fn sweep(home: &Path) {
        let Ok(entries) = fs::read_dir(home) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.strip_prefix(TRIAL)?.parse::<u32>().ok());
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir && pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                drop(Self { dir: entry.path() });
            }
        }
    }

    fn judge(&self, workspace: &HostPath) -> Staging {
        match self.mount(workspace) {
            Ok(_) => Staging::Overlay,
            Err(error) => Staging::Copy {
                reason: format!("the kernel makes no overlay of it ({error}: {})", error.source),
            },
        }
    }

    /// The very mount that a run would make, in namespaces that end with the trial.
    fn mount(&self, workspace: &HostPath) -> Result<OwnedFd, SysError> {
        keep_dead_children()?;
        let name = || workspace.real.display();
        let meta =
            fs::symlink_metadata(&workspace.real).map_err(|e| SysError::on("stat", name(), e))?;
        make_layers(&self.dir, WORKSPACE_LAYERS, &meta)
            .map_err(|e| SysError::on("mkdir", self.dir.display(), e))?;
        let identity = Identity::choose(Ids::of(&meta));
        let owners = Owners::of(Ids::of(&meta))?;
        let identity = identity.with_owners(owners.as_ref().map(Owners::again).transpose()?);
        let user = if identity.has_user_namespace() { libc::CLONE_NEWUSER } else { 0 };
        aside(libc::CLONE_NEWNS | user, "overlay", || {
            if identity.has_user_namespace() {
                identity.map_self()?;
            }
            mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
                .map_err(|e| SysError::on("mount", "/: private", e))?;
            let state = fs::File::open(&self.dir)
                .map_err(|e| SysError::on("open", self.dir.display(), e))?;
            staged(open_pinned(workspace)?, state.as_fd(), WORKSPACE_LAYERS, &identity)
        })?
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        // What cannot be removed now, the next trial removes.
        remove(&self.dir).ok();
    }
}

/// The kernel leaves directories of its own in a scratch space, which nobody may look into.
fn remove(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove(&entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir(dir)
}

#[cfg(test)]
mod tests {
    use cofferdam_core::mount::{HostKind, Identity as FileId};

    use super::*;

    fn here() -> (tempfile::TempDir, HostPath) {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        let meta = fs::metadata(&real).unwrap();
        let identity = FileId { device: meta.dev(), inode: meta.ino() };
        let kind = HostKind::Directory;
        let path = HostPath { asked: real.clone().into(), real: real.into(), identity, kind };
        (dir, path)
    }

    #[test]
    fn a_state_directory_that_is_not_there_is_judged_by_what_will_hold_it() {
        let (dir, workspace) = here();
        let there = staging(dir.path(), &workspace);
        assert_eq!(staging(&dir.path().join("a/b"), &workspace), there);
    }

    /// The test's own process has two threads, one of which sleeps; so the trial is made outright.
    #[test]
    fn what_the_kernel_refuses_is_copied_and_nothing_is_left_of_the_trial() {
        let (dir, workspace) = here();
        let state = tempfile::tempdir().unwrap();
        let judged = Trial::make(state.path()).unwrap().judge(&workspace);
        if kind_of(dir.path()).is_some_and(serves) {
            assert_eq!(judged, Staging::Overlay);
        }
        let gone = HostPath { real: dir.path().join("gone").into(), ..workspace.clone() };
        let judged = Trial::make(state.path()).unwrap().judge(&gone);
        assert!(matches!(judged, Staging::Copy { reason } if reason.contains("No such file")));
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
        // Of one who was killed: no process has this number.
        fs::create_dir_all(state.path().join(format!("{TRIAL}4194305/upper"))).unwrap();
        Trial::make(state.path()).unwrap().judge(&workspace);
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
        fs::set_permissions(state.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Trial::make(state.path()).is_none(), "others could have put it there");
    }
}
