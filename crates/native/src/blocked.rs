//! Hides paths of the workspace: a directory looks empty, a file is empty, and neither can be changed.
//!
//! Each hidden path is a mount point. The kernel lets nobody remove, rename or replace one, and the
//! directories on the way to it become mount points of themselves, so that they cannot be moved away
//! and made anew either. A path that does not exist yet is made first, as a placeholder, where
//! that can be done without touching the host: in stage mode.

mod pattern;
mod search;
mod sight;

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::spec::Mode as WorkspaceMode;
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use crate::identity::Identity;
use crate::root::{Covers, Root};
use crate::sys::SysError;
use crate::sys::mount::{Depth, attach, by_descriptor, clone_mount, open_beneath};
use pattern::Pattern;
use search::{Found, Search};
pub(crate) use sight::sight;

/// File in the run's directory that lists placeholders, each ended by a NUL: what is no change.
pub const PLACEHOLDERS: &str = "blocked-placeholders";

/// The workspace as mounted, and how its paths are to be hidden.
#[derive(Debug)]
pub(crate) struct Workspace<'a> {
    pub(crate) root: &'a Root,
    pub(crate) mount: BorrowedFd<'a>,
    /// Where it stands in the sandbox, without the leading slash.
    pub(crate) target: &'a Path,
    pub(crate) mode: WorkspaceMode,
    pub(crate) identity: &'a Identity,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Hidden {
    pub(crate) paths: Vec<PathBuf>,
    /// Made by us in the upper layer.
    pub(crate) placeholders: Vec<PathBuf>,
    /// The program can still make something under these names.
    pub(crate) unprotected: Vec<PathBuf>,
}

/// Hides everything in `workspace` that one of `patterns` means.
pub(crate) fn hide(
    workspace: &Workspace<'_>,
    patterns: &[String],
    covers: &Covers,
) -> Result<Hidden, SysError> {
    let dir = rustix::fs::openat(
        workspace.mount,
        ".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|e| SysError::on("open", workspace.target.display(), e))?;
    let (search, missing) = search(&dir, patterns)?;
    let mut hidden = Hidden::default();
    let mut paths = BTreeSet::new();
    for found in &search.found {
        hide_found(workspace, found, &mut paths, &mut hidden)?;
    }
    for path in missing {
        match workspace.mode {
            WorkspaceMode::Stage if !beneath_one_of(&paths, &path) => {
                make_placeholder(workspace, &path, &mut hidden)?;
                paths.insert(path);
            }
            WorkspaceMode::Direct => hidden.unprotected.push(path),
            // What cannot be written cannot be made; what is hidden cannot be made in.
            WorkspaceMode::Stage | WorkspaceMode::Readonly => {}
        }
    }
    if workspace.mode != WorkspaceMode::Readonly {
        for path in ways_to(&paths) {
            pin(workspace, &path)?;
        }
    }
    for path in paths {
        if !hidden.paths.iter().any(|above| path.starts_with(above)) {
            if !weakened(Weakness::Blocked) {
                cover(workspace, &path, covers)?;
            }
            hidden.paths.push(path);
        }
    }
    Ok(hidden)
}

/// What the patterns mean below `dir`, and the names among them that are not there.
fn search(dir: &OwnedFd, patterns: &[String]) -> Result<(Search, Vec<PathBuf>), SysError> {
    let mut search = Search::default();
    let mut missing = Vec::new();
    for text in patterns {
        let pattern = Pattern::parse(text)
            .ok_or_else(|| SysError::on("blocked paths", text, Errno::INVAL))?;
        let before = search.found.len();
        search.add(dir, &pattern)?;
        if search.found.len() == before {
            missing.extend(pattern.literal());
        }
    }
    Ok((search, missing))
}

/// Whether one of `patterns` hides `path`, from the workspace's root.
pub fn hides(patterns: &[String], path: &Path) -> bool {
    patterns.iter().filter_map(|text| Pattern::parse(text)).any(|pattern| pattern.means(path))
}

/// The same for somebody who hides them in another way.
pub(crate) fn find(dir: &OwnedFd, patterns: &[String]) -> Result<Meant, SysError> {
    let (search, missing) = search(dir, patterns)?;
    let found = search.found.into_iter().map(|found| (found.path, found.kind)).collect();
    Ok(Meant { found, missing })
}

/// What patterns mean in a directory.
#[derive(Debug)]
pub(crate) struct Meant {
    pub(crate) found: Vec<(PathBuf, FileType)>,
    pub(crate) missing: Vec<PathBuf>,
}

/// Leaves word of what in the upper layer is ours and no change of the program's.
pub(crate) fn note_placeholders(
    state: BorrowedFd<'_>,
    placeholders: &[PathBuf],
) -> Result<(), SysError> {
    if placeholders.is_empty() {
        return Ok(());
    }
    let fail = |e: Errno| SysError::on("write", PLACEHOLDERS, e);
    let flags =
        OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file =
        rustix::fs::openat(state, PLACEHOLDERS, flags, Mode::from_raw_mode(0o600)).map_err(fail)?;
    let mut text = Vec::new();
    for path in placeholders {
        text.extend(path.as_os_str().as_bytes());
        text.push(0);
    }
    let mut left = &text[..];
    while !left.is_empty() {
        left = &left[rustix::io::write(&file, left).map_err(fail)?..];
    }
    Ok(())
}

/// A symlink cannot be covered, but what it leads to can; where writes are staged, the link itself is
/// replaced by a placeholder.
fn hide_found(
    workspace: &Workspace<'_>,
    found: &Found,
    paths: &mut BTreeSet<PathBuf>,
    hidden: &mut Hidden,
) -> Result<(), SysError> {
    if found.kind != FileType::Symlink {
        paths.insert(found.path.clone());
        return Ok(());
    }
    paths.extend(led_to(workspace, &found.path)?);
    match workspace.mode {
        WorkspaceMode::Stage => {
            let parent = open_beneath(workspace.mount, parent(&found.path))?;
            rustix::fs::unlinkat(&parent, name(&found.path), AtFlags::empty())
                .map_err(|e| SysError::on("unlink", found.path.display(), e))?;
            make_placeholder(workspace, &found.path, hidden)?;
            paths.insert(found.path.clone());
        }
        WorkspaceMode::Direct => hidden.unprotected.push(found.path.clone()),
        WorkspaceMode::Readonly => {}
    }
    Ok(())
}

/// Where a symlink leads, as the program will see it: only what lies in the workspace, for nothing else
/// of the host that could be secret is in the sandbox.
fn led_to(workspace: &Workspace<'_>, link: &Path) -> Result<Option<PathBuf>, SysError> {
    use rustix::fs::{ResolveFlags, openat2, readlink};
    let full = workspace.target.join(link);
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let target = match openat2(workspace.root, &full, flags, Mode::empty(), resolve) {
        Ok(target) => target,
        // It leads nowhere.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        Err(errno) => return Err(SysError::on("openat2", link.display(), errno)),
    };
    let named = |fd: BorrowedFd<'_>| {
        let name = readlink(by_descriptor(fd), Vec::new())
            .map_err(|e| SysError::on("readlink", link.display(), e))?;
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
    };
    let (top, target) = (named(workspace.mount)?, named(target.as_fd())?);
    match target.strip_prefix(&top) {
        Ok(inside) if inside.as_os_str().is_empty() => {
            Err(SysError::on("blocked paths", link.display(), Errno::LOOP))
        }
        Ok(inside) => Ok(Some(inside.to_owned())),
        Err(_) => Ok(None),
    }
}

/// Makes an empty file, and the directories on the way to it, through the mounted overlay.
fn make_placeholder(
    workspace: &Workspace<'_>,
    path: &Path,
    hidden: &mut Hidden,
) -> Result<(), SysError> {
    let (uid, gid) = (Uid::from_raw(workspace.identity.uid), Gid::from_raw(workspace.identity.gid));
    let mut made = Vec::new();
    for way in path.ancestors().skip(1).filter(|way| !way.as_os_str().is_empty()) {
        match open_beneath(workspace.mount, way) {
            Ok(_) => break,
            Err(e) if e.source.raw_os_error() == Some(libc::ENOENT) => made.push(way),
            // Something that is no directory stands on the way. Nothing can be made below it, and it
            // becomes a mount point, so that it stays.
            Err(e) if is_no_directory(&e) => return Ok(()),
            Err(e) => return Err(e),
        }
    }
    for way in made.into_iter().rev() {
        let dir = open_beneath(workspace.mount, parent(way))?;
        rustix::fs::mkdirat(&dir, name(way), Mode::from_raw_mode(0o755))
            .map_err(|e| SysError::on("mkdir", way.display(), e))?;
        rustix::fs::chownat(&dir, name(way), Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|e| SysError::on("chown", way.display(), e))?;
        hidden.placeholders.push(way.to_owned());
    }
    let dir = open_beneath(workspace.mount, parent(path))?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(&dir, name(path), flags, Mode::from_raw_mode(0o444)) {
        Ok(_) => {
            hidden.placeholders.push(path.to_owned());
            Ok(())
        }
        Err(Errno::NOTDIR) => Ok(()),
        Err(errno) => Err(SysError::on("open", path.display(), errno)),
    }
}

/// Makes a path a mount point of itself: still there and writable, but not to be moved or removed.
fn pin(workspace: &Workspace<'_>, path: &Path) -> Result<(), SysError> {
    let place = match open_beneath(workspace.mount, path) {
        Ok(place) => place,
        Err(e) if is_no_directory(&e) => return Ok(()),
        Err(e) => return Err(e),
    };
    let same = clone_mount(&place, &path.display(), Depth::One)?;
    attach(same, place, &path.display())
}

fn cover(workspace: &Workspace<'_>, path: &Path, covers: &Covers) -> Result<(), SysError> {
    let place = match open_beneath(workspace.mount, path) {
        Ok(place) => place,
        // Its way is blocked by something that is no directory and, pinned, cannot become one.
        Err(e) if is_no_directory(&e) => return Ok(()),
        Err(e) => return Err(e),
    };
    covers.hide(&place, &path.display())
}

fn is_no_directory(error: &SysError) -> bool {
    error.source.raw_os_error() == Some(libc::ENOTDIR)
}

/// Every directory between the workspace's root and one of `paths`, outer ones first.
fn ways_to(paths: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let ways = paths.iter().flat_map(|path| path.ancestors().skip(1));
    let ways = ways.filter(|way| !way.as_os_str().is_empty() && !beneath_one_of(paths, way));
    ways.map(Path::to_owned).collect()
}

fn beneath_one_of(paths: &BTreeSet<PathBuf>, path: &Path) -> bool {
    path.ancestors().any(|above| paths.contains(above))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn name(path: &Path) -> &std::ffi::OsStr {
    path.file_name().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> BTreeSet<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn ways_are_outer_first_and_end_at_what_is_hidden() {
        assert!(ways_to(&set(&[".env"])).is_empty());
        let ways: Vec<_> = ways_to(&set(&["a/b/c", "a/x"])).into_iter().collect();
        assert_eq!(ways, [PathBuf::from("a"), PathBuf::from("a/b")]);
        assert!(ways_to(&set(&["a", "a/b/c"])).is_empty());
    }
}
