//! The record of a run as a file of the user's.
//!
//! The command may be able to write where the report goes, so the directory is opened before it runs and
//! the report is put into that very directory, whatever became of its name.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use cofferdam_core::record::Record;
use cofferdam_sandbox::state::write_atomically;

use crate::json;

/// A place for a report that can be written to.
#[derive(Debug)]
pub(crate) struct Report {
    directory: File,
    name: OsString,
    /// As the user named it, for messages.
    path: PathBuf,
}

impl Report {
    /// Opens the directory, and finds out now rather than after the run whether it can be written to.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot write the report {}", path.display());
        if path.is_dir() {
            return Err(anyhow!("it is a directory")).with_context(cannot);
        }
        let name = path.file_name().with_context(cannot)?.to_owned();
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let directory = File::open(parent).with_context(cannot)?;
        let report = Self { directory, name, path: path.to_owned() };
        let mut trial = report.name.clone();
        trial.push(".trial");
        let trial = report.inside(&trial);
        write_atomically(&trial, b"").with_context(cannot)?;
        std::fs::remove_file(&trial).with_context(cannot)?;
        Ok(report)
    }

    pub(crate) fn write(&self, record: &Record) -> Result<()> {
        let text = json::pretty(record)? + "\n";
        write_atomically(&self.inside(&self.name), text.as_bytes())
            .with_context(|| format!("cannot write the report {}", self.path.display()))
    }

    /// A name in the directory that is open, reached through its descriptor.
    fn inside(&self, name: &OsString) -> PathBuf {
        Path::new("/proc/self/fd").join(self.directory.as_raw_fd().to_string()).join(name)
    }
}
