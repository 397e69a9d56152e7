//! Whether the host still has what a run began with.
//!
//! The ctime of a file cannot be set by hand. A file whose ctime is older than the run's base was not
//! touched since, and is not read; any other is compared by its bytes.

use std::io;

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::changes::{ContentHash, Entry, FileNode, Node};
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fs::readlinkat;

use super::beneath::{Place, Workspace, WorkspaceError};
use super::rights::as_put;
use super::seen::{Kind, Seen};

/// How the host stands to a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// As it was when the run began: the change can be applied.
    AsBefore,
    /// As the change would make it: nothing is to be done.
    AsAfter,
    /// Otherwise; in words.
    Conflict(String),
}

/// Compares the host with an entry, whose directories are taken to stand as they did. `base` is the one
/// of the manifest.
pub fn check(workspace: &Workspace, entry: &Entry, base: Moment) -> Standing {
    let after = as_put(entry);
    look(workspace, entry, entry.before.as_ref(), after.as_ref(), base).0
}

/// The same with what was seen, for a `before` and `after` that need not be the entry's own.
pub(super) fn look(
    workspace: &Workspace,
    entry: &Entry,
    before: Option<&Node>,
    after: Option<&Node>,
    base: Moment,
) -> (Standing, Option<Seen>) {
    let conflict = |words: String| (Standing::Conflict(words), None);
    let place = match workspace.place(&entry.path) {
        Ok(place) => place,
        Err(WorkspaceError::NoParent { .. }) => {
            return match (before, after) {
                (None, _) => (Standing::AsBefore, None),
                (_, None) => (Standing::AsAfter, None),
                _ => conflict("its directory was deleted on the host meanwhile".to_owned()),
            };
        }
        Err(WorkspaceError::Detour { .. }) => {
            return conflict(
                "a directory on the way is a link or a file on the host now".to_owned(),
            );
        }
        Err(WorkspaceError::OtherFileSystem { .. }) => {
            return conflict("it lies on another file system than the workspace".to_owned());
        }
        Err(error) => return conflict(words(&error)),
    };
    let seen = match place.look() {
        Ok(seen) => seen,
        Err(error) => return conflict(words(&error)),
    };
    let standing = match difference(&place, seen.as_ref(), before, Some(base)) {
        Ok(_) if weakened(Weakness::Conflicts) => Standing::AsBefore,
        Ok(None) => Standing::AsBefore,
        Ok(Some(why)) => match difference(&place, seen.as_ref(), after, None) {
            Ok(None) => Standing::AsAfter,
            Ok(Some(_)) => Standing::Conflict(why),
            Err(error) => Standing::Conflict(words(&error)),
        },
        Err(error) => Standing::Conflict(words(&error)),
    };
    (standing, seen)
}

/// How what stands at a place differs from `node`; `None` where it does not. With `base`, a file that was
/// not touched since is believed to have the bytes that it had.
pub(super) fn difference(
    place: &Place<'_>,
    seen: Option<&Seen>,
    node: Option<&Node>,
    base: Option<Moment>,
) -> io::Result<Option<String>> {
    let (seen, node) = match (seen, node) {
        (None, None) => return Ok(None),
        (Some(seen), None) => {
            return Ok(Some(format!("a {} of that name is on the host now", seen.kind.name())));
        }
        (None, Some(_)) => return Ok(Some("it was deleted on the host meanwhile".to_owned())),
        (Some(seen), Some(node)) => (seen, node),
    };
    Ok(match (seen.kind, node) {
        (Kind::File, Node::File(file)) => {
            file_difference(place, seen, file, base)?.map(str::to_owned)
        }
        (Kind::Directory, Node::Directory { mode }) => {
            (seen.permissions() != *mode).then(|| MODE.to_owned())
        }
        (Kind::Symlink, Node::Symlink { target }) => {
            let now = readlinkat(&place.dir, place.name, Vec::new())?;
            let same =
                std::os::unix::ffi::OsStrExt::as_bytes(target.0.as_os_str()) == now.to_bytes();
            (!same).then(|| "it points elsewhere on the host now".to_owned())
        }
        (Kind::Special(now), Node::Special { special }) if now == *special => None,
        (kind, _) => Some(format!("it is a {} on the host now", kind.name())),
    })
}

const MODE: &str = "its mode was changed on the host meanwhile";
const UNREADABLE: &str = "you cannot read it, so that nobody knows whether it is what it was";
const CONTENT: &str = "its content was changed on the host meanwhile";

fn file_difference(
    place: &Place<'_>,
    seen: &Seen,
    file: &FileNode,
    base: Option<Moment>,
) -> io::Result<Option<&'static str>> {
    let Some(hash) = file.content.hash() else {
        let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        return Ok(Some(match place.open_file() {
            Err(error) if is_closed(&error) => UNREADABLE,
            _ => "it was changed on the host while the program ran",
        }));
    };
    if seen.size != file.size {
        return Ok(Some(CONTENT));
    }
    if seen.permissions() != file.mode {
        return Ok(Some(MODE));
    }
    // In the same tick of the clock it may have been before or after: only an older one is believed.
    if base.is_some_and(|base| seen.ctime < base) {
        return Ok(None);
    }
    Ok((hash_of(place)? != hash).then_some(CONTENT))
}

/// The hash of the file at a place.
pub(super) fn hash_of(place: &Place<'_>) -> io::Result<ContentHash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(place.open_file()?)?;
    Ok(hasher.finalize().into())
}

fn words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    use cofferdam_core::changes::{ChangePath, Content};

    use super::*;

    fn file(bytes: &[u8], mode: u32) -> Node {
        let content = Content::Known(ContentHash::of(bytes));
        Node::File(FileNode { mode: mode.into(), size: bytes.len() as u64, content, link: None })
    }

    fn write(path: &Path, bytes: &[u8]) {
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }

    const LONG_AGO: Moment = Moment { seconds: 1, nanos: 0 };
    const IN_A_LONG_TIME: Moment = Moment { seconds: 1 << 40, nanos: 0 };

    #[test]
    fn each_kind_of_host_edit_is_a_conflict() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let workspace = Workspace::open(&top).unwrap();
        let path = top.join("f");
        let entry = Entry::between(
            ChangePath::new("f").unwrap(),
            Some(file(b"old", 0o644)),
            Some(file(b"new", 0o644)),
        )
        .unwrap();
        let now = || check(&workspace, &entry, LONG_AGO);
        write(&path, b"old");
        assert_eq!(now(), Standing::AsBefore);
        write(&path, b"new");
        assert_eq!(now(), Standing::AsAfter);
        let mut seen = Vec::new();
        let mut edit = |made: &dyn Fn()| {
            made();
            let Standing::Conflict(words) = now() else { panic!("{:?}", now()) };
            seen.push(words);
        };
        edit(&|| write(&path, b"odd"));
        edit(&|| {
            write(&path, b"old");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        });
        edit(&|| fs::remove_file(&path).unwrap());
        edit(&|| fs::create_dir(&path).unwrap());
        edit(&|| {
            fs::remove_dir(&path).unwrap();
            symlink("old", &path).unwrap();
        });
        assert_eq!(
            seen,
            [
                "its content was changed on the host meanwhile",
                "its mode was changed on the host meanwhile",
                "it was deleted on the host meanwhile",
                "it is a directory on the host now",
                "it is a symlink on the host now",
            ]
        );
    }

    #[test]
    fn a_file_older_than_the_base_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let workspace = Workspace::open(&top).unwrap();
        write(&top.join("f"), b"odd");
        let entry =
            Entry::between(ChangePath::new("f").unwrap(), Some(file(b"old", 0o644)), None).unwrap();
        assert_eq!(check(&workspace, &entry, IN_A_LONG_TIME), Standing::AsBefore);
        assert!(matches!(check(&workspace, &entry, LONG_AGO), Standing::Conflict(_)));
    }

    #[test]
    fn a_new_file_behind_a_link_is_a_conflict_and_where_nothing_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let workspace = Workspace::open(&top).unwrap();
        symlink("/etc", top.join("d")).unwrap();
        let entry = |path: &str| {
            Entry::between(ChangePath::new(path).unwrap(), None, Some(file(b"x", 0o644))).unwrap()
        };
        assert!(matches!(check(&workspace, &entry("d/f"), LONG_AGO), Standing::Conflict(_)));
        assert_eq!(check(&workspace, &entry("e/f"), LONG_AGO), Standing::AsBefore);
    }
}
