//! Copies what undo needs out of slots that are in the workspace, where nothing of ours may stay.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, Mode, OFlags, openat, readlinkat, renameat, unlinkat};
use rustix::io::Errno;

use super::attributes::{own, set_mode, set_mtime, set_xattrs, xattrs};
use super::journal::Journal;
use super::slots::{self, SLOTS};
use super::stage::{Source, Stage};
use crate::changes::seen::{Kind, Seen};

/// Copies the slots of an operation that hold something of the host's beside its journal. Can be done
/// again: what was copied whole is not copied twice.
pub(crate) fn keep(journal: &Journal) -> io::Result<()> {
    let to = journal.dir().join(SLOTS);
    let Some(from) = slots::reopen(&journal.head.slots)? else { return Ok(()) };
    let to_dir = match slots::reopen(&to)? {
        Some(dir) => dir,
        None => slots::make(&to)?,
    };
    let mut stage = Stage::new(to_dir, 0);
    for step in journal.steps() {
        if let Some(slot) = step?.act.keeps() {
            copy(&from, slot, &mut stage)?;
        }
    }
    stage.sync()?;
    Ok(())
}

/// One slot, into a stage under the same number, with all its attributes.
pub(crate) fn copy(from: &OwnedFd, slot: u64, to: &mut Stage) -> io::Result<()> {
    let name = slot.to_string();
    if Seen::at(to.slots(), &name)?.is_some() {
        return Ok(());
    }
    let Some(seen) = Seen::at(from, &name)? else { return Ok(()) };
    let unfinished = u64::MAX;
    match unlinkat(to.slots(), unfinished.to_string(), AtFlags::empty()) {
        Err(Errno::NOENT) => {}
        done => done?,
    }
    match seen.kind {
        Kind::Symlink => {
            let target = readlinkat(from, &name, Vec::new())?;
            let target = std::ffi::OsStr::from_bytes(target.to_bytes());
            to.symlink(unfinished, target, seen.owner)?;
        }
        Kind::File => {
            let mut file = open(from, &name, &seen)?;
            to.file(unfinished, Source::Copy(&mut file), 0o600, seen.owner)?;
            let held = hold(to.slots(), &unfinished.to_string())?;
            set_xattrs(&held, &xattrs(&hold(from, &name)?)?)?;
            own(&held, seen.owner)?;
            set_mode(&held, seen.mode)?;
        }
        // Never copied: they cannot be made without rights that we may not have. Undo says so.
        Kind::Directory | Kind::Special(_) => return Ok(()),
    }
    set_mtime(to.slots(), unfinished.to_string().as_ref(), seen.mtime)?;
    Ok(renameat(to.slots(), unfinished.to_string(), to.slots(), name)?)
}

fn hold(dir: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(dir, name, flags, Mode::empty())?)
}

/// For reading, also where its owner may not: it is ours to change for that.
fn open(dir: &OwnedFd, name: &str, seen: &Seen) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(dir, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let held = hold(dir, name)?;
            set_mode(&held, 0o400)?;
            let file = openat(dir, name, flags, Mode::empty());
            set_mode(&held, seen.mode)?;
            Ok(file?.into())
        }
        file => Ok(file?.into()),
    }
}
