//! Links that lead where changes should not go.
//!
//! Judged by their text alone, from the place they stand in: nobody knows what will stand at the end of one
//! when it is followed. So a link that goes up after it has gone down counts as leaving: where that leads
//! depends on other links.

use std::os::unix::ffi::OsStrExt as _;

use super::fold::folded;
use crate::changes::{ChangePath, Entry, Node};

/// Why the link that this entry leaves is dangerous, if it is.
pub(super) fn danger(entry: &Entry) -> Option<&'static str> {
    let Some(Node::Symlink { target }) = &entry.after else { return None };
    let target = target.0.as_bytes();
    if target.first() == Some(&b'/') {
        return Some("is a link to an absolute path");
    }
    if climbs_out(&entry.path, target) {
        return Some("is a link that leads out of the workspace");
    }
    let names = folded(target);
    let is_git = |name: &[u8]| name == b"git~1" || name.ends_with(b".git");
    let into_git = names.split(|byte| *byte == b'/').any(is_git);
    if into_git {
        return Some("is a link into a git directory");
    }
    match entry.before {
        Some(Node::Directory { .. }) => {
            Some("is a link where a directory was: what is written below it goes elsewhere")
        }
        _ => None,
    }
}

fn climbs_out(path: &ChangePath, target: &[u8]) -> bool {
    // Directories between the workspace and the link.
    let mut depth = path.names().count() - 1;
    let mut went_down = false;
    for name in target.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." if went_down || depth == 0 => return true,
            b".." => depth -= 1,
            _ => went_down = true,
        }
    }
    false
}
