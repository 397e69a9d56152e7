//! One changed path.

use serde::{Deserialize, Serialize};

use super::ChangePath;
use crate::paths::Arg;

/// A path that was changed: what stood there when the run began, and what it left. At least one of the
/// two is there, and they differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub path: ChangePath,
    pub change: Change,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Node>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Node>,
    /// What the program gave the file and nobody will get from us.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stripped: Vec<Stripped>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Created,
    Modified,
    Deleted,
    /// Another kind of thing stands there now.
    Retyped,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Node {
    File(FileNode),
    Directory { mode: Permissions },
    Symlink { target: Arg },
    Special { special: Special },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileNode {
    pub mode: Permissions,
    pub size: u64,
    pub content: Content,
    /// The first path, in the manifest's order, that names the same file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<ChangePath>,
}

/// The content of a file, by its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// It lies beside the manifest.
    Kept(ContentHash),
    /// Only its hash was kept.
    Known(ContentHash),
    /// Of a file before: it changed on the host while the program ran. Of a file after: it is too large.
    Unknown,
}

impl Content {
    pub fn hash(self) -> Option<ContentHash> {
        match self {
            Self::Kept(hash) | Self::Known(hash) => Some(hash),
            Self::Unknown => None,
        }
    }
}

/// The nine bits of permission, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub struct Permissions(u32);

impl From<u32> for Permissions {
    fn from(mode: u32) -> Self {
        Self(mode & 0o777)
    }
}

impl From<Permissions> for u32 {
    fn from(mode: Permissions) -> Self {
        mode.0
    }
}

impl Permissions {
    pub fn bits(self) -> u32 {
        self.0
    }

    pub fn is_executable(self) -> bool {
        self.0 & 0o111 != 0
    }
}

/// Neither file, directory nor link. Recorded so that it is seen, and never applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Special {
    Fifo,
    Socket,
    CharDevice,
    BlockDevice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stripped {
    Setuid,
    Setgid,
    Sticky,
    Capabilities,
    Acl,
    /// An extended attribute of any other name.
    Xattr,
    /// Immutable, append-only and the like.
    Flags,
}

/// BLAKE3 of a file's bytes, holes read as zeros.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    pub fn parse(hex: &str) -> Option<Self> {
        // The parser takes capitals too, and a hash has one spelling.
        let lower = !hex.bytes().any(|byte| byte.is_ascii_uppercase());
        lower.then(|| blake3::Hash::from_hex(hex).ok()).flatten().map(|hash| Self(*hash.as_bytes()))
    }
}

impl From<blake3::Hash> for ContentHash {
    fn from(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
    }
}

impl std::fmt::Display for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl std::fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Serialize for ContentHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Self::parse(&hex)
            .ok_or_else(|| serde::de::Error::custom("not a BLAKE3 hash in hexadecimal"))
    }
}

impl Node {
    /// The file, where it is one.
    pub fn file(&self) -> Option<&FileNode> {
        match self {
            Self::File(file) => Some(file),
            _ => None,
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Directory { .. } => "directory",
            Self::Symlink { .. } => "symlink",
            Self::Special { .. } => "special",
        }
    }

    pub fn mode(&self) -> Option<Permissions> {
        match self {
            Self::File(FileNode { mode, .. }) | Self::Directory { mode } => Some(*mode),
            Self::Symlink { .. } | Self::Special { .. } => None,
        }
    }
}

impl Entry {
    /// The entry for a path, or `None` where nothing changed. Content decides, not how it came about.
    pub fn between(path: ChangePath, before: Option<Node>, after: Option<Node>) -> Option<Self> {
        let change = match (&before, &after) {
            (None, None) => return None,
            (None, Some(_)) => Change::Created,
            (Some(_), None) => Change::Deleted,
            (Some(old), Some(new)) if old.kind() != new.kind() => Change::Retyped,
            (Some(old), Some(new)) if old.looks_like(new) => return None,
            (Some(_), Some(_)) => Change::Modified,
        };
        Some(Self { path, change, before, after, stripped: Vec::new() })
    }
}

impl Node {
    /// Whether nobody could tell the two apart by looking: kind, mode, bytes, target. Contents that are
    /// not known are never alike.
    pub fn looks_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(a), Self::File(b)) => {
                let same = a.content.hash().zip(b.content.hash()).is_some_and(|(a, b)| a == b);
                same && a.mode == b.mode && a.size == b.size
            }
            (Self::File(_), _) => false,
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8], mode: u32) -> Node {
        let content = Content::Kept(ContentHash::of(bytes));
        Node::File(FileNode { mode: mode.into(), size: bytes.len() as u64, content, link: None })
    }

    fn change(before: Option<Node>, after: Option<Node>) -> Option<Change> {
        Entry::between(ChangePath::new("a").unwrap(), before, after).map(|entry| entry.change)
    }

    #[test]
    fn what_looks_the_same_is_not_a_change() {
        let dir = Node::Directory { mode: 0o755.into() };
        let link = Node::Symlink { target: "a".into() };
        assert_eq!(change(None, None), None);
        assert_eq!(change(Some(file(b"a", 0o644)), Some(file(b"a", 0o644))), None);
        assert_eq!(
            change(Some(file(b"a", 0o644)), Some(file(b"b", 0o644))),
            Some(Change::Modified)
        );
        assert_eq!(
            change(Some(file(b"a", 0o644)), Some(file(b"a", 0o755))),
            Some(Change::Modified)
        );
        assert_eq!(change(Some(dir.clone()), Some(dir.clone())), None);
        assert_eq!(change(Some(dir), Some(link)), Some(Change::Retyped));
        assert_eq!(change(Some(file(b"a", 0o644)), None), Some(Change::Deleted));
        assert_eq!(change(None, Some(file(b"a", 0o644))), Some(Change::Created));
    }

    #[test]
    fn an_unknown_content_is_like_nothing() {
        let unknown =
            FileNode { mode: 0o644.into(), size: 1, content: Content::Unknown, link: None };
        let unknown = Node::File(unknown);
        assert_eq!(change(Some(unknown.clone()), Some(unknown)), Some(Change::Modified));
    }

    #[test]
    fn no_bit_beyond_permission() {
        assert_eq!(Permissions::from(0o106755).bits(), 0o755);
    }

    #[test]
    fn a_hash_has_one_spelling() {
        let hash = ContentHash::of(b"x");
        assert_eq!(ContentHash::parse(&hash.to_string()), Some(hash));
        assert_eq!(ContentHash::parse(&hash.to_string().to_uppercase()), None);
        assert_eq!(ContentHash::parse("../../etc/passwd"), None);
    }
}
