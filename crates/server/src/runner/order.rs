//! A claimed task as something that this host can be asked for.
//!
//! [`Order`] says what the task wants; the [`Desk`] of this host makes a request of it by the host's own settings, and
//! may say no.

use std::path::{Path, PathBuf};

use cofferdam_core::control::id::ApprovalId;
use cofferdam_core::control::report::Claim;
use cofferdam_core::control::role::Role;
use cofferdam_core::control::task::{ExecutionMode, NewTask};
use cofferdam_core::refusal::Refusal;
use cofferdam_sandbox::request::Request;

/// What a task wants of this host.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    pub task: &'a NewTask,
    pub role: Option<&'a Role>,
    pub command: &'a [String],
    /// Where it works.
    pub workspace: &'a PathBuf,
    /// The root of its project, which need not be where it works: mounts start there, and it may be mounted from.
    pub root: Option<&'a Path>,
    /// What may be mounted beside that, as the project says; the host may allow less.
    pub allowed: &'a [String],
    /// The yes that was given to it, if it was asked for.
    pub approval: Option<ApprovalId>,
}

/// Knows the settings of this host: files, variables, places.
pub trait Desk: std::fmt::Debug + Send + Sync {
    /// What is asked for, judged and looked up on this host.
    fn request(&self, order: &Order<'_>) -> Result<Request, Refusal>;
}

/// The order of a claimed task that works in `workspace`.
pub(super) fn order<'a>(claim: &'a Claim, workspace: &'a PathBuf) -> Order<'a> {
    let task = &claim.task.asked;
    let root = claim.project.as_ref().map(|project| Path::new(&project.root_path));
    let allowed = claim.project.as_ref().map_or(&[][..], |project| &project.allowed_paths);
    let (role, approval) = (claim.role.as_ref(), claim.approval);
    Order { task, role, command: command(task), workspace, root, allowed, approval }
}

pub(super) fn command(task: &NewTask) -> &[String] {
    match (&task.sandbox, task.execution_mode) {
        (Some(block), ExecutionMode::DockerSandbox) => &block.command,
        _ => &task.command,
    }
}
