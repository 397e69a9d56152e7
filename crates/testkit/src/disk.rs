//! A small disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory, of this size, until it is dropped. Needs root, as every mount does.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    pub fn at(dir: impl Into<PathBuf>, size: &str) -> Self {
        let dir = dir.into();
        fs::create_dir_all(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=755"), "none"]).arg(&dir);
        let done = mount.output().expect("`mount` can be started");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self(dir)
    }

    pub fn dir(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let done = Command::new("umount").arg(&self.0).status().expect("`umount` can be started");
        assert!(done.success() || std::thread::panicking(), "{} stays", self.0.display());
    }
}
