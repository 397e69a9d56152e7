//! The steps of which every apply and undo is made. Each is one call that the kernel makes whole or not at
//! all, and each can be taken back by looking at what is there.
//!
//! Contents come from and go to numbered *slots*, a directory on the workspace's own file system. What a
//! step replaces or deletes is moved into a slot and never removed: the very file, with its times and
//! attributes, is what undo puts back.

use std::fs::Permissions;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::changes::{ChangePath, ContentHash, Node};
use rustix::fs::{AtFlags, fstat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::attributes::DirectoryRecord;
use super::ground::Ground;
use crate::changes::beneath::{Place, WorkspaceError};
use crate::changes::conflict::hash_of;
use crate::changes::seen::{Mark, Seen};

/// One step, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Number of the entry that it is for.
    pub(crate) entry: u64,
    pub(crate) path: ChangePath,
    #[serde(flatten)]
    pub(crate) act: Act,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum Act {
    /// Another mode for the same file or directory.
    Chmod { ino: u64, from: u32, to: u32 },
    /// What is in the slot goes where nothing is.
    Put {
        slot: u64,
        staged: Mark,
        /// What it is, for undo.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        put: Option<Node>,
    },
    /// What is in the slot and what is at the path change places.
    Exchange {
        slot: u64,
        staged: Mark,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        put: Option<Node>,
        old: Expected,
    },
    /// What is at the path goes into the slot.
    Take { slot: u64, old: Expected },
    /// An empty directory is removed.
    Rmdir { ino: u64, old: DirectoryRecord },
}

/// What must be at a path for a step to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Expected {
    pub(crate) mark: Mark,
    pub(crate) ctime: Moment,
    /// Of a file: what its bytes must be where the ctime moved on.
    pub(crate) hash: Option<ContentHash>,
}

/// When a step is made, among all of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Directories that become writable.
    Open,
    /// From the last to the first: what is in a directory goes before it.
    Remove,
    Put,
    /// Directories that become less writable.
    Close,
}

#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error("{path}: {why}")]
    Moved { path: ChangePath, why: String },
    #[error("cannot {action} {path}")]
    Io { action: &'static str, path: ChangePath, source: io::Error },
    #[error("cannot write to the journal in {}", path.display())]
    Journal { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl Act {
    pub(crate) fn phase(&self) -> Phase {
        match self {
            Self::Chmod { to, .. } if to & 0o300 == 0o300 => Phase::Open,
            Self::Chmod { .. } => Phase::Close,
            Self::Take { .. } | Self::Rmdir { .. } => Phase::Remove,
            Self::Put { .. } | Self::Exchange { .. } => Phase::Put,
        }
    }

    /// Whether its slot holds something of the host's once it is made.
    pub(crate) fn keeps(&self) -> Option<u64> {
        match self {
            Self::Exchange { slot, .. } | Self::Take { slot, .. } => Some(*slot),
            Self::Put { .. } | Self::Chmod { .. } | Self::Rmdir { .. } => None,
        }
    }
}

impl Step {
    /// Makes the step, if what it changes is still what it was planned for.
    pub(crate) fn perform(&self, ground: &Ground<'_>) -> Result<(), StepError> {
        let place = ground.workspace().place(&self.path)?;
        if !ground.hold(&self.path, &place).map_err(self.io("hold the directory of"))? {
            let why = "its directory was replaced on the host this very moment".to_owned();
            return Err(StepError::Moved { path: self.path.clone(), why });
        }
        match &self.act {
            Act::Chmod { ino, from, to } => {
                if !chmod(&place, *ino, *from, *to).map_err(self.io("change the mode of"))? {
                    return Err(self.moved());
                }
            }
            Act::Put { slot, .. } => match ground.put(*slot, &place) {
                Err(Errno::EXIST) => return Err(self.moved()),
                done => done.map_err(|errno| self.io("create")(errno.into()))?,
            },
            Act::Exchange { slot, old, .. } => {
                self.must_be(&place, old)?;
                let exchanged = ground.exchange(*slot, &place);
                exchanged.map_err(|errno| self.io("replace")(errno.into()))?;
                self.must_have_come_out(ground, *slot, old)?;
            }
            Act::Take { slot, old } => {
                self.must_be(&place, old)?;
                let taken = ground.take(&place, *slot);
                taken.map_err(|errno| self.io("delete")(errno.into()))?;
                self.must_have_come_out(ground, *slot, old)?;
            }
            Act::Rmdir { ino, .. } => {
                let seen = place.look().map_err(self.io("look at"))?;
                if seen.is_none_or(|seen| seen.ino != *ino) {
                    return Err(self.moved());
                }
                match unlinkat(&place.dir, place.name, AtFlags::REMOVEDIR) {
                    Err(Errno::NOTEMPTY | Errno::EXIST) => {
                        let why = "it holds something that was not there before".to_owned();
                        return Err(StepError::Moved { path: self.path.clone(), why });
                    }
                    done => done.map_err(|errno| self.io("remove")(errno.into()))?,
                }
                // What is taken back is put into the one that is made again.
                ground.let_go(&self.path);
            }
        }
        Ok(())
    }

    /// Takes the step back, whether it was made or not. The words say what could not be, because somebody
    /// worked on that very file in between; nothing of theirs is touched.
    pub(crate) fn take_back(&self, ground: &Ground<'_>) -> Result<Option<String>, StepError> {
        let place = match ground.place_of_made(&self.path) {
            Ok(place) => place,
            // Its directory was not put there yet: then neither was this.
            Err(WorkspaceError::NoParent { .. } | WorkspaceError::Detour { .. })
                if matches!(self.act, Act::Put { .. }) =>
            {
                return Ok(None);
            }
            Err(_) if self.was_not_made(ground).map_err(self.io("look at"))? => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let there = place.look().map_err(self.io("look at"))?;
        let stuck = |words: &str| Ok(Some(format!("{}: {words}", self.path)));
        match &self.act {
            Act::Chmod { ino, from, to } => {
                // A directory may have been made again just now, and is another.
                let ino = there.filter(Seen::is_dir).map_or(*ino, |there| there.ino);
                if there.is_some() {
                    chmod(&place, ino, *to, *from).map_err(self.io("change the mode of"))?;
                }
            }
            Act::Put { slot, staged, .. } => match there {
                Some(there) if there.ino == staged.ino => {
                    if !there.is_dir() && there.mark() != *staged {
                        return stuck("it was edited after it was put there, and stays");
                    }
                    if there.is_dir() && !is_empty(&place).map_err(self.io("read"))? {
                        return stuck("somebody put something into it, and it stays");
                    }
                    let taken = ground.take(&place, *slot);
                    taken.map_err(|errno| self.io("take back")(errno.into()))?;
                }
                _ => {}
            },
            Act::Exchange { slot, staged, .. } => match there {
                Some(there) if there.ino == staged.ino => {
                    if there.mark() != *staged {
                        return stuck("it was edited after it was put there, and stays");
                    }
                    let back = ground.exchange(*slot, &place);
                    back.map_err(|errno| self.io("put back")(errno.into()))?;
                }
                _ => {
                    let slot = ground.look(*slot).map_err(self.io("look at"))?;
                    if slot.is_some_and(|slot| slot.ino != staged.ino) {
                        return stuck("it was replaced meanwhile; what it was is kept");
                    }
                }
            },
            Act::Take { slot, .. } => {
                if ground.look(*slot).map_err(self.io("look at"))?.is_some() {
                    match ground.put(*slot, &place) {
                        Err(Errno::EXIST) => {
                            return stuck("another was made meanwhile; what it was is kept");
                        }
                        done => done.map_err(|errno| self.io("put back")(errno.into()))?,
                    }
                }
            }
            Act::Rmdir { old, .. } => {
                if there.is_none() {
                    ground.put_directory(self.entry, old, &place).map_err(self.io("put back"))?;
                }
            }
        }
        Ok(None)
    }

    /// Whether its slot shows that nothing was done yet.
    fn was_not_made(&self, ground: &Ground<'_>) -> io::Result<bool> {
        Ok(match &self.act {
            Act::Put { slot, staged, .. } | Act::Exchange { slot, staged, .. } => {
                ground.look(*slot)?.is_some_and(|slot| slot.ino == staged.ino)
            }
            Act::Take { slot, .. } => ground.look(*slot)?.is_none(),
            Act::Chmod { .. } | Act::Rmdir { .. } => false,
        })
    }

    /// Whether this only opened a directory so that `next` could remove it.
    pub(crate) fn opens_for(&self, next: Option<&Self>) -> bool {
        matches!(self.act, Act::Chmod { .. })
            && next.is_some_and(|next| {
                next.entry == self.entry && matches!(next.act, Act::Rmdir { .. })
            })
    }

    fn must_be(&self, place: &Place<'_>, old: &Expected) -> Result<(), StepError> {
        let seen = place.look().map_err(self.io("look at"))?;
        let Some(seen) = seen.filter(|seen| seen.mark() == old.mark) else {
            return Err(self.moved());
        };
        match old.hash {
            Some(hash) if seen.ctime != old.ctime => {
                let now = hash_of(place).map_err(self.io("read"))?;
                if now == hash { Ok(()) } else { Err(self.moved()) }
            }
            _ => Ok(()),
        }
    }

    /// Between the look and the rename somebody may have been faster.
    fn must_have_come_out(
        &self,
        ground: &Ground<'_>,
        slot: u64,
        old: &Expected,
    ) -> Result<(), StepError> {
        let out = ground.look(slot).map_err(self.io("look at"))?;
        if out.is_some_and(|out| out.mark() == old.mark) { Ok(()) } else { Err(self.moved()) }
    }

    fn moved(&self) -> StepError {
        let why = "it was changed on the host this very moment".to_owned();
        StepError::Moved { path: self.path.clone(), why }
    }

    fn io(&self, action: &'static str) -> impl FnOnce(io::Error) -> StepError {
        let path = self.path.clone();
        move |source| StepError::Io { action, path, source }
    }
}

/// Changes a mode where it is the one that was expected, on the very file: no name is looked up twice.
fn chmod(place: &Place<'_>, ino: u64, from: u32, to: u32) -> io::Result<bool> {
    let held = place.hold()?;
    let seen = Seen::from(fstat(&held)?);
    if seen.ino != ino || seen.mode != from {
        return Ok(false);
    }
    let path = format!("/proc/self/fd/{}", held.as_raw_fd());
    std::fs::set_permissions(path, Permissions::from_mode(to))?;
    Ok(true)
}

pub(crate) fn is_empty(place: &Place<'_>) -> io::Result<bool> {
    Ok(count(place, 1)? == 0)
}

/// How many names a directory holds; counting stops at `most`.
pub(crate) fn count(place: &Place<'_>, most: u64) -> io::Result<u64> {
    use rustix::fs::{Dir, Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut dir = Dir::new(openat(&place.dir, place.name, flags, Mode::empty())?)?;
    let mut count = 0;
    while count < most {
        let Some(entry) = dir.read() else { break };
        let entry = entry?;
        let dots = [&b"."[..], b".."].contains(&entry.file_name().to_bytes());
        count += u64::from(!dots);
    }
    Ok(count)
}
