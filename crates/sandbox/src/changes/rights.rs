//! Modes and owners that applied files get: what the program asked for, as far as it is sane.

use std::io;

use cofferdam_core::changes::{Entry, FileNode, Node, Permissions};

use super::beneath::{Workspace, WorkspaceError};
use super::seen::{Owner, Seen};
use cofferdam_core::changes::ChangePath;

/// What stands at the path once the entry is applied: its `after` with the mode that it gets.
pub fn as_put(entry: &Entry) -> Option<Node> {
    let before = entry.before.as_ref().and_then(Node::mode);
    Some(match entry.after.clone()? {
        Node::File(file) => Node::File(FileNode { mode: sane(file.mode, before, 0o400), ..file }),
        Node::Directory { mode } => Node::Directory { mode: sane(mode, before, 0o700) },
        other => other,
    })
}

/// The mode that the program asked for and the one that is given, where they differ.
pub fn mode_difference(entry: &Entry) -> Option<(Permissions, Permissions)> {
    let asked = entry.after.as_ref().and_then(Node::mode)?;
    let given = as_put(entry).as_ref().and_then(Node::mode)?;
    (asked != given).then_some((asked, given))
}

/// The owner can always read it, and nobody else writes to it who could not before.
fn sane(asked: Permissions, before: Option<Permissions>, least: u32) -> Permissions {
    const OTHERS_WRITE: u32 = 0o002;
    let had = before.is_some_and(|before| before.bits() & OTHERS_WRITE != 0);
    let mode = asked.bits() | least;
    Permissions::from(if had { mode } else { mode & !OTHERS_WRITE })
}

/// Who a new file belongs to, and whether a new directory hands its group on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heritage {
    pub(super) owner: Owner,
    /// The set-group-id bit, for directories, or nothing.
    pub(super) group_bit: u32,
}

const SET_GROUP_ID: u32 = 0o2000;

/// From the nearest directory above `path` that is there. The workspace's owner gets what is new; where
/// the directory hands its group on, so do we.
pub(super) fn heritage(workspace: &Workspace, path: &ChangePath) -> io::Result<Heritage> {
    let owner = workspace.owner();
    let mut above = path.split().0;
    let dir = loop {
        let Some(path) = above else { break rustix::fs::fstat(workspace.root())?.into() };
        match workspace.place(&path) {
            Ok(place) => {
                if let Some(seen) = place.look()?.filter(Seen::is_dir) {
                    break seen;
                }
            }
            Err(WorkspaceError::NoParent { .. } | WorkspaceError::Detour { .. }) => {}
            Err(error) => return Err(io::Error::other(error)),
        }
        above = path.split().0;
    };
    Ok(match dir.mode & SET_GROUP_ID {
        0 => Heritage { owner, group_bit: 0 },
        bit => Heritage { owner: Owner { gid: dir.owner.gid, ..owner }, group_bit: bit },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_sane() {
        let mode = |asked: u32, before: Option<u32>, least| {
            sane(asked.into(), before.map(Permissions::from), least).bits()
        };
        assert_eq!(mode(0o000, None, 0o400), 0o400);
        assert_eq!(mode(0o777, None, 0o400), 0o775);
        assert_eq!(mode(0o777, Some(0o644), 0o400), 0o775);
        assert_eq!(mode(0o777, Some(0o666), 0o400), 0o777);
        assert_eq!(mode(0o055, None, 0o700), 0o755);
        assert_eq!(mode(0o644, Some(0o600), 0o400), 0o644);
    }
}
