//! A temporary home for what is measured or drilled: own state, own settings, removed at the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};

#[derive(Debug)]
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new() -> Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let (pid, count) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let top = std::env::temp_dir().join(format!("cofferdam-place-{pid}-{count}"));
        // Fails where it exists: what lies there is not ours.
        fs::create_dir(&top).with_context(|| format!("cannot make {}", top.display()))?;
        let place = Self(top);
        for dir in ["home", "state", "config", "workspace"] {
            let dir = place.0.join(dir);
            fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        Ok(place)
    }

    pub(crate) fn top(&self) -> &Path {
        &self.0
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// `program` in this place's workspace, with this place's environment and nothing else. The same for
    /// every case: a longer environment takes longer to hand over.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", self.0.join("home"))
            .env("XDG_STATE_HOME", self.0.join("state"))
            .env("XDG_CONFIG_HOME", self.0.join("config"))
            .current_dir(self.0.join("workspace"));
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("xtask: cannot remove {}: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_and_then_gone() {
        let place = Place::new().unwrap();
        let top = place.0.clone();
        let output = place.command("/bin/sh").args(["-c", "pwd; env | wc -l"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text, format!("{}\n5\n", top.join("workspace").display()));
        assert_ne!(Place::new().unwrap().0, top, "two places would share their state");
        drop(place);
        assert!(!top.exists());
    }
}
