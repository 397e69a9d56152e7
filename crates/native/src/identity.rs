//! Who the program is: never uid 0 of the host, and what it makes belongs to the workspace's owner.
//!
//! A user who is not root gets a user namespace in which he is himself. Root gives up being root: the
//! program runs as the workspace's owner, or, where that is root, as an id that owns nothing. Mounts
//! that swap this id with 0 then make root's files the program's own, and its files root's on disk.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::sys::SysError;
use crate::sys::holder::Holder;

/// Owns nothing on any host: outside the ranges that distributions give to people, services and
/// containers.
pub(crate) const NOBODYS: u32 = 64987;

#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) way: Way,
}

/// How the program comes to be who it is.
#[derive(Debug)]
pub(crate) enum Way {
    /// Ourselves, in a user namespace that maps nobody else.
    UserNamespace,
    /// Root gives up its ids. `owners` is the user namespace whose map the mounts of the workspace are
    /// given; it is needed where the workspace is root's, and made while the sandbox is already at work.
    Dropped { owners: Option<OwnedFd> },
}

impl Identity {
    /// Of a program that works in a directory of this owner, started by us.
    pub(crate) fn choose(owner: Ids) -> Self {
        let us = Ids::ours();
        if us.uid != 0 {
            return Self { uid: us.uid, gid: us.gid, way: Way::UserNamespace };
        }
        let not_root = |id: u32| if id == 0 { NOBODYS } else { id };
        let (uid, gid) = (not_root(owner.uid), not_root(owner.gid));
        Self { uid, gid, way: Way::Dropped { owners: None } }
    }

    /// The same, with the map to give to mounts of what belongs to root.
    pub(crate) fn with_owners(&self, owners: Option<OwnedFd>) -> Self {
        let way = match self.way {
            Way::UserNamespace => Way::UserNamespace,
            Way::Dropped { .. } => Way::Dropped { owners },
        };
        Self { uid: self.uid, gid: self.gid, way }
    }

    pub(crate) fn has_user_namespace(&self) -> bool {
        matches!(self.way, Way::UserNamespace)
    }

    /// The map to give to mounts of what belongs to root.
    pub(crate) fn owners(&self) -> Option<BorrowedFd<'_>> {
        match &self.way {
            Way::Dropped { owners: Some(owners) } => Some(owners.as_fd()),
            _ => None,
        }
    }

    /// In the child: maps us onto ourselves. Other groups cannot be dropped then, nor used to gain.
    pub(crate) fn map_self(&self) -> Result<(), SysError> {
        for (file, text) in [
            ("/proc/self/setgroups", "deny".to_owned()),
            ("/proc/self/uid_map", format!("{0} {0} 1", self.uid)),
            ("/proc/self/gid_map", format!("{0} {0} 1", self.gid)),
        ] {
            fs::write(file, text).map_err(|e| SysError::on("write", file, e))?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ids {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Ids {
    pub(crate) fn ours() -> Self {
        Self { uid: effective_uid(), gid: rustix::process::getegid().as_raw() }
    }

    pub(crate) fn of(meta: &fs::Metadata) -> Self {
        Self { uid: meta.uid(), gid: meta.gid() }
    }
}

/// Entries of a workspace, itself included, that a user namespace of `us` cannot copy up because their
/// owner or group means nothing in it: at most `most`. Looks no deeper than the direct entries, so that
/// the time of a start does not depend on the size of the tree.
pub(crate) fn strangers(workspace: &Path, us: Ids, most: usize) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if Ids::of(&fs::symlink_metadata(workspace)?) != us {
        found.push(workspace.to_owned());
    }
    for entry in fs::read_dir(workspace)? {
        if found.len() >= most {
            break;
        }
        let entry = entry?;
        match entry.metadata() {
            Ok(meta) if Ids::of(&meta) != us => found.push(entry.path()),
            // Gone since it was listed.
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(found)
}

/// Asked of the kernel each time: a test may have changed it.
pub(crate) fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user namespace whose map the mounts of a workspace of this owner are given, and the process that
/// kept it until we had it open. That process is dying; it is waited for when the rest is done.
#[derive(Debug)]
pub(crate) struct Owners {
    namespace: Arc<OwnedFd>,
    _holder: Option<Holder>,
}

impl Owners {
    /// Swaps 0 with the id that owns nothing, where the owner is root, and leaves every other id alone:
    /// without the others, files of third parties could not even be copied up. `None` where nothing is
    /// root's, or we are not root.
    pub(crate) fn of(owner: Ids) -> Result<Option<Self>, SysError> {
        if effective_uid() != 0 || (owner.uid != 0 && owner.gid != 0) {
            return Ok(None);
        }
        let holder = Holder::in_new_user_namespace()?;
        let proc = PathBuf::from(format!("/proc/{}", holder.pid()));
        for (file, id) in [("uid_map", owner.uid), ("gid_map", owner.gid)] {
            let map = if id == 0 { swap_map(NOBODYS) } else { everybody() };
            let path = proc.join(file);
            fs::write(&path, map).map_err(|e| SysError::on("write", file, e))?;
        }
        let path = proc.join("ns/user");
        let namespace = File::open(&path).map_err(|e| SysError::on("open", path.display(), e))?;
        holder.end();
        Ok(Some(Self { namespace: Arc::new(namespace.into()), _holder: Some(holder) }))
    }

    /// The namespace, open once more.
    pub(crate) fn again(&self) -> Result<OwnedFd, SysError> {
        self.namespace.try_clone().map_err(|e| SysError::on("dup", "namespace", e))
    }
}

impl AsFd for Owners {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }
}

/// So many are kept: those that were asked for last.
const MOST: usize = 4;

/// Such namespaces, by owner: nobody is in them, and a map never changes.
#[derive(Debug, Default)]
pub(crate) struct Maps(Mutex<Vec<(Ids, Arc<OwnedFd>)>>);

impl Maps {
    /// [`Owners::of`], made once.
    pub(crate) fn of(&self, owner: Ids) -> Result<Option<Owners>, SysError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, namespace)) = kept.iter().find(|(ids, _)| *ids == owner) {
            return Ok(Some(Owners { namespace: namespace.clone(), _holder: None }));
        }
        let made = Owners::of(owner)?;
        kept.splice(0..0, made.iter().map(|made| (owner, made.namespace.clone())));
        kept.truncate(MOST);
        Ok(made)
    }
}

/// Ids that exist: all but the last, which means none.
const IDS: u32 = u32::MAX;

fn everybody() -> String {
    format!("0 0 {IDS}\n")
}

fn swap_map(id: u32) -> String {
    let mut map = String::new();
    for (inside, outside, count) in
        [(0, id, 1), (1, 1, id - 1), (id, 0, 1), (id + 1, id + 1, IDS - id - 1)]
    {
        // Writing into a string cannot fail.
        writeln!(map, "{inside} {outside} {count}").ok();
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_swap_covers_every_id_once() {
        let lines: Vec<[u64; 3]> = swap_map(NOBODYS)
            .lines()
            .map(|line| {
                let mut words = line.split(' ').map(|n| n.parse().unwrap());
                [words.next().unwrap(), words.next().unwrap(), words.next().unwrap()]
            })
            .collect();
        for side in [0, 1] {
            let mut ranges: Vec<_> = lines.iter().map(|l| (l[side], l[side] + l[2])).collect();
            ranges.sort_unstable();
            let mut next = 0;
            for (from, to) in ranges {
                assert_eq!(from, next);
                next = to;
            }
            assert_eq!(next, u64::from(u32::MAX));
        }
        assert!(lines.contains(&[0, 64987, 1]) && lines.contains(&[64987, 0, 1]));
    }

    #[test]
    fn strangers_are_found_in_the_root_only_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/b"), "").unwrap();
        let us = Ids::of(&fs::metadata(dir.path()).unwrap());
        assert!(strangers(dir.path(), us, 5).unwrap().is_empty());
        let other = Ids { uid: us.uid + 1, gid: us.gid };
        assert_eq!(strangers(dir.path(), other, 5).unwrap().len(), 2);
        assert_eq!(strangers(dir.path(), other, 1).unwrap().len(), 1);
    }
}
