//! A repository of our own for objects that a sandboxed program made.
//!
//! It sees the host's objects and holds the program's. Git may be started on it: its settings are ours.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::{Content, FileNode};

use super::super::Objects;
use super::super::git::Git;
use super::{HistoryError, io_error};

/// A repository of ours that holds objects of the program's. Gone when dropped.
#[derive(Debug)]
pub(super) struct Quarantine {
    dir: PathBuf,
    pub(super) git: Git,
}

impl Quarantine {
    pub(super) fn make(
        scratch: &Path,
        repository: &Path,
        host: &Git,
    ) -> Result<Self, HistoryError> {
        let format = host.ask(["rev-parse", "--show-object-format"])?;
        let format = String::from_utf8_lossy(format.trim_ascii()).into_owned();
        Self::seeing(&scratch.join("quarantine"), &repository.join("objects"), &format)
    }

    /// One at `dir` that sees the host's `objects`, and nothing else of their repository.
    pub(super) fn seeing(dir: &Path, objects: &Path, format: &str) -> Result<Self, HistoryError> {
        let (dir, objects) = (dir.to_owned(), objects.to_owned());
        if objects.as_os_str().as_bytes().contains(&b'\n') {
            return Err(HistoryError::OddPath(objects));
        }
        // Of one who was killed.
        match fs::remove_dir_all(&dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("remove", &dir)(e));
            }
            _ => {}
        }
        let git = Git::at(&dir);
        let quarantine = Self { dir, git };
        let kind = format!("--object-format={format}");
        quarantine.git.ask(["init", "--quiet", "--bare", "--template=", kind.as_str()])?;
        let mut line = objects.into_os_string().into_vec();
        line.push(b'\n');
        quarantine.write("objects/info/alternates", &line)?;
        Ok(quarantine)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), HistoryError> {
        let path = self.dir.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, bytes)).map_err(io_error("write", &path))
    }

    /// A file of ours in here, and its path.
    pub(super) fn file(&self, name: &str) -> Result<(PathBuf, File), HistoryError> {
        let path = self.dir.join(name);
        let file = File::create(&path).map_err(io_error("create", &path))?;
        Ok((path, file))
    }

    /// A list for git to read.
    pub(super) fn list(&self, lines: &[u8]) -> Result<File, HistoryError> {
        self.write("list", lines)?;
        let path = self.dir.join("list");
        File::open(&path).map_err(io_error("open", &path))
    }

    /// A loose object, by its name. That it is what its name says is checked when it is fetched.
    pub(super) fn take(
        &self,
        objects: &Objects,
        file: &FileNode,
        name: &str,
    ) -> Result<(), HistoryError> {
        let Content::Kept(hash) = file.content else { return Ok(()) };
        let path = self.dir.join(name);
        let mut from = objects.open(hash).map_err(io_error("read", &objects.path(hash)))?;
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| File::create(&path))
            .and_then(|mut to| io::copy(&mut from, &mut to))
            .map_err(io_error("write", &path))?;
        Ok(())
    }

    /// A pack, indexed anew: an index that came with it would be believed.
    pub(super) fn unpack(&self, objects: &Objects, file: &FileNode) -> Result<(), HistoryError> {
        let Content::Kept(hash) = file.content else { return Ok(()) };
        let pack = objects.open(hash).map_err(io_error("read", &objects.path(hash)))?;
        self.git.tell(["index-pack", "--stdin", "--fix-thin"], pack)?;
        Ok(())
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        // Left behind it is removed by the next one, or with the run.
        fs::remove_dir_all(&self.dir).ok();
    }
}
