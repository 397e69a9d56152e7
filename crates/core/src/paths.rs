//! Paths as values: cleaned without looking at the disk, compared by component, and written to JSON
//! without losing a byte.

use std::path::{Component, Path, PathBuf};

/// `path` without `.`, `..` and doubled slashes, or `None` where it is not absolute or climbs above
/// the root. Purely lexical: symlinks are the caller's business, before and after.
pub fn clean_absolute(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::RootDir => clean.push("/"),
            Component::CurDir => {}
            Component::Normal(name) if clean.has_root() => clean.push(name),
            Component::ParentDir if clean.parent().is_some() => {
                clean.pop();
            }
            Component::Normal(_) | Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    clean.has_root().then_some(clean)
}

/// Whether one of the two is the other or holds it: giving away one gives away some of the other.
pub fn overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Serde for bytes that are mostly text: a string where they are UTF-8, else `{"b64": "…"}`.
pub mod exact {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::PathBuf;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Shape {
        Text(String),
        Bytes { b64: String },
    }

    fn shape(bytes: &[u8]) -> Shape {
        match std::str::from_utf8(bytes) {
            Ok(text) => Shape::Text(text.to_owned()),
            Err(_) => Shape::Bytes { b64: STANDARD.encode(bytes) },
        }
    }

    pub fn serialize<T, S>(value: &T, serializer: S) -> Result<S::Ok, S::Error>
    where
        T: AsRef<OsStr>,
        S: Serializer,
    {
        shape(value.as_ref().as_bytes()).serialize(serializer)
    }

    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: From<OsString>,
        D: Deserializer<'de>,
    {
        let bytes = match Shape::deserialize(deserializer)? {
            Shape::Text(text) => text.into_bytes(),
            Shape::Bytes { b64 } => STANDARD.decode(b64).map_err(D::Error::custom)?,
        };
        Ok(OsString::from_vec(bytes).into())
    }

    /// An argument or name of any bytes.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(transparent)]
    pub struct Arg(#[serde(with = "self")] pub OsString);

    /// A path of any bytes.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(transparent)]
    pub struct ExactPath(#[serde(with = "self")] pub PathBuf);

    impl<T: Into<OsString>> From<T> for Arg {
        fn from(text: T) -> Self {
            Self(text.into())
        }
    }

    impl<T: Into<PathBuf>> From<T> for ExactPath {
        fn from(path: T) -> Self {
            Self(path.into())
        }
    }

    impl std::ops::Deref for ExactPath {
        type Target = std::path::Path;

        fn deref(&self) -> &Self::Target {
            &self.0
        }
    }

    impl AsRef<std::path::Path> for ExactPath {
        fn as_ref(&self) -> &std::path::Path {
            &self.0
        }
    }
}

pub use exact::{Arg, ExactPath};

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn cleaning_never_climbs_out() {
        let clean = |p: &str| clean_absolute(Path::new(p)).map(|p| p.display().to_string());
        assert_eq!(clean("/a/./b//c/../d").as_deref(), Some("/a/b/d"));
        assert_eq!(clean("/").as_deref(), Some("/"));
        assert_eq!(clean("/.."), None);
        assert_eq!(clean("a/b"), None);
        assert_eq!(clean(""), None);
    }

    #[test]
    fn overlap_is_by_component_not_by_prefix_of_text() {
        assert!(overlap(Path::new("/run"), Path::new("/run/docker.sock")));
        assert!(overlap(Path::new("/run/x"), Path::new("/run")));
        assert!(!overlap(Path::new("/run"), Path::new("/runner")));
    }

    #[test]
    fn bytes_survive_json() {
        for bytes in [&b"plain"[..], b"\xff\xfe", "gr\u{fc}n".as_bytes()] {
            let arg = Arg(OsString::from_vec(bytes.to_vec()));
            let json = serde_json::to_string(&arg).unwrap();
            assert_eq!(serde_json::from_str::<Arg>(&json).unwrap(), arg, "{json}");
        }
        assert_eq!(serde_json::to_string(&ExactPath::from("/a b")).unwrap(), "\"/a b\"");
    }
}
