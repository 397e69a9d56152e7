//! `cofferdam diff` and `cofferdam review`: what they show, that `git apply` takes the patches, and that
//! only what was chosen is applied.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod patch;
mod review;
mod seal;
mod shown;
mod words;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use cofferdam_testkit::TestEnv;

pub(crate) const LINES: &str =
    "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n";

/// A workspace, and a tree beside it that a run would have made of it.
pub(crate) struct Bench {
    pub(crate) env: TestEnv,
    pub(crate) new: PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let env = TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"));
        let new = env.top().join("new");
        fs::create_dir(&new).unwrap();
        Self { env, new }
    }

    pub(crate) fn old(&self, name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> PathBuf {
        put(&self.env.workspace(), name.as_ref(), content.as_ref())
    }

    pub(crate) fn made(&self, name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> PathBuf {
        put(&self.new, name.as_ref(), content.as_ref())
    }

    pub(crate) fn both(
        &self,
        name: impl AsRef<[u8]>,
        old: impl AsRef<[u8]>,
        new: impl AsRef<[u8]>,
    ) {
        self.old(&name, old);
        self.made(&name, new);
    }

    pub(crate) fn seal(&self) -> String {
        seal::seal(&self.env, &self.new)
    }
}

fn put(top: &Path, name: &[u8], content: &[u8]) -> PathBuf {
    let path = top.join(OsStr::from_bytes(name));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    path
}

pub(crate) fn link(top: &Path, name: &str, target: impl AsRef<[u8]>) {
    symlink(OsStr::from_bytes(target.as_ref()), top.join(name)).unwrap();
}

pub(crate) fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
