//! The kernel's version. Backports make it a hint only: it warns and never fails.

use std::fs;

use super::check::{Check, Question};
use super::{Place, Who};

const VERSION: Question = Question::new("kernel.version", "kernel version");

/// Overlays in a user namespace, with `userxattr`.
const UNPRIVILEGED_OVERLAY: (u32, u32) = (5, 11);
/// Overlays on id-mapped layers, by which root's own runs are not root's.
const IDMAPPED_OVERLAY: (u32, u32) = (5, 19);

pub(super) fn examine(place: &Place) -> Check {
    match release() {
        Ok(release) => judge(&release, place.who()),
        Err(error) => VERSION.warn(
            format!("/proc/sys/kernel/osrelease: {error}"),
            "mount /proc where this program runs",
        ),
    }
}

pub(super) fn release() -> std::io::Result<String> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(release.trim_end().to_owned())
}

fn judge(release: &str, who: Who) -> Check {
    let seen = format!("Linux {release}");
    let (needed, what) = match who {
        Who::Root => (IDMAPPED_OVERLAY, "overlays of workspaces that belong to root"),
        Who::Ordinary => (UNPRIVILEGED_OVERLAY, "overlays without root"),
    };
    match version(release) {
        Some(found) if found >= needed => VERSION.ok(seen),
        Some(_) => VERSION.warn(
            format!("{seen}: {what} came with {}.{}", needed.0, needed.1),
            format!("use a kernel of version {}.{} or newer", needed.0, needed.1),
        ),
        None => VERSION.warn(
            format!("{seen}: not a version that is understood"),
            "judge by the checks that follow; they try things out",
        ),
    }
}

/// Major and minor, out of `6.8.0-45-generic` and the like.
pub(super) fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split('.');
    let major = parts.next()?.parse().ok()?;
    let digits: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
    Some((major, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn releases_as_distributions_write_them() {
        assert_eq!(version("6.8.0-45-generic"), Some((6, 8)));
        assert_eq!(version("5.14.0-362.el9.x86_64"), Some((5, 14)));
        assert_eq!(version("6.18-rc1"), Some((6, 18)));
        assert_eq!(version("6"), None);
        assert_eq!(version("six.one"), None);
    }

    #[test]
    fn old_kernels_warn_by_who_asks() {
        assert_eq!(judge("6.1.0", Who::Root).status, Status::Ok);
        assert_eq!(judge("5.15.0", Who::Ordinary).status, Status::Ok);
        assert_eq!(judge("5.15.0", Who::Root).status, Status::Warn);
        assert_eq!(judge("5.4.0", Who::Ordinary).status, Status::Warn);
        assert!(judge("5.4.0", Who::Ordinary).remedy.unwrap().contains("5.11"));
        assert_eq!(judge("strange\x1b[m", Who::Ordinary).status, Status::Warn);
    }
}
