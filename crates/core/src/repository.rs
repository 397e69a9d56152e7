//! The git repository of a workspace that does not hold its own.

use serde::{Deserialize, Serialize};

use crate::mount::HostPath;
use crate::paths::ExactPath;

/// A linked worktree and a submodule have a file `.git` that names a directory elsewhere. Git works inside
/// only if that directory is there, under the very name by which git will look for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The directory that holds objects and references.
    pub source: HostPath,
    /// Where git, started in the workspace inside, looks for it.
    pub target: ExactPath,
    pub of: RepositoryOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepositoryOf {
    Worktree,
    /// Its settings name the workspace, by a path that means something else inside.
    Submodule,
}
