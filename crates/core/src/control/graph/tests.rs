use super::*;
use crate::control::task::{ExecutionMode, NewTask};

fn step(name: &str, depends_on: &[&str]) -> Step {
    let task: NewTask =
        serde_json::from_value(serde_json::json!({"execution_mode": "no-workspace"})).unwrap();
    assert_eq!(task.execution_mode, ExecutionMode::NoWorkspace);
    Step {
        name: name.into(),
        depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
        when: Condition::AllSucceeded,
        task,
    }
}

fn field(steps: &[Step]) -> String {
    check(steps).unwrap_err().field()
}

#[test]
fn names_cycles_and_unknown_steps_are_refused_where_they_stand() {
    assert_eq!(check(&[step("a", &[]), step("b", &["a"])]), Ok(()));
    assert_eq!(field(&[]), "steps");
    assert_eq!(field(&[step("a", &[]), step("a b", &[])]), "steps[1].name");
    assert_eq!(field(&[step("a", &[]), step("a", &[])]), "steps[1].name");
    assert_eq!(field(&[step("a", &[]), step("b", &["a", "c"])]), "steps[1].depends_on[1]");
    assert_eq!(field(&[step("a", &["a"])]), "steps[0].depends_on");
    let ring = [step("x", &[]), step("a", &["c"]), step("b", &["a"]), step("c", &["b"])];
    assert_eq!(field(&ring), "steps[1].depends_on");
}

#[test]
fn what_depends_on_a_step_is_repeated_with_it() {
    let steps = [step("a", &[]), step("b", &["a"]), step("c", &["b"]), step("d", &["a"])];
    let mut names: Vec<&str> = with_dependents(&steps, &["b".into()]).into_iter().collect();
    names.sort_unstable();
    assert_eq!(names, ["b", "c"]);
}

fn stands<'a>(steps: &'a [Step], stages: &[Stage]) -> Vec<Standing<'a>> {
    let each = steps.iter().zip(stages);
    each.map(|(step, stage)| Standing {
        name: &step.name,
        depends_on: &step.depends_on,
        when: step.when,
        stage: *stage,
    })
    .collect()
}

#[test]
fn a_step_goes_on_when_all_before_it_succeeded() {
    use Stage::{Succeeded, Underway, Waiting};
    let steps = [step("a", &[]), step("b", &[]), step("c", &["a", "b"])];
    let of = |stages: &[Stage]| progress(&stands(&steps, stages));
    let going = |ready: &[usize]| Progress::Going { ready: ready.to_vec(), skipped: vec![] };
    assert_eq!(of(&[Waiting, Waiting, Waiting]), going(&[0, 1]));
    assert_eq!(of(&[Succeeded, Underway, Waiting]), going(&[]));
    assert_eq!(of(&[Succeeded, Succeeded, Waiting]), going(&[2]));
    let over = Progress::Over { skipped: vec![], state: WorkflowState::Succeeded };
    assert_eq!(of(&[Succeeded, Succeeded, Succeeded]), over);
}

#[test]
fn a_failure_skips_what_needs_success_and_starts_what_handles_it() {
    use Stage::{Failed, Succeeded, Waiting};
    let mut steps = [
        step("a", &[]),
        step("b", &["a"]),
        step("c", &["b"]),
        step("mend", &["a"]),
        step("end", &["c", "mend"]),
    ];
    steps[3].when = Condition::AnyFailed;
    steps[4].when = Condition::Always;
    let of = |stages: &[Stage]| progress(&stands(&steps, stages));
    let first = of(&[Failed, Waiting, Waiting, Waiting, Waiting]);
    assert_eq!(first, Progress::Going { ready: vec![3], skipped: vec![1, 2] });
    let good = of(&[Succeeded, Succeeded, Succeeded, Waiting, Waiting]);
    assert_eq!(good, Progress::Going { ready: vec![4], skipped: vec![3] });
    let handled = of(&[Failed, Stage::Skipped, Stage::Skipped, Succeeded, Succeeded]);
    assert_eq!(handled, Progress::Over { skipped: vec![], state: WorkflowState::Succeeded });
    let unhandled = of(&[Failed, Stage::Skipped, Stage::Skipped, Failed, Succeeded]);
    assert_eq!(unhandled, Progress::Over { skipped: vec![], state: WorkflowState::Failed });
}
