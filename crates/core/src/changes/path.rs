//! Paths of changes.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::inert::Inert;
use crate::paths::exact;

/// A path below the workspace: not empty, relative, without `.`, `..`, doubled slashes and NUL. So
/// joining it to a directory names something in that directory, as long as no link is followed.
///
/// Sorted name by name, so that a directory comes right before what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChangePath(OsString);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not a path below a workspace: {why}", Inert::line(.path))]
pub struct BadPath {
    path: Vec<u8>,
    why: &'static str,
}

/// Longer than any path that a program can reach by one call, and short enough to be held in memory.
const LONGEST: usize = 64 * 1024;
/// How much of a path is told that is none: it ends up in the audit log, and a program chose it.
const LONGEST_TOLD: usize = 1024;
/// The longest name that Linux has.
const LONGEST_NAME: usize = 255;

impl ChangePath {
    pub fn new(path: impl Into<OsString>) -> Result<Self, BadPath> {
        let path = path.into();
        match fault(path.as_bytes()) {
            None => Ok(Self(path)),
            Some(why) => {
                let mut path = path.into_vec();
                path.truncate(LONGEST_TOLD);
                Err(BadPath { path, why })
            }
        }
    }

    /// Whether a path has more bytes than one of a change may have.
    pub fn is_too_long(path: &[u8]) -> bool {
        path.len() > LONGEST
    }

    /// The path of `name` in this directory.
    pub fn join(&self, name: &OsStr) -> Result<Self, BadPath> {
        let mut path = self.0.clone();
        path.push("/");
        path.push(name);
        Self::new(path)
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    pub fn names(&self) -> impl DoubleEndedIterator<Item = &OsStr> {
        self.as_bytes().split(|byte| *byte == b'/').map(OsStr::from_bytes)
    }

    /// The last name.
    pub fn name(&self) -> &OsStr {
        let bytes = self.as_bytes();
        let begin = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        OsStr::from_bytes(&bytes[begin..])
    }

    /// The last name, and the directory that it is in: `None` for the workspace itself.
    pub fn split(&self) -> (Option<Self>, &OsStr) {
        let bytes = self.as_bytes();
        match bytes.iter().rposition(|byte| *byte == b'/') {
            None => (None, &self.0),
            Some(slash) => {
                let parent = Self(OsStr::from_bytes(&bytes[..slash]).to_owned());
                (Some(parent), OsStr::from_bytes(&bytes[slash + 1..]))
            }
        }
    }

    /// Whether this is `other` or lies below it.
    pub fn is_within(&self, other: &Self) -> bool {
        let rest = self.as_bytes().strip_prefix(other.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }
}

fn fault(path: &[u8]) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.len() > LONGEST {
        return Some("it is too long");
    }
    path.split(|byte| *byte == b'/').find_map(|name| match name {
        b"" => Some("it begins or ends with a slash, or has two in a row"),
        b"." | b".." => Some("it has a name of dots only"),
        name if name.contains(&0) => Some("it has a NUL byte"),
        name if name.len() > LONGEST_NAME => Some("one of its names is too long"),
        _ => None,
    })
}

impl Ord for ChangePath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.names().cmp(other.names())
    }
}

impl PartialOrd for ChangePath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Harmless on a terminal.
impl std::fmt::Display for ChangePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Inert::os(&self.0).fmt(f)
    }
}

impl Serialize for ChangePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        exact::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for ChangePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path: OsString = exact::deserialize(deserializer)?;
        Self::new(path).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ChangePath {
        ChangePath::new(text).unwrap()
    }

    #[test]
    fn nothing_that_leads_out_is_a_path() {
        let long = "x".repeat(256);
        for bad in
            ["", "/", "/abs", "a/", "a//b", ".", "..", "../x", "a/../../x", "a/.", "a\0b", &long]
        {
            assert!(ChangePath::new(bad).is_err(), "{bad:?}");
            let json = serde_json::to_string(bad).unwrap();
            assert!(serde_json::from_str::<ChangePath>(&json).is_err(), "{json}");
        }
        for good in ["a", "...", "a/..b", "-rf", "a\nb", "a\\b", " ", &"x".repeat(255)] {
            assert!(ChangePath::new(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn a_directory_comes_right_before_what_is_in_it() {
        let mut paths = ["a.b", "a/z", "a", "a/b/c", "a/b"].map(path);
        paths.sort();
        assert_eq!(paths.map(|p| p.to_string()), ["a", "a/b", "a/b/c", "a/z", "a.b"]);
    }

    #[test]
    fn within_is_by_name() {
        assert!(path("a/b").is_within(&path("a")) && path("a").is_within(&path("a")));
        assert!(!path("ab").is_within(&path("a")) && !path("a").is_within(&path("a/b")));
    }

    #[test]
    fn any_bytes_survive_json() {
        let odd = ChangePath::new(OsString::from_vec(b"a\xff/\x1b[2J".to_vec())).unwrap();
        let json = serde_json::to_string(&odd).unwrap();
        assert_eq!(serde_json::from_str::<ChangePath>(&json).unwrap(), odd);
        assert!(!odd.to_string().contains('\x1b'));
    }

    #[test]
    fn a_path_is_its_parent_and_its_name() {
        let whole = path("a/b/c");
        let (parent, name) = whole.split();
        assert_eq!(parent, Some(path("a/b")));
        assert_eq!(parent.unwrap().join(name).unwrap(), whole);
        assert_eq!(path("a").split(), (None, OsStr::new("a")));
    }

    #[test]
    fn of_a_path_that_is_too_long_not_all_is_told() {
        let error = ChangePath::new("d/".repeat(1 << 20)).unwrap_err().to_string();
        assert!(error.ends_with("too long") && error.len() < 2 * LONGEST_TOLD, "{error}");
    }
}
