//! What can go wrong. Where nothing else is said, the workspace is as it was.

use std::io;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::ChangePath;
use cofferdam_core::changes::manifest::ManifestError;

use super::StepError;
use crate::changes::SetError;
use crate::changes::beneath::WorkspaceError;
use crate::changes::diff::DiffError;
use crate::changes::ledger::LedgerError;
use crate::changes::turn::TurnError;
use crate::state::StateError;

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error(transparent)]
    Set(#[from] SetError),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Turn(#[from] TurnError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error("nothing was changed at {path} by that run")]
    NoSuchChange { path: ChangePath },
    #[error("nothing of the latest apply of that run is at {path}")]
    NotApplied { path: ChangePath },
    #[error("{path} cannot be applied by hunk: {why}")]
    NoHunks { path: ChangePath, why: &'static str },
    #[error("{path} has no hunk {number}; it has {hunks}")]
    NoSuchHunk { path: ChangePath, number: usize, hunks: usize },
    #[error("some of {path} is applied already, and its hunks are counted anew")]
    CountedAnew { path: ChangePath },
    #[error("the hunks of {path} are others by now")]
    OtherHunks { path: ChangePath },
    #[error("the change set has more entries than can be counted")]
    TooMany,
    #[error("cannot prepare {path}, and nothing was changed")]
    Stage { path: ChangePath, source: io::Error },
    #[error("{path} was changed on the host this very moment, and nothing was applied: {words}")]
    Moved { path: ChangePath, words: String },
    #[error("cannot {action} {}, and nothing was changed", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("nothing was changed{}", stuck(.left))]
    TakenBack { source: StepError, left: Vec<String> },
    #[error(
        "the changes are in place, but what became of them could not be written down; the next command does it"
    )]
    Unfinished { source: Box<ApplyError> },
}

fn stuck(left: &[String]) -> String {
    match left {
        [] => String::new(),
        left => format!(", except that not all could be taken back: {}", left.join("; ")),
    }
}

impl From<DiffError> for ApplyError {
    fn from(error: DiffError) -> Self {
        match error {
            DiffError::Set(error) => error.into(),
            DiffError::Manifest(error) => error.into(),
            DiffError::Object { path, source } => Self::Stage { path, source },
        }
    }
}

impl ApplyError {
    pub(crate) fn io<'a>(
        action: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// Whether the hunks that were asked for are not the ones that were shown: somebody must look again.
    pub fn is_about_other_hunks(&self) -> bool {
        matches!(self, Self::CountedAnew { .. } | Self::OtherHunks { .. })
    }

    /// Whether the host was changed while we looked: somebody must decide.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Moved { .. } | Self::TakenBack { source: StepError::Moved { .. }, .. })
    }
}
