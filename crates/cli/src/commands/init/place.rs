//! Where the files go: whole or not at all, never through a link, never over something unasked.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use cofferdam_core::inert::Inert;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;

#[derive(Debug)]
pub(super) struct Place<'a> {
    root: &'a Path,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Written,
    Replaced,
    /// It had these very bytes.
    Same,
    /// It is there, different, and nobody said yes.
    Kept,
}

impl Answer {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Written => "wrote",
            Self::Replaced => "replaced",
            Self::Same => "unchanged:",
            Self::Kept => "kept",
        }
    }
}

#[derive(Debug)]
pub(super) struct Placed {
    pub(super) name: &'static str,
    pub(super) answer: Answer,
}

impl Placed {
    pub(super) fn to_json(&self) -> Value {
        json!({ "name": self.name, "answer": self.answer.word().trim_end_matches(':') })
    }
}

impl<'a> Place<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Self { root }
    }

    /// Puts a file there; `overwrite` is asked where there is another.
    pub(super) fn put(
        &self,
        name: &str,
        text: &str,
        overwrite: impl FnOnce(&str) -> Result<bool, Failure>,
    ) -> Result<Answer, Failure> {
        let path = self.root.join(name);
        let shown = || Inert::path(&path).to_string();
        let answer = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Answer::Written,
            Err(error) => return Err(anyhow::Error::new(error).context(shown()).into()),
            Ok(found) if !found.is_file() => {
                let message = format!("{} is not a plain file", shown());
                return Err(Failure::new(Exit::Failed, anyhow!(message))
                    .hint("a link is not followed: put a plain file there, or remove it"));
            }
            Ok(_) if fs::read(&path).with_context(shown)? == text.as_bytes() => {
                return Ok(Answer::Same);
            }
            Ok(_) if overwrite(name)? => Answer::Replaced,
            Ok(_) => return Ok(Answer::Kept),
        };
        self.write(&path, text).with_context(|| format!("cannot write {}", shown()))?;
        Ok(answer)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let beside: PathBuf = self.root.join(format!(".cofferdam-init-{}", std::process::id()));
        let written = File::create_new(&beside)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            // What went wrong is told; that a part of it may be left is the lesser thing.
            fs::remove_file(&beside).ok();
        }
        written
    }
}
