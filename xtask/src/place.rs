//! A temporary home for what is measured or drilled: own state, own settings, removed at the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};

use crate::ending::{Kept, keep};

#[derive(Debug)]
pub(crate) struct Place {
    top: PathBuf,
    _kept: Kept,
}

impl Place {
    pub(crate) fn new() -> Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let (pid, count) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let top = std::env::temp_dir().join(format!("cofferdam-place-{pid}-{count}"));
        // Fails where it exists: what lies there is not ours.
        fs::create_dir(&top).with_context(|| format!("cannot make {}", top.display()))?;
        let place = Self { _kept: keep(&top, "-TERM"), top };
        for dir in ["home", "state", "config", "workspace"] {
            let dir = place.top.join(dir);
            fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        Ok(place)
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.top.join("workspace")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.top.join("state")
    }

    /// `program` in this place's workspace, with this place's environment and nothing else. The same for
    /// every case: a longer environment takes longer to hand over.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", self.top.join("home"))
            .env("XDG_STATE_HOME", self.top.join("state"))
            .env("XDG_CONFIG_HOME", self.top.join("config"))
            .current_dir(self.top.join("workspace"));
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.top) {
            eprintln!("xtask: cannot remove {}: {error}", self.top.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_and_then_gone() {
        let place = Place::new().unwrap();
        let top = place.top.clone();
        let output = place.command("/bin/sh").args(["-c", "pwd; env | wc -l"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text, format!("{}\n5\n", top.join("workspace").display()));
        assert_ne!(Place::new().unwrap().top, top, "two places would share their state");
        drop(place);
        assert!(!top.exists());
    }
}
