//! Finds what the patterns mean in a directory, without following a symlink and within bounds.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::pattern::{Part, Pattern, stands_for};
use crate::sys::SysError;

/// Names looked at before we give up. A start must not take as long as a large tree is large.
const MOST_LOOKED_AT: usize = 500_000;
/// Paths hidden before we give up: each is a mount.
const MOST_FOUND: usize = 1_000;

/// A path that a pattern means, and what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// From the directory that was searched.
    pub(super) path: PathBuf,
    pub(super) kind: FileType,
}

#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) found: Vec<Found>,
    looked_at: usize,
}

impl Search {
    /// Adds what `pattern` means below `dir`.
    pub(super) fn add(&mut self, dir: impl AsFd, pattern: &Pattern) -> Result<(), SysError> {
        self.descend(dir.as_fd(), Path::new(""), &pattern.0)
    }

    fn descend(
        &mut self,
        dir: BorrowedFd<'_>,
        path: &Path,
        parts: &[Part],
    ) -> Result<(), SysError> {
        let Some((part, rest)) = parts.split_first() else { return Ok(()) };
        match part {
            Part::Name(name) => match statat(dir, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => {
                    let kind = FileType::from_raw_mode(stat.st_mode);
                    if kind == FileType::Symlink && !rest.is_empty() {
                        // It could be made to lead elsewhere between this look and any later one.
                        let link = path.join(name);
                        return Err(SysError::on("blocked paths", link.display(), Errno::LOOP));
                    }
                    self.step(dir, path, OsStr::new(name), kind, rest)
                }
                Err(Errno::NOENT) => Ok(()),
                Err(errno) => Err(SysError::on("stat", path.join(name).display(), errno)),
            },
            Part::Glob(glob) => {
                for (name, kind) in self.entries(dir, path)? {
                    if stands_for(glob, name.as_bytes()) {
                        self.step(dir, path, &name, kind, rest)?;
                    }
                }
                Ok(())
            }
            Part::Anywhere => {
                self.descend(dir, path, rest)?;
                for (name, kind) in self.entries(dir, path)? {
                    if kind == FileType::Directory {
                        let below = open_dir(dir, path, &name)?;
                        self.descend(below.as_fd(), &path.join(&name), parts)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// One name further: found, or a directory to go on in. Anything else ends the pattern here.
    fn step(
        &mut self,
        dir: BorrowedFd<'_>,
        path: &Path,
        name: &OsStr,
        kind: FileType,
        rest: &[Part],
    ) -> Result<(), SysError> {
        let path_here = path.join(name);
        if rest.is_empty() {
            if self.found.len() >= MOST_FOUND {
                return Err(SysError::on("blocked paths", path_here.display(), Errno::TOOBIG));
            }
            self.found.push(Found { path: path_here, kind });
            return Ok(());
        }
        match kind {
            FileType::Directory => {
                let below = open_dir(dir, path, name)?;
                self.descend(below.as_fd(), &path_here, rest)
            }
            _ => Ok(()),
        }
    }

    fn entries(
        &mut self,
        dir: BorrowedFd<'_>,
        path: &Path,
    ) -> Result<Vec<(std::ffi::OsString, FileType)>, SysError> {
        let fail = |errno| SysError::on("readdir", path.display(), errno);
        let mut entries = Vec::new();
        for entry in Dir::read_from(dir).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name: &CStr = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            self.looked_at += 1;
            if self.looked_at > MOST_LOOKED_AT {
                return Err(SysError::on("blocked paths", path.display(), Errno::TOOBIG));
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            entries.push((OsStr::from_bytes(name.to_bytes()).to_owned(), kind));
        }
        Ok(entries)
    }
}

fn open_dir(dir: BorrowedFd<'_>, path: &Path, name: &OsStr) -> Result<OwnedFd, SysError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(dir, name, flags, Mode::empty())
        .map_err(|e| SysError::on("open", path.join(name).display(), e))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn found(dir: &Path, pattern: &str) -> Vec<String> {
        let mut search = Search::default();
        search.add(fs::File::open(dir).unwrap(), &Pattern::parse(pattern).unwrap()).unwrap();
        let mut names: Vec<_> =
            search.found.iter().map(|found| found.path.display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn patterns_mean_what_they_say() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        fs::create_dir_all(top.join("a/b")).unwrap();
        for file in [".env", ".env.local", "a/.env", "a/b/.env", "a/x.key"] {
            fs::write(top.join(file), "").unwrap();
        }
        symlink("a", top.join("link")).unwrap();
        assert_eq!(found(top, ".env"), [".env"]);
        assert_eq!(found(top, ".env.*"), [".env.local"]);
        assert_eq!(found(top, "**/.env"), [".env", "a/.env", "a/b/.env"]);
        assert_eq!(found(top, "a/*.key"), ["a/x.key"]);
        assert_eq!(found(top, "*/.env"), ["a/.env"]);
        assert_eq!(found(top, "a/**/.env"), ["a/.env", "a/b/.env"]);
        assert!(found(top, "none").is_empty() && found(top, "none/x").is_empty());
        assert_eq!(found(top, "link"), ["link"]);
    }

    #[test]
    fn a_path_through_a_symlink_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        symlink("/etc", dir.path().join("link")).unwrap();
        let pattern = Pattern::parse("link/passwd").unwrap();
        let error =
            Search::default().add(fs::File::open(dir.path()).unwrap(), &pattern).unwrap_err();
        assert_eq!(error.source.raw_os_error(), Some(libc::ELOOP));
    }
}
