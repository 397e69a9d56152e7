//! Where a task works: the project itself, a worktree of it, or nothing at all.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::control::report::Claim;
use cofferdam_core::control::task::ExecutionMode;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_sandbox::changes::worktree;

use super::RunnerError;

/// Directories of a runner's own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) work: &'a Path,
}

pub(super) fn make_private(path: &Path) -> Result<(), RunnerError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| RunnerError::Work { path: path.to_owned(), source })
}

impl Ground<'_> {
    /// The workspace of a claimed task, made where it has to be.
    pub(super) fn of(&self, claim: &Claim) -> Result<PathBuf, Refusal> {
        let root = || match &claim.project {
            Some(project) => Ok(PathBuf::from(&project.root_path)),
            None => Err(refuse(
                "project",
                "this execution mode works on a project, and the task has none".to_owned(),
                "name a project, or use execution_mode no-workspace",
            )),
        };
        match claim.task.asked.execution_mode {
            ExecutionMode::NoWorkspace => self.empty(),
            ExecutionMode::SharedWorkspace | ExecutionMode::DockerSandbox => root(),
            ExecutionMode::IsolatedWorktree => self.worktree(claim, &root()?),
        }
    }

    /// The same for all: every run stages its changes, so that it stays empty.
    pub(super) fn empty(&self) -> Result<PathBuf, Refusal> {
        let path = self.work.join("empty");
        make_private(&path).map_err(|error| cannot(&path, &error))?;
        Ok(path)
    }

    pub(super) fn is_empty_one(&self, workspace: &Path) -> bool {
        fs::canonicalize(self.work.join("empty")).is_ok_and(|empty| empty == workspace)
    }

    fn worktree(&self, claim: &Claim, root: &Path) -> Result<PathBuf, Refusal> {
        let trees = self.work.join("worktrees");
        make_private(&trees).map_err(|error| cannot(&trees, &error))?;
        let path = trees.join(claim.task.id.to_string());
        // An attempt before this one has made it; what attempts change is staged.
        if path.join(".git").exists() {
            return Ok(path);
        }
        worktree::add(root, &path, &branch(claim)).map_err(|error| {
            refuse(
                "project.root_path",
                format!("no worktree of {} can be made: {error}", root.display()),
                "the root must be the top of a git repository with a commit, owned by the runner's user",
            )
        })?;
        Ok(path)
    }

    /// Removes the worktree of a run, where it has one: its branch stays, with what was committed there.
    pub(super) fn forget_worktree(&self, workspace: &Path) -> Result<(), worktree::WorktreeError> {
        match fs::canonicalize(self.work.join("worktrees")) {
            Ok(trees) if workspace.parent() == Some(&trees) => worktree::remove(workspace),
            _ => Ok(()),
        }
    }
}

fn branch(claim: &Claim) -> String {
    format!("cofferdam/{}", claim.task.id)
}

fn refuse(field: &str, message: String, remedy: &str) -> Refusal {
    Refusal {
        rule: Rule::WorkspaceAllowed,
        field: field.to_owned(),
        message,
        remedy: remedy.to_owned(),
    }
}

fn cannot(path: &Path, error: &RunnerError) -> Refusal {
    let message = format!("cannot make {}: {error}", path.display());
    refuse("workspace", message, "make the runner's directory writable for it")
}
