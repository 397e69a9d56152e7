//! Host paths given to a sandbox: as asked for, and as found on the host.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::paths::{ExactPath, clean_absolute};

/// A mount as somebody asked for it: `SRC:DST[:rw|:ro]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MountRequest {
    pub source: ExactPath,
    pub target: ExactPath,
    pub access: Access,
}

impl MountRequest {
    /// Where its source lies for a task: what is relative starts at the project's root, wherever the task works.
    pub fn source_in(&self, root: &Path) -> PathBuf {
        root.join(&self.source)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Write,
    Read,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a mount ({why}): write SOURCE:TARGET or SOURCE:TARGET:rw")]
pub struct NotAMount {
    text: String,
    why: &'static str,
}

impl FromStr for MountRequest {
    type Err = NotAMount;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = |why| NotAMount { text: text.to_owned(), why };
        let parts: Vec<_> = text.split(':').collect();
        let (source, target, access) = match parts.as_slice() {
            [source, target] | [source, target, "ro"] => (*source, *target, Access::Read),
            [source, target, "rw"] => (*source, *target, Access::Write),
            [_, _, _] => return Err(bad("the last part is rw or ro")),
            _ => return Err(bad("it has two or three parts")),
        };
        if source.is_empty() || target.is_empty() {
            return Err(bad("a part is empty"));
        }
        let target = clean_absolute(Path::new(target))
            .ok_or_else(|| bad("the target is an absolute path inside the sandbox"))?;
        Ok(Self { source: source.into(), target: target.into(), access })
    }
}

impl fmt::Display for MountRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            Access::Read => "",
            Access::Write => ":rw",
        };
        write!(f, "{}:{}{access}", self.source.display(), self.target.display())
    }
}

/// A path of the host as it was found: the name that was asked for, where it really leads, and what
/// stands there. Made by the part that may look at the disk; checked again by descriptor at the start.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostPath {
    pub asked: ExactPath,
    /// With every symlink followed.
    pub real: ExactPath,
    pub kind: HostKind,
    /// Which file it is, whatever its name: device and inode.
    pub identity: Identity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostKind {
    File,
    Directory,
    Socket,
    Device,
    Fifo,
}

impl HostPath {
    /// Every name under which this path must be allowed: as asked and as it really is.
    pub fn names(&self) -> [&Path; 2] {
        [&self.asked, &self.real]
    }
}

/// A mount whose source was looked up on the host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mount {
    pub source: HostPath,
    pub target: ExactPath,
    pub access: Access,
}

impl Mount {
    pub fn target(&self) -> PathBuf {
        self.target.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_unless_it_says_rw() {
        let mount: MountRequest = "/data:/data".parse().unwrap();
        assert_eq!(mount.access, Access::Read);
        let mount: MountRequest = "./x:/y/../z:rw".parse().unwrap();
        assert_eq!((mount.access, mount.target.0.to_str()), (Access::Write, Some("/z")));
        assert_eq!(mount.to_string(), "./x:/z:rw");
    }

    #[test]
    fn anything_else_is_an_error() {
        for bad in
            ["", "/a", ":/a", "/a:", "/a:b", "/a:/b:z", "/a:/b:rw:z", "/a:/../b", "-v/:/h:ro:x"]
        {
            assert!(bad.parse::<MountRequest>().is_err(), "{bad}");
        }
    }
}
