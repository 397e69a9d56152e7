//! Which project files the user has said yes to, as they stood then.
//!
//! `trust.json` in the state directory: path and BLAKE3 of each. A file whose bytes changed is not trusted.
//! Locking: writers hold `trust.lock`; readers need none, since the file is replaced whole.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cofferdam_core::config::Trust;
use cofferdam_core::inert::Inert;
use cofferdam_core::paths::ExactPath;
use cofferdam_sandbox::state::{StateDir, write_atomically};
use serde::{Deserialize, Serialize};

use super::project::ProjectFile;

#[derive(Debug)]
pub(crate) struct TrustStore {
    state_dir: PathBuf,
}

/// One yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trusted {
    pub(crate) path: ExactPath,
    pub(crate) blake3: String,
}

impl TrustStore {
    pub(crate) fn beneath(state_dir: &Path) -> Self {
        Self { state_dir: state_dir.to_owned() }
    }

    pub(crate) fn list(&self) -> Result<Vec<Trusted>> {
        let path = self.path();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                let message = format!("cannot read {}", Inert::path(&path));
                return Err(anyhow::Error::new(error).context(message));
            }
        };
        serde_json::from_slice(&bytes).with_context(|| {
            let path = Inert::path(&path);
            format!(
                "{path} is damaged: remove it and run `cofferdam trust` again where you need it"
            )
        })
    }

    /// Whether this very text was accepted under this very path.
    pub(crate) fn judge(&self, file: &ProjectFile) -> Result<Trust> {
        let yes = self.list()?.contains(&Trusted::of(file));
        Ok(if yes { Trust::Trusted } else { Trust::Untrusted })
    }

    pub(crate) fn accept(&self, file: &ProjectFile) -> Result<()> {
        self.change(&file.path, Some(Trusted::of(file)))
    }

    /// Whether these very bytes were accepted under this very path. For files that are not read as settings.
    pub(crate) fn has_approved(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        Ok(self.list()?.contains(&Trusted::bytes(path, bytes)))
    }

    pub(crate) fn approve(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.change(path, Some(Trusted::bytes(path, bytes)))
    }

    /// Takes back whatever was said about this path.
    pub(crate) fn revoke(&self, path: &Path) -> Result<()> {
        self.change(path, None)
    }

    fn change(&self, path: &Path, new: Option<Trusted>) -> Result<()> {
        StateDir::open(&self.state_dir)?;
        let lock_path = self.state_dir.join("trust.lock");
        let lock = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .and_then(|lock| lock.lock().map(|()| lock))
            .with_context(|| format!("cannot lock {}", Inert::path(&lock_path)))?;
        let mut all = self.list()?;
        all.retain(|trusted| trusted.path.0 != path);
        all.extend(new);
        let mut bytes = serde_json::to_vec_pretty(&all)?;
        bytes.push(b'\n');
        write_atomically(&self.path(), &bytes)?;
        drop(lock);
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.state_dir.join("trust.json")
    }
}

impl Trusted {
    fn of(file: &ProjectFile) -> Self {
        Self { path: file.path.clone().into(), blake3: file.hash().to_hex().to_string() }
    }

    fn bytes(path: &Path, bytes: &[u8]) -> Self {
        Self { path: path.to_owned().into(), blake3: blake3::hash(bytes).to_hex().to_string() }
    }
}
