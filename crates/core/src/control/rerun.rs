//! How the steps of a new run begin: all of them anew, or some of them taken over from the run that is repeated.

use super::graph;
use super::state::TaskState;
use super::workflow::{Step, StepState, StepStatus};

/// A step that is neither repeated nor over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is not over in the run that is repeated, and is not repeated itself")]
pub struct NotOver {
    pub name: String,
}

/// The steps of a run that repeats `only` and what depends on it; `earlier` is how the repeated run stands.
///
/// What is taken over counts as done, so it must be over: else it would be done by both runs, or waited for in vain.
pub fn statuses(
    steps: &[Step],
    only: &[String],
    earlier: &[StepStatus],
) -> Result<Vec<StepStatus>, NotOver> {
    let again = graph::with_dependents(steps, only);
    let statuses = steps.iter().map(|step| {
        let before = earlier.iter().find(|old| old.name == step.name);
        let kept = before.filter(|_| !only.is_empty() && !again.contains(step.name.as_str()));
        match kept {
            None => Ok(waiting(step)),
            Some(old) => taken_over(step, old),
        }
    });
    statuses.collect()
}

fn waiting(step: &Step) -> StepStatus {
    StepStatus {
        name: step.name.clone(),
        depends_on: step.depends_on.clone(),
        when: step.when,
        state: StepState::Waiting,
        task: None,
        task_state: None,
    }
}

fn taken_over(step: &Step, old: &StepStatus) -> Result<StepStatus, NotOver> {
    let state = match old.state {
        StepState::Skipped => StepState::Skipped,
        // Without a task it was refused, and has failed.
        StepState::Started | StepState::Reused
            if old.task.is_none() || old.task_state.is_some_and(TaskState::is_terminal) =>
        {
            StepState::Reused
        }
        _ => return Err(NotOver { name: step.name.clone() }),
    };
    Ok(StepStatus { state, task: old.task, task_state: old.task_state, ..waiting(step) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::id::TaskId;

    fn step(name: &str, depends_on: &[&str]) -> Step {
        let task = serde_json::json!({"execution_mode": "no-workspace", "command": ["true"]});
        Step {
            name: name.into(),
            depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
            when: Default::default(),
            task: serde_json::from_value(task).unwrap(),
        }
    }

    fn was(step: &Step, state: StepState, task: Option<TaskState>) -> StepStatus {
        let id = task.map(|_| TaskId::from_parts(1, 1));
        StepStatus { state, task: id, task_state: task, ..waiting(step) }
    }

    #[test]
    fn only_what_is_over_is_taken_over() {
        let steps = [step("a", &[]), step("b", &[]), step("c", &["b"])];
        let only = ["b".to_owned()];
        let begin = |a: StepStatus| {
            let done = |step| was(step, StepState::Started, Some(TaskState::Failed));
            statuses(&steps, &only, &[a, done(&steps[1]), done(&steps[2])])
        };
        let started = |task| begin(was(&steps[0], StepState::Started, task));
        let states = |begun: Vec<StepStatus>| -> Vec<StepState> {
            begun.iter().map(|status| status.state).collect()
        };
        let begun = started(Some(TaskState::Succeeded)).unwrap();
        assert!(begun[0].task.is_some() && begun[1].task.is_none() && begun[2].task.is_none());
        let reused = [StepState::Reused, StepState::Waiting, StepState::Waiting];
        assert_eq!(states(begun), reused);
        assert_eq!(states(started(None).unwrap()), reused, "refused is over");
        assert_eq!(
            states(begin(was(&steps[0], StepState::Skipped, None)).unwrap())[0],
            StepState::Skipped
        );
        for going in [TaskState::Created, TaskState::Queued, TaskState::Running] {
            assert_eq!(started(Some(going)), Err(NotOver { name: "a".into() }), "{going}");
        }
        begin(was(&steps[0], StepState::Waiting, None)).unwrap_err();
    }

    #[test]
    fn without_a_choice_everything_is_done_anew() {
        let steps = [step("a", &[])];
        let begun =
            statuses(&steps, &[], &[was(&steps[0], StepState::Started, Some(TaskState::Running))]);
        assert_eq!(begun.unwrap(), [waiting(&steps[0])]);
    }
}
