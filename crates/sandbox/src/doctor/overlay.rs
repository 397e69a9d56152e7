//! Overlays: whether the kernel has them, and whether the state directory can hold what is written.

use std::fs;
use std::io;
use std::path::Path;

use super::check::{Check, Question};
use super::{Place, Who, kernel, state};

const MOUNT: Question = Question::new("overlay.mount", "overlay file system");
const UPPER: Question = Question::new("overlay.upper", "file system for staged changes");

const UPPER_REMEDY: &str =
    "set XDG_STATE_HOME to a directory on ext4, xfs or btrfs, or to a volume of the container";

pub(super) fn examine(place: &Place) -> [Check; 2] {
    let release = kernel::release().unwrap_or_default();
    let mount = match fs::read_to_string("/proc/filesystems") {
        Ok(listed) => judge_mount(support(&listed, &dependencies(&release))),
        Err(error) => MOUNT.fail(format!("/proc/filesystems: {error}"), "mount /proc"),
    };
    let existing = state::existing(&place.state_dir);
    let upper = match magic(existing) {
        Ok(magic) => judge_upper(magic, place.who(), kernel::version(&release), existing),
        Err(error) => UPPER.fail(format!("{}: {error}", existing.display()), UPPER_REMEDY),
    };
    [mount, upper]
}

/// The list of modules that can be loaded. None of them is what a kernel without modules has.
fn dependencies(release: &str) -> String {
    fs::read_to_string(Path::new("/lib/modules").join(release).join("modules.dep"))
        .unwrap_or_default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Support {
    Present,
    /// A module that the first mount loads.
    Loadable,
    Absent,
}

fn support(filesystems: &str, modules: &str) -> Support {
    if filesystems.lines().any(|line| line.split_whitespace().last() == Some("overlay")) {
        return Support::Present;
    }
    match modules.lines().any(|line| line.contains("/overlayfs/overlay.ko")) {
        true => Support::Loadable,
        false => Support::Absent,
    }
}

fn judge_mount(support: Support) -> Check {
    match support {
        Support::Present => MOUNT.ok("the kernel has it"),
        Support::Loadable => MOUNT.warn(
            "a module that is not loaded",
            "sudo modprobe overlay, and a line `overlay` in /etc/modules-load.d to keep it",
        ),
        Support::Absent => MOUNT.warn(
            "the kernel does not have it: a workspace is worked on in a copy",
            "use a kernel built with CONFIG_OVERLAY_FS; where it is a module, sudo modprobe overlay",
        ),
    }
}

/// The kernel's number for the kind of file system (statfs(2)).
fn magic(path: &Path) -> io::Result<u32> {
    let kind = rustix::fs::statfs(path)?.f_type & 0xffff_ffff;
    u32::try_from(kind).map_err(io::Error::other)
}

const TMPFS: u32 = 0x0102_1994;

/// Kinds that cannot be the writable layer: no whiteouts, no suitable attributes, or remote.
const UNFIT: [(u32, &str); 14] = [
    (0x794c_7630, "overlayfs"),
    (0x6969, "nfs"),
    (0x6573_5546, "fuse"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb"),
    (0x517b, "smb"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x6175_6673, "aufs"),
    (0xf15f, "ecryptfs"),
    (0x4d44, "vfat"),
    (0x2011_bab0, "exfat"),
    (0x8584_58f6, "ramfs"),
];

fn judge_upper(magic: u32, who: Who, kernel: Option<(u32, u32)>, dir: &Path) -> Check {
    let dir = dir.display();
    if let Some((_, name)) = UNFIT.iter().find(|(unfit, _)| *unfit == magic) {
        let seen = format!(
            "{dir} is on {name}, which cannot hold an overlay's changes: a workspace is worked on in a copy"
        );
        return UPPER.warn(seen, UPPER_REMEDY);
    }
    match magic {
        // Without root the overlay keeps its marks in `user.` attributes, which tmpfs got in 6.6.
        TMPFS if who == Who::Ordinary && kernel.is_some_and(|version| version < (6, 6)) => {
            let seen = format!(
                "{dir} is on tmpfs, which lacks user attributes: a workspace is worked on in a copy"
            );
            UPPER.warn(seen, UPPER_REMEDY)
        }
        _ => UPPER.ok(format!("{dir} can hold it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn present_loadable_absent() {
        let modules = "kernel/fs/overlayfs/overlay.ko.zst: \n";
        let other = "nodev\tproc\n\text4\n";
        assert_eq!(support("nodev\tproc\nnodev\toverlay\n", ""), Support::Present);
        assert_eq!(support(other, modules), Support::Loadable);
        assert_eq!(support(other, ""), Support::Absent);
        assert_eq!(support("nodev\toverlayish\n", ""), Support::Absent);
        let statuses = [Support::Present, Support::Loadable, Support::Absent].map(judge_mount);
        let statuses = statuses.map(|check| check.status);
        assert_eq!(statuses, [Status::Ok, Status::Warn, Status::Warn]);
    }

    fn upper(magic: u32, who: Who, kernel: (u32, u32)) -> Status {
        judge_upper(magic, who, Some(kernel), Path::new("/s")).status
    }

    #[test]
    fn kinds_that_can_hold_an_upper_and_kinds_that_cannot() {
        let (ext4, xfs, btrfs) = (0xef53, 0x5846_5342, 0x9123_683e);
        for fit in [ext4, xfs, btrfs] {
            assert_eq!(upper(fit, Who::Ordinary, (5, 15)), Status::Ok, "{fit:x}");
        }
        for (unfit, name) in UNFIT {
            assert_eq!(upper(unfit, Who::Root, (6, 18)), Status::Warn, "{name}");
        }
    }

    #[test]
    fn tmpfs_depends_on_the_kernel_and_the_user() {
        assert_eq!(upper(TMPFS, Who::Root, (5, 15)), Status::Ok);
        assert_eq!(upper(TMPFS, Who::Ordinary, (6, 6)), Status::Ok);
        assert_eq!(upper(TMPFS, Who::Ordinary, (6, 5)), Status::Warn);
    }

    #[test]
    fn the_kernel_answers_for_a_real_directory() {
        assert_eq!(magic(Path::new("/proc")).unwrap(), 0x9fa0);
        assert!(magic(Path::new("/does/not/exist")).is_err());
    }
}
