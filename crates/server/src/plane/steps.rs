//! The steps of a workflow, judged before any of them begins: what no later step may do must not be found out after
//! the earlier ones have worked.
//!
//! Each is judged once more when its turn comes, and its task when it is claimed.

use cofferdam_core::control::id::ProjectId;
use cofferdam_core::control::workflow::{Step, StepState, StepStatus};
use cofferdam_core::refusal::{Refusal, Rule};
use serde_json::json;

use super::error::PlaneError;
use super::policy;
use super::turn::{About, Turn};

/// For what steps are judged.
#[derive(Debug, Clone, Copy)]
pub(super) enum Plan<'a> {
    /// To be kept. Files and roles that they need may be made later.
    Template,
    /// To be run now, as far as they wait. What a step is to mount may be made by those that it depends on.
    Run(&'a [StepStatus]),
}

impl Plan<'_> {
    fn is_of(self, at: usize) -> bool {
        match self {
            Self::Template => true,
            Self::Run(steps) => steps.get(at).is_some_and(|step| step.state == StepState::Waiting),
        }
    }

    /// Whether what is refused now may be allowed when it is the step's turn.
    fn may_pass(self, step: &Step, rule: Rule) -> bool {
        match (self, rule) {
            (Self::Template, Rule::MountSource | Rule::RoleKnown) => true,
            (Self::Run(_), Rule::MountSource) => !step.depends_on.is_empty(),
            _ => false,
        }
    }
}

/// Judges all steps, and refuses by the first that could never begin; the refusal is in the timeline.
pub(super) async fn judge(
    turn: &mut Turn,
    project: ProjectId,
    steps: &[Step],
    plan: Plan<'_>,
    actor: &str,
) -> Result<(), PlaneError> {
    for (at, step) in steps.iter().enumerate().filter(|(at, _)| plan.is_of(*at)) {
        let refusal = match policy::judge(turn, &step.task).await {
            Err(PlaneError::Refused(refusal)) if !plan.may_pass(step, refusal.rule) => *refusal,
            Ok(_) | Err(PlaneError::Refused(_)) => continue,
            Err(error) => return Err(error),
        };
        let refusal = Refusal { field: format!("steps[{at}].task.{}", refusal.field), ..refusal };
        let data = json!({
            "rule": refusal.rule, "field": refusal.field, "message": refusal.message,
            "title": step.task.title, "step": step.name,
        });
        turn.tell(&About::project(project), actor, "sandbox.rejected", data).await?;
        return Err(PlaneError::from(refusal));
    }
    Ok(())
}
