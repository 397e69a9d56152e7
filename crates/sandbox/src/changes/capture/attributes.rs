//! What extended attributes say: the overlay's own bookkeeping, and what nobody will get from us.

use std::io;
use std::os::unix::fs::MetadataExt as _;

use cofferdam_core::changes::Stripped;
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fd::BorrowedFd;
use rustix::fs::{fgetxattr, flistxattr};
use rustix::io::Errno;

/// Where an overlay keeps its bookkeeping. A program can write to `user.*`, so under an overlay that uses
/// `trusted.*` a `user.overlay.*` says nothing; and where the overlay uses `user.*` itself, the kernel
/// lets no program write there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marks {
    Trusted,
    User,
}

impl Marks {
    /// Those of overlays that this user mounts.
    pub(crate) fn ours() -> io::Result<Self> {
        let root = std::fs::metadata("/proc/self")?.uid() == 0;
        Ok(if root { Self::Trusted } else { Self::User })
    }

    fn prefix(self) -> &'static [u8] {
        match self {
            Self::Trusted => b"trusted.overlay.",
            Self::User => b"user.overlay.",
        }
    }

    pub(crate) fn opaque(self) -> &'static str {
        match self {
            Self::Trusted => "trusted.overlay.opaque",
            Self::User => "user.overlay.opaque",
        }
    }
}

/// What the overlay says of a file or directory of its upper layer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) opacity: Opacity,
    pub(super) is_whiteout: bool,
    pub(super) stripped: Vec<Stripped>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opacity {
    /// What is below shows through.
    #[default]
    None,
    /// Nothing does.
    Whole,
    /// It does, but for files in it that are marked as whiteouts.
    Whiteouts,
}

/// More than the kernel lets anybody attach.
const LONGEST_LIST: usize = 64 * 1024;

/// Reads the attributes of something that is open. `marks` is absent where no overlay is involved.
pub(super) fn read(fd: BorrowedFd<'_>, marks: Option<Marks>) -> io::Result<Said> {
    let mut said = Said::default();
    let mut small = [0; 256];
    let list = match flistxattr(fd, &mut small) {
        Ok(0) | Err(Errno::NOTSUP) => return Ok(said),
        Ok(length) => small[..length].to_vec(),
        Err(Errno::RANGE) => {
            let mut list = vec![0; LONGEST_LIST];
            let length = flistxattr(fd, &mut list[..])?;
            list.truncate(length);
            list
        }
        Err(errno) => return Err(errno.into()),
    };
    for name in list.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let own = marks.and_then(|marks| Some((marks, name.strip_prefix(marks.prefix())?)));
        match own {
            Some((marks, b"opaque")) => said.opacity = opacity(fd, marks)?,
            Some((_, b"whiteout")) => said.is_whiteout = true,
            Some((_, b"protattr")) => said.stripped.push(Stripped::Flags),
            // A program's own attribute of such a name, escaped by the kernel.
            Some((_, name)) if name.starts_with(b"overlay.") => {
                said.stripped.push(Stripped::Xattr);
            }
            Some(_) => {}
            None => said.stripped.extend(stripped(name)),
        }
    }
    said.stripped.sort_unstable();
    said.stripped.dedup();
    Ok(said)
}

/// Whether nothing of the layers below shows through a directory.
pub(crate) fn is_opaque(dir: BorrowedFd<'_>, marks: Marks) -> io::Result<bool> {
    match opacity(dir, marks) {
        Ok(opacity) => Ok(opacity == Opacity::Whole),
        Err(error) if error.raw_os_error() == Some(Errno::NODATA.raw_os_error()) => Ok(false),
        Err(error) if error.raw_os_error() == Some(Errno::NOTSUP.raw_os_error()) => Ok(false),
        Err(error) => Err(error),
    }
}

fn opacity(fd: BorrowedFd<'_>, marks: Marks) -> io::Result<Opacity> {
    let mut value = [0; 8];
    Ok(match fgetxattr(fd, marks.opaque(), &mut value)? {
        1 if value[0] == b'y' && !weakened(Weakness::Opaque) => Opacity::Whole,
        1 if value[0] == b'x' => Opacity::Whiteouts,
        _ => Opacity::None,
    })
}

fn stripped(name: &[u8]) -> Option<Stripped> {
    match name {
        b"security.capability" => Some(Stripped::Capabilities),
        b"system.posix_acl_access" | b"system.posix_acl_default" => Some(Stripped::Acl),
        // Labels that the host's own security module gives to everything.
        name if name.starts_with(b"security.") => None,
        _ => Some(Stripped::Xattr),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use rustix::fs::{XattrFlags, fsetxattr};

    use super::*;

    /// On a file system that keeps `user.*`, which the temporary directory may not be on.
    fn said(attributes: &[(&str, &[u8])], marks: Option<Marks>) -> Said {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let dir = std::fs::File::open(dir.path()).unwrap();
        for (name, value) in attributes {
            fsetxattr(&dir, *name, value, XattrFlags::empty()).unwrap();
        }
        read(dir.as_fd(), marks).unwrap()
    }

    #[test]
    fn only_the_overlays_own_namespace_speaks_for_it() {
        let forged: &[(&str, &[u8])] = &[("user.overlay.opaque", b"y")];
        assert_eq!(said(forged, Some(Marks::User)).opacity, Opacity::Whole);
        let said = said(forged, Some(Marks::Trusted));
        assert_eq!((said.opacity, said.stripped), (Opacity::None, vec![Stripped::Xattr]));
    }

    #[test]
    fn bookkeeping_is_passed_over_and_everything_else_is_named() {
        let of = |name: &str| said(&[(name, b"1")], Some(Marks::User)).stripped;
        assert_eq!(of("user.overlay.impure"), []);
        assert_eq!(of("user.overlay.overlay.opaque"), [Stripped::Xattr]);
        assert_eq!(of("user.mime"), [Stripped::Xattr]);
        assert_eq!(said(&[], None), Said::default());
        assert_eq!(said(&[("user.overlay.impure", b"y")], None).stripped, [Stripped::Xattr]);
    }

    #[test]
    fn long_lists_are_read_whole() {
        let names: Vec<String> = (0..8).map(|n| format!("user.{n}{}", "x".repeat(40))).collect();
        let mut all: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), &b"1"[..])).collect();
        all.push(("user.overlay.opaque", b"x"));
        assert_eq!(said(&all, Some(Marks::User)).opacity, Opacity::Whiteouts);
    }
}
