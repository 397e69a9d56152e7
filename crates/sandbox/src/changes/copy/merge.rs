//! A copy that was worked on elsewhere, brought up to date by an archive of what became of it.
//!
//! [`merge`] leaves alone what is the same, so that sealing finds what the program changed as if it had worked here.
//! The archive is foreign: every directory on the way to an entry must have come before as one, so that no link
//! leads out of the copy.
//!
//! Deliberately absent: devices, pipes and sockets, which are never applied, and the archive's owners.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Entry, EntryType};

use crate::tree::remove_tree;

/// Where to, and what of it stays as it is.
pub(crate) struct Merging<'a> {
    pub(crate) copy: &'a Path,
    /// A name on the same file system that is not in use.
    pub(crate) spool: &'a Path,
    /// What was never shown to the program, by its path in the copy.
    pub(crate) hidden: &'a [PathBuf],
    /// Who owns what is new.
    pub(crate) owner: Option<(u32, u32)>,
}

/// Makes the copy what the archive says. Its entries are below one name, which is the copy's own.
pub(crate) fn merge(merging: &Merging<'_>, archive: impl Read) -> io::Result<()> {
    let mut work = Work { merging, directories: HashMap::new(), seen: HashSet::new() };
    let mut archive = Archive::new(archive);
    for entry in archive.entries()? {
        work.take(entry?)?;
    }
    if !work.directories.contains_key(Path::new("")) {
        return Err(odd("the archive has no top"));
    }
    work.remove_others(Path::new(""))?;
    // Inner ones first: an outer one may be closed by its mode.
    let mut directories: Vec<_> = work.directories.iter().collect();
    directories.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
    for (path, mode) in directories {
        let place = merging.copy.join(path);
        if fs::symlink_metadata(&place)?.mode() & 0o7777 != *mode {
            fs::set_permissions(&place, Permissions::from_mode(*mode))?;
        }
    }
    Ok(())
}

struct Work<'a> {
    merging: &'a Merging<'a>,
    /// Those that are there now, with the mode that they get in the end.
    directories: HashMap<PathBuf, u32>,
    seen: HashSet<PathBuf>,
}

impl Work<'_> {
    fn take(&mut self, mut entry: Entry<'_, impl Read>) -> io::Result<()> {
        let path = below_top(&entry.path_bytes())?;
        if self.is_hidden(&path) {
            return Ok(());
        }
        let mode = entry.header().mode()? & 0o7777;
        let is_top = path.as_os_str().is_empty();
        if !is_top && !path.parent().is_some_and(|parent| self.directories.contains_key(parent)) {
            return Err(odd("an entry without its directory"));
        }
        match entry.header().entry_type() {
            EntryType::Directory => self.directory(&path, mode)?,
            _ if is_top => return Err(odd("a top that is no directory")),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                io::copy(&mut entry, &mut File::create(self.merging.spool)?)?;
                self.file(&path, mode)?;
            }
            EntryType::Symlink => {
                let target = entry.link_name_bytes().ok_or_else(|| odd("a link to nothing"))?;
                self.link(&path, Path::new(std::ffi::OsStr::from_bytes(&target)))?;
            }
            EntryType::Link => {
                let target = entry.link_name_bytes().ok_or_else(|| odd("a link to nothing"))?;
                let target = below_top(&target)?;
                if !self.seen.contains(&target) || self.directories.contains_key(&target) {
                    return Err(odd("a second name of nothing"));
                }
                let place = self.merging.copy.join(&target);
                if !fs::symlink_metadata(&place)?.is_file() {
                    return Err(odd("a second name of no file"));
                }
                fs::copy(&place, self.merging.spool)?;
                self.file(&path, mode)?;
            }
            _ => return Ok(()),
        }
        self.seen.insert(path);
        Ok(())
    }

    fn is_hidden(&self, path: &Path) -> bool {
        self.merging.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    fn directory(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        let place = self.merging.copy.join(path);
        match fs::symlink_metadata(&place) {
            Ok(meta) if meta.is_dir() => {
                // Written to, whatever its mode was and will be.
                if meta.mode() & 0o700 != 0o700 {
                    fs::set_permissions(&place, Permissions::from_mode(0o700))?;
                }
            }
            found => {
                if found.is_ok() {
                    fs::remove_file(&place)?;
                }
                fs::create_dir(&place)?;
                fs::set_permissions(&place, Permissions::from_mode(0o700))?;
                self.give(&place)?;
            }
        }
        self.directories.insert(path.to_owned(), mode);
        Ok(())
    }

    /// What is in the spool, unless the same is there.
    fn file(&self, path: &Path, mode: u32) -> io::Result<()> {
        let (place, spool) = (self.merging.copy.join(path), self.merging.spool);
        let there = fs::symlink_metadata(&place).ok();
        let is_same = match &there {
            Some(meta) if meta.is_file() && meta.len() == fs::metadata(spool)?.len() => {
                same_bytes(&place, spool)?
            }
            _ => false,
        };
        if is_same {
            if there.is_some_and(|meta| meta.mode() & 0o7777 != mode) {
                fs::set_permissions(&place, Permissions::from_mode(mode))?;
            }
            return fs::remove_file(spool);
        }
        self.make_room(&place)?;
        self.give(spool)?;
        fs::set_permissions(spool, Permissions::from_mode(mode))?;
        fs::rename(spool, &place)
    }

    fn link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let place = self.merging.copy.join(path);
        if fs::read_link(&place).is_ok_and(|there| there == target) {
            return Ok(());
        }
        self.make_room(&place)?;
        symlink(target, &place)?;
        self.give(&place)
    }

    fn make_room(&self, place: &Path) -> io::Result<()> {
        match fs::symlink_metadata(place) {
            Ok(meta) if meta.is_dir() => remove_tree(place),
            Ok(_) => fs::remove_file(place),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn give(&self, place: &Path) -> io::Result<()> {
        let Some((uid, gid)) = self.merging.owner else { return Ok(()) };
        lchown(place, Some(uid), Some(gid))
    }

    /// What the archive does not have, the program removed; but for what it never saw.
    fn remove_others(&self, dir: &Path) -> io::Result<()> {
        for entry in fs::read_dir(self.merging.copy.join(dir))? {
            let entry = entry?;
            let path = dir.join(entry.file_name());
            let holds_hidden = self.merging.hidden.iter().any(|hidden| hidden.starts_with(&path));
            if self.is_hidden(&path) {
                continue;
            }
            let is_dir = entry.file_type()?.is_dir();
            if is_dir && (self.directories.contains_key(&path) || holds_hidden) {
                self.remove_others(&path)?;
            } else if !self.seen.contains(&path) {
                self.make_room(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// A path of the archive without its first name.
fn below_top(path: &[u8]) -> io::Result<PathBuf> {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let mut parts = path.components();
    match parts.next() {
        Some(Component::Normal(_)) => {}
        _ => return Err(odd("a path without a top")),
    }
    let rest = parts.as_path();
    let is_plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
    if is_plain { Ok(rest.to_owned()) } else { Err(odd("a path that leads elsewhere")) }
}

fn same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut a, mut b) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let got = one.read(&mut a)?;
        other.read_exact(&mut b[..got])?;
        if a[..got] != b[..got] {
            return Ok(false);
        }
        if got == 0 {
            return Ok(true);
        }
    }
}

fn odd(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Is<'a> {
        Dir,
        File(&'a str),
        Link(&'a str),
        Same(&'a str),
        Pipe,
    }

    fn archive(entries: &[(&str, Is<'_>)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, kind) in entries {
            let mut header = tar::Header::new_gnu();
            // Written outright: the builder would refuse what a foreign archive may hold.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            let (entry_type, text, mode) = match kind {
                Is::Dir => (EntryType::Directory, "", 0o755),
                Is::File(text) => (EntryType::Regular, *text, 0o644),
                Is::Link(_) => (EntryType::Symlink, "", 0o777),
                Is::Same(_) => (EntryType::Link, "", 0o644),
                Is::Pipe => (EntryType::Fifo, "", 0o644),
            };
            if let Is::Link(target) | Is::Same(target) = kind {
                header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
            }
            header.set_entry_type(entry_type);
            header.set_mode(mode);
            header.set_size(text.len() as u64);
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let copy = dir.path().join("copy");
            fs::create_dir_all(copy.join("sub")).unwrap();
            for (name, text) in [("same", "s"), ("old", "o"), ("gone", "g"), ("sub/.env", "KEY")] {
                fs::write(copy.join(name), text).unwrap();
                fs::set_permissions(copy.join(name), Permissions::from_mode(0o644)).unwrap();
            }
            Self(dir)
        }

        fn copy(&self) -> PathBuf {
            self.0.path().join("copy")
        }

        fn merge(&self, entries: &[(&str, Is<'_>)]) -> io::Result<()> {
            let (copy, spool) = (self.copy(), self.0.path().join("spool"));
            let hidden = [PathBuf::from("sub/.env")];
            let merging = Merging { copy: &copy, spool: &spool, hidden: &hidden, owner: None };
            merge(&merging, &archive(entries)[..])
        }

        fn text(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.copy().join(name)).ok()
        }
    }

    #[test]
    fn what_changed_is_changed_and_the_rest_is_left_alone() {
        let place = Place::new();
        let before = fs::metadata(place.copy().join("same")).unwrap();
        let entries = [
            ("w", Is::Dir),
            ("w/same", Is::File("s")),
            ("w/old", Is::File("new")),
            ("w/link", Is::Link("/etc/passwd")),
            ("w/d", Is::Dir),
            ("w/d/x", Is::File("x")),
            ("w/d/again", Is::Same("w/d/x")),
            ("w/pipe", Is::Pipe),
            ("w/sub", Is::Dir),
            ("w/sub/.env", Is::File("forged")),
        ];
        place.merge(&entries).unwrap();
        let after = fs::metadata(place.copy().join("same")).unwrap();
        let when = |meta: &fs::Metadata| (meta.ino(), meta.ctime(), meta.ctime_nsec());
        assert_eq!(when(&after), when(&before));
        assert_eq!((place.text("old").as_deref(), place.text("gone")), (Some("new"), None));
        assert_eq!(place.text("d/again").as_deref(), Some("x"));
        assert_eq!(place.text("sub/.env").as_deref(), Some("KEY"), "it was never shown");
        assert!(!place.copy().join("pipe").exists());
        let link = fs::read_link(place.copy().join("link")).unwrap();
        assert_eq!(link, Path::new("/etc/passwd"));
        assert!(!place.0.path().join("spool").exists());
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        let outside = tempfile::tempdir().unwrap();
        let away = outside.path().to_str().unwrap();
        for entries in [
            vec![("w", Is::Dir), ("w/l", Is::Link(away)), ("w/l/x", Is::File("x"))],
            vec![("w", Is::Dir), ("w/../x", Is::File("x"))],
            vec![("w", Is::Dir), ("w/a/x", Is::File("x"))],
            vec![("/w", Is::Dir)],
            vec![("w", Is::Dir), ("w/s", Is::Same("w/../../etc/passwd"))],
            vec![("w", Is::Dir), ("w/l", Is::Link(away)), ("w/s", Is::Same("w/l"))],
            vec![("w", Is::File("x"))],
            vec![],
        ] {
            assert!(Place::new().merge(&entries).is_err());
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
