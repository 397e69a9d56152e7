//! Places to write to that are gone at the end: what the plan names, and a home.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::paths::ExactPath;
use cofferdam_core::plan::HOME;
use cofferdam_core::quantity::ByteSize;
use rustix::fs::{AtFlags, Gid, Uid, chownat};

use super::{PlaceKind, Root};
use crate::identity::Identity;
use crate::sys::SysError;
use crate::sys::mount::open_beneath;

/// Bytes that a home may hold where the plan does not say.
const HOME_SIZE: u64 = 64 << 20;

pub(crate) fn make(
    root: &Root,
    sizes: &BTreeMap<ExactPath, ByteSize>,
    identity: &Identity,
) -> Result<(), SysError> {
    for (target, size) in sizes.iter().filter(|(target, _)| **target != ExactPath::from(HOME)) {
        let place = root.place(target, PlaceKind::Directory)?;
        root.memory(place, size.0, "1777", None, &target.display())?;
    }
    let home = root.place(Path::new(HOME), PlaceKind::Directory)?;
    let size = sizes.get(&ExactPath::from(HOME)).map_or(HOME_SIZE, |size| size.0);
    root.memory(home, size, "0700", Some(identity), &HOME)?;
    one_for_temporary_files(root)
}

/// One place for them, unless two were asked for.
pub(crate) fn one_for_temporary_files(root: &Root) -> Result<(), SysError> {
    match open_beneath(root, Path::new("var/tmp")) {
        Ok(_) => Ok(()),
        Err(_) => root.symlink("var/tmp", "/tmp"),
    }
}

/// Tells git, where every git looks, what is different here. Files in an overlay have other owners, numbers
/// and change times than the index of the host's git remembers: without `checkStat` and `trustctime` git would
/// read every file to find that none has changed. And placeholders that we made in the workspace are
/// nobody's files: a clean checkout is to look clean from inside, too. Nor is looking at a difference to leave a
/// changed index behind. Who commits without having said who he is, is the sandbox: the user's name is not shown inside.
pub(crate) fn advise_git(
    root: &Root,
    placeholders: &[PathBuf],
    owner: &Identity,
) -> Result<(), SysError> {
    let home = HOME.trim_start_matches('/');
    for dir in [".config", ".config/git"] {
        let path = format!("{home}/{dir}");
        root.directory(&path)?;
        let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
        chownat(root, &path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|e| SysError::on("chown", path, e))?;
    }
    root.file(&format!("{home}/.config/git/config"), GIT_CONFIG)?;
    root.file(&format!("{home}/.config/git/ignore"), &ignored(placeholders))
}

pub(crate) const GIT_CONFIG: &[u8] = b"[core]\n\tcheckStat = minimal\n\ttrustctime = false\n\
    [diff]\n\tautoRefreshIndex = false\n\
    [user]\n\tname = sandbox\n\temail = sandbox@localhost\n";

/// Each path as a pattern that means only itself, anchored at the top of the workspace.
pub(crate) fn ignored(paths: &[PathBuf]) -> Vec<u8> {
    let mut text = Vec::new();
    for path in paths {
        text.push(b'/');
        for byte in path.as_os_str().as_bytes() {
            if matches!(byte, b'*' | b'?' | b'[' | b'\\' | b' ' | b'#' | b'!') {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_told_of_each_placeholder_and_of_nothing_else() {
        let paths = [PathBuf::from(".env"), PathBuf::from("a b/*[x].key")];
        assert_eq!(ignored(&paths), b"/.env\n/a\\ b/\\*\\[x].key\n");
    }
}
