//! What has to hold of entries, by a look at both trees that knows nothing of the reader.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use cofferdam_core::changes::{Content, ContentHash, Entry, Node};

use super::ground::Ground;

pub(super) fn hold(ground: &Ground, entries: &[Entry]) {
    let (below, above) = (tree(&ground.workspace), tree(&ground.upper));
    let found: BTreeMap<&[u8], &Entry> =
        entries.iter().map(|entry| (entry.path.as_bytes(), entry)).collect();
    assert_eq!(found.len(), entries.len(), "a path has one entry");
    for (path, entry) in &found {
        assert_eq!(entry.before.is_some(), below.contains_key(*path), "{entry:?}");
        assert!(entry.before.is_some() || entry.after.is_some(), "{entry:?}");
        let left = above.get(*path);
        match (&entry.after, left) {
            (None, None) => {}
            (None, Some(left)) => assert!(is_whiteout(left) || left.len() == 0, "{entry:?}"),
            (Some(_), None) => panic!("nobody left this: {entry:?}"),
            (Some(node), Some(left)) => same_kind(node, left),
        }
        if let Some(Node::File(file)) = &entry.after
            && let Content::Kept(hash) = file.content
        {
            assert_eq!(hash, content(&ground.upper, path), "{entry:?}");
        }
    }
    for (path, left) in &above {
        let was_file = below.get(path).is_some_and(|was| was.is_file());
        let is_new = match left.is_file() {
            true if left.len() == 0 => false,
            true => !was_file || content(&ground.upper, path) != content(&ground.workspace, path),
            false => left.is_symlink() && !below.contains_key(path),
        };
        assert!(!is_new || found.contains_key(&path[..]), "passed over: {path:?}");
    }
    for path in below.keys() {
        let gone = ancestors(path).any(|above_it| above.get(above_it).is_some_and(is_whiteout));
        let told = found.get(&path[..]).is_some_and(|entry| entry.after.is_none());
        assert!(!gone || told, "a deletion that nobody hears of: {path:?}");
    }
}

fn same_kind(node: &Node, left: &Metadata) {
    let holds = match node {
        Node::File(file) => left.is_file() && file.size == left.len(),
        Node::Directory { .. } => left.is_dir(),
        Node::Symlink { .. } => left.is_symlink(),
        Node::Special { .. } => left.file_type().is_fifo(),
    };
    assert!(holds, "{node:?} for {left:?}");
}

fn is_whiteout(left: &Metadata) -> bool {
    left.file_type().is_char_device() && left.rdev() == 0
}

/// The path itself and everything that it lies in.
fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    ends.chain([path.len()]).map(|end| &path[..end])
}

fn content(root: &Path, path: &[u8]) -> ContentHash {
    let path = root.join(std::ffi::OsStr::from_bytes(path));
    ContentHash::of(&fs::read(path).expect("a file can be read"))
}

/// Everything below a directory, no link followed.
fn tree(root: &Path) -> BTreeMap<Vec<u8>, Metadata> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("a directory can be listed") {
            let path = entry.expect("an entry").path();
            let stat = fs::symlink_metadata(&path).expect("what is listed is there");
            if stat.is_dir() {
                dirs.push(path.clone());
            }
            let name = path.strip_prefix(root).expect("below the root");
            found.insert(name.as_os_str().as_bytes().to_vec(), stat);
        }
    }
    found
}
