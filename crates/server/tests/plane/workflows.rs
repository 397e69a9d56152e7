//! Steps that wait for each other.

use std::time::Duration;

use cofferdam_core::control::page::Paging;
use cofferdam_core::control::report::ReportedStatus;
use cofferdam_core::control::task::Task;
use cofferdam_core::control::workflow::{NewTemplate, NewWorkflowRun, Template, WorkflowRun};
use cofferdam_server::plane::{EventFilter, PlaneError};
use serde_json::{Value, json};

use crate::approvals::{asked, words};
use crate::desk::{Desk, Worker};

async fn template(desk: &Desk, steps: Value) -> Template {
    let project = desk.project("site").await;
    let steps: Vec<Value> = steps
        .as_array()
        .unwrap()
        .iter()
        .map(|step| {
            let mut step = step.clone();
            let mut task = json!({"execution_mode": "no-workspace", "command": [step["name"]]});
            if let Some(more) = step.as_object_mut().unwrap().remove("more") {
                task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            }
            step["task"] = task;
            step
        })
        .collect();
    let asked: NewTemplate =
        serde_json::from_value(json!({"project": project.id, "name": "build", "steps": steps}))
            .unwrap();
    desk.plane.create_template(&desk.admin, asked, None).await.unwrap()
}

async fn begin(desk: &Desk, template: &Template, more: Value) -> WorkflowRun {
    let mut asked = json!({"template": template.id});
    for (key, value) in more.as_object().unwrap() {
        asked[key] = value.clone();
    }
    let asked: NewWorkflowRun = serde_json::from_value(asked).unwrap();
    desk.plane.create_workflow_run(&desk.admin, asked, None).await.unwrap()
}

/// Runs all that can be claimed, each to the end that is said; names of the steps.
async fn run(desk: &Desk, runner: &Worker, failing: &[&str]) -> Vec<String> {
    let mut done = Vec::new();
    for claim in runner.claim(desk, 10).await {
        let step = claim.task.step.clone().unwrap();
        let end = if failing.contains(&step.as_str()) {
            ReportedStatus::Failed
        } else {
            ReportedStatus::Succeeded
        };
        runner.report(desk, &claim, 0, end).await;
        done.push(step);
    }
    done.sort();
    done
}

async fn shown(desk: &Desk, run: &WorkflowRun) -> (String, Vec<String>) {
    let run = desk.plane.workflow_run(&desk.admin, run.id).await.unwrap();
    let word = |value: Value| value.as_str().unwrap_or("-").to_owned();
    let steps = run.steps.iter().map(|step| {
        format!("{} {} {}", step.name, word(json!(step.state)), word(json!(step.task_state)))
    });
    (word(json!(run.state)), steps.collect())
}

pub(crate) async fn steps_go_on_when_those_before_them_are_over(mut desk: Desk) {
    let runner = desk.runner("one").await;
    let steps = json!([
        {"name": "fetch"}, {"name": "lint", "depends_on": ["fetch"]},
        {"name": "test", "depends_on": ["fetch"]}, {"name": "ship", "depends_on": ["lint", "test"]},
    ]);
    let template = template(&desk, steps).await;
    let workflow = begin(&desk, &template, json!({"title": "nightly"})).await;
    assert_eq!(run(&desk, &runner, &[]).await, ["fetch"]);
    desk.restart().await;
    desk.register(&runner.caller, "one").await;
    assert_eq!(run(&desk, &runner, &[]).await, ["lint", "test"]);
    assert_eq!(shown(&desk, &workflow).await.0, "running");
    assert_eq!(run(&desk, &runner, &[]).await, ["ship"]);
    let (state, steps) = shown(&desk, &workflow).await;
    assert_eq!((state.as_str(), steps[3].as_str()), ("succeeded", "ship started succeeded"));
    let ring = json!({
        "project": template.asked.project, "name": "ring",
        "steps": [{"name": "a", "depends_on": ["a"], "task": {"execution_mode": "no-workspace", "command": ["x"]}}],
    });
    let asked = serde_json::from_value(ring).unwrap();
    let refused = desk.plane.create_template(&desk.admin, asked, None).await.unwrap_err().problem();
    assert_eq!((refused.status, refused.field.as_deref()), (422, Some("steps[0].depends_on")));
    desk.holds().await;
}

pub(crate) async fn a_failure_skips_or_starts_what_depends_on_it(desk: Desk) {
    let runner = desk.runner("one").await;
    let steps = json!([
        {"name": "build"}, {"name": "ship", "depends_on": ["build"]},
        {"name": "mend", "depends_on": ["build"], "when": "any_failed"},
        {"name": "tidy", "depends_on": ["ship", "mend"], "when": "always"},
    ]);
    let template = template(&desk, steps).await;
    let workflow = begin(&desk, &template, json!({})).await;
    assert_eq!(run(&desk, &runner, &["build"]).await, ["build"]);
    assert_eq!(run(&desk, &runner, &[]).await, ["mend"]);
    assert_eq!(run(&desk, &runner, &[]).await, ["tidy"]);
    let (state, steps) = shown(&desk, &workflow).await;
    assert_eq!(state, "succeeded", "what failed was mended");
    assert_eq!(steps[0], "build started failed");
    assert_eq!(steps[1], "ship skipped -");
    let unmended = begin(&desk, &template, json!({})).await;
    for failing in [&["build"][..], &["mend"], &[]] {
        run(&desk, &runner, failing).await;
    }
    assert_eq!(shown(&desk, &unmended).await.0, "failed");
}

pub(crate) async fn paused_begins_nothing_and_aborted_ends_everything(desk: Desk) {
    let runner = desk.runner("one").await;
    let steps = json!([{"name": "a"}, {"name": "b", "depends_on": ["a"]}, {"name": "c", "depends_on": ["b"]}]);
    let template = template(&desk, steps).await;
    let workflow = begin(&desk, &template, json!({})).await;
    desk.plane.pause(&desk.admin, workflow.id).await.unwrap();
    assert_eq!(run(&desk, &runner, &[]).await, Vec::<String>::new(), "nor what was queued");
    desk.plane.resume(&desk.admin, workflow.id).await.unwrap();
    assert_eq!(run(&desk, &runner, &[]).await, ["a"]);
    let claim = runner.claim(&desk, 1).await.remove(0);
    runner.report(&desk, &claim, 0, ReportedStatus::Running).await;
    desk.plane.abort(&desk.admin, workflow.id).await.unwrap();
    let (state, steps) = shown(&desk, &workflow).await;
    assert_eq!(state, "aborted");
    assert_eq!(steps[1], "b started cancel_requested");
    assert_eq!(steps[2], "c skipped -");
    runner.report(&desk, &claim, 1, ReportedStatus::Canceled).await;
    assert_eq!(run(&desk, &runner, &[]).await, Vec::<String>::new());
    let refused = desk.plane.resume(&desk.admin, workflow.id).await.unwrap_err();
    assert_eq!(refused.problem().status, 409);
    desk.holds().await;
}

/// What is not done for a run that is over, and what an abort leaves undone.
pub(crate) async fn what_comes_too_late_for_a_run_stands_in_the_timeline(desk: Desk) {
    let runner = desk.runner("one").await;
    let steps = json!([
        {"name": "a"}, {"name": "b", "more": {"dispatch": false}}, {"name": "c", "depends_on": ["b"]},
    ]);
    let template = template(&desk, steps).await;
    let workflow = begin(&desk, &template, json!({})).await;
    assert_eq!(run(&desk, &runner, &["a"]).await, ["a"]);
    let task_of = |at: usize| workflow.steps[at].task.unwrap();
    desk.plane.abort(&desk.admin, workflow.id).await.unwrap();
    assert_eq!(shown(&desk, &workflow).await.1[2], "c skipped -");
    for refused in [
        desk.plane.retry(&desk.admin, task_of(0)).await,
        desk.plane.dispatch(&desk.admin, task_of(1)).await,
    ] {
        assert_eq!(refused.unwrap_err().problem().status, 409);
    }
    let told = async |kind: &str| -> Vec<Value> {
        let filter = EventFilter {
            workflow_run: Some(workflow.id),
            kind: Some(kind.into()),
            ..EventFilter::default()
        };
        let page = desk.plane.events(&desk.admin, &filter, &Paging::default()).await.unwrap();
        page.items.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    };
    let skipped = told("workflow.step_skipped").await;
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert_eq!(
        (&skipped[0]["data"]["step"], &skipped[0]["actor"]),
        (&json!("c"), &json!("token:admin"))
    );
    let mut refused: Vec<Value> = told("task.transition_refused").await;
    refused.sort_by_key(|event| event["data"]["move"].to_string());
    let data: Vec<_> = refused.iter().map(|event| event["data"].clone()).collect();
    assert_eq!(
        data,
        [
            json!({"from": "canceled", "move": "dispatch", "workflow": "aborted"}),
            json!({"from": "failed", "move": "retry", "workflow": "aborted"}),
        ]
    );
    assert_eq!(refused[1]["task"], json!(task_of(0)));
    desk.holds().await;
}

pub(crate) async fn a_part_is_repeated_with_what_depends_on_it(desk: Desk) {
    let runner = desk.runner("one").await;
    let steps = json!([{"name": "a"}, {"name": "b", "depends_on": ["a"]}, {"name": "c", "depends_on": ["b"]}]);
    let template = template(&desk, steps).await;
    let first = begin(&desk, &template, json!({})).await;
    for failing in [&[][..], &["b"], &[]] {
        run(&desk, &runner, failing).await;
    }
    assert_eq!(shown(&desk, &first).await.0, "failed");
    let again = begin(&desk, &template, json!({"of": first.id, "only": ["b"]})).await;
    assert_eq!(run(&desk, &runner, &[]).await, ["b"]);
    assert_eq!(run(&desk, &runner, &[]).await, ["c"]);
    let (state, steps) = shown(&desk, &again).await;
    assert_eq!((state.as_str(), steps[0].as_str()), ("succeeded", "a reused succeeded"));
    let asked: NewWorkflowRun =
        serde_json::from_value(json!({"template": template.id, "only": ["x"], "of": first.id}))
            .unwrap();
    let unknown = desk.plane.create_workflow_run(&desk.admin, asked, None).await.unwrap_err();
    assert_eq!(unknown.problem().field.as_deref(), Some("only[0]"));
}

pub(crate) async fn a_part_is_repeated_only_once_the_rest_is_over(desk: Desk) {
    let runner = desk.runner("one").await;
    let template = template(&desk, json!([{"name": "a"}, {"name": "b"}])).await;
    let first = begin(&desk, &template, json!({})).await;
    let claims = runner.claim(&desk, 10).await;
    let of =
        |step: &str| claims.iter().find(|claim| claim.task.step.as_deref() == Some(step)).unwrap();
    runner.report(&desk, of("a"), 0, ReportedStatus::Running).await;
    runner.report(&desk, of("b"), 0, ReportedStatus::Failed).await;
    let asked: NewWorkflowRun =
        serde_json::from_value(json!({"template": template.id, "only": ["b"], "of": first.id}))
            .unwrap();
    let early =
        desk.plane.create_workflow_run(&desk.admin, asked, None).await.unwrap_err().problem();
    assert_eq!(early.status, 409);
    assert!(early.detail.starts_with("a is not over"));
    runner.report(&desk, of("a"), 1, ReportedStatus::Succeeded).await;
    let again = begin(&desk, &template, json!({"of": first.id, "only": ["b"]})).await;
    assert_eq!(run(&desk, &runner, &[]).await, ["b"], "a is not done twice");
    assert_eq!(shown(&desk, &again).await.0, "succeeded");
}

pub(crate) async fn what_a_later_step_may_not_do_is_refused_before_an_earlier_one_runs(desk: Desk) {
    let project = desk.project("site").await;
    let steps = |mount: &str, role: Value| -> NewTemplate {
        let mounts = json!({"sandbox.mounts": [format!("{mount}:/x")]});
        let task = json!({"execution_mode": "no-workspace", "command": ["true"]});
        let mut later = task.clone();
        later["settings"] = mounts;
        later["role"] = role;
        let steps = json!([
            {"name": "a", "task": task}, {"name": "b", "depends_on": ["a"], "task": later},
        ]);
        let asked = json!({"project": project.id, "name": "build", "steps": steps});
        serde_json::from_value(asked).unwrap()
    };
    let refused = |error: PlaneError| {
        let problem = error.problem();
        (problem.status, problem.rule.unwrap(), problem.field.unwrap())
    };
    let at_mount = "steps[1].task.settings.sandbox.mounts[0].source".to_owned();
    let asked = steps("/etc", Value::Null);
    let no = desk.plane.create_template(&desk.admin, asked, None).await.unwrap_err();
    assert_eq!(refused(no), (422, "mount-forbidden".into(), at_mount.clone()));

    // What is not there yet may be made by the step before, and a role until the run.
    let asked = steps("data", json!("dev"));
    let template = desk.plane.create_template(&desk.admin, asked, None).await.unwrap();
    let run = |of: &Template| serde_json::from_value(json!({"template": of.id})).unwrap();
    let no = desk.plane.create_workflow_run(&desk.admin, run(&template), None).await.unwrap_err();
    assert_eq!(refused(no), (422, "role-known".into(), "steps[1].task.role".into()));
    let replaced = steps("data", Value::Null);
    desk.plane.replace_template(&desk.admin, template.id, replaced, None).await.unwrap();
    desk.plane.create_workflow_run(&desk.admin, run(&template), None).await.unwrap();
    let no = steps("/etc", Value::Null);
    let no = desk.plane.replace_template(&desk.admin, template.id, no, None).await.unwrap_err();
    assert_eq!(refused(no), (422, "mount-forbidden".into(), at_mount.clone()));

    // Since then the path leads elsewhere: nothing of another run begins.
    let root = std::path::Path::new(&project.root_path);
    std::os::unix::fs::symlink("/etc", root.join("data")).unwrap();
    let no = desk.plane.create_workflow_run(&desk.admin, run(&template), None).await.unwrap_err();
    assert_eq!(refused(no), (422, "mount-forbidden".into(), at_mount));
    let runs = desk.plane.workflow_runs(&desk.admin, &Default::default(), &Paging::default()).await;
    assert_eq!(runs.unwrap().items.len(), 1);
    let filter = EventFilter {
        project: Some(project.id),
        kind: Some("sandbox.rejected".into()),
        ..EventFilter::default()
    };
    let told = desk.plane.events(&desk.admin, &filter, &Paging::default()).await.unwrap();
    assert_eq!(told.items.len(), 4);
    assert_eq!(told.items[0].data["step"], "b");
}

pub(crate) async fn a_run_has_another_version_when_a_task_of_it_has(desk: Desk) {
    let runner = desk.runner("one").await;
    let template =
        template(&desk, json!([{"name": "a"}, {"name": "b", "depends_on": ["a"]}])).await;
    let workflow = begin(&desk, &template, json!({})).await;
    let version = async || desk.plane.workflow_run(&desk.admin, workflow.id).await.unwrap().version;
    let mut seen = vec![version().await];
    assert_eq!(seen[0], workflow.version);
    for _ in ["a", "b"] {
        let claim = runner.claim(&desk, 1).await.remove(0);
        seen.push(version().await);
        runner.report(&desk, &claim, 0, ReportedStatus::Running).await;
        seen.push(version().await);
        runner.report(&desk, &claim, 1, ReportedStatus::Succeeded).await;
        seen.push(version().await);
    }
    assert!(seen.is_sorted_by(|one, two| one < two), "{seen:?}");
    assert_eq!(version().await, *seen.last().unwrap(), "nothing moves, and nothing changes");
}

/// The task of a step.
async fn task_of(desk: &Desk, run: &WorkflowRun, step: &str) -> Task {
    let run = desk.plane.workflow_run(&desk.admin, run.id).await.unwrap();
    let id = run.steps.iter().find(|status| status.name == step).unwrap().task.unwrap();
    desk.plane.task(&desk.admin, id).await.unwrap()
}

pub(crate) async fn paused_holds_what_is_approved_dispatched_or_tried_again(mut desk: Desk) {
    let runner = desk.runner("one").await;
    let steps = json!([
        {"name": "asks", "more": {"requires_approval": true}},
        {"name": "fails"},
        {"name": "kept", "more": {"dispatch": false}},
        {"name": "again", "more": {"retry": {"max_attempts": 2, "on": ["failed"], "backoff_ms": 60000}}},
        {"name": "runs"},
    ]);
    let template = template(&desk, steps).await;
    let workflow = begin(&desk, &template, json!({})).await;
    let mut claims = runner.claim(&desk, 10).await;
    claims.sort_by_key(|claim| claim.task.step.clone());
    let [again, fails, runs] = &claims[..] else { panic!("{claims:?}") };
    runner.report(&desk, fails, 0, ReportedStatus::Failed).await;
    desk.plane.pause(&desk.admin, workflow.id).await.unwrap();
    runner.report(&desk, again, 0, ReportedStatus::Failed).await;
    let asks = task_of(&desk, &workflow, "asks").await;
    let question = asked(&desk, &asks).await;
    desk.plane.approve(&desk.admin, question.id, words("fine")).await.unwrap();
    desk.plane.retry(&desk.admin, fails.task.id).await.unwrap();
    let kept = task_of(&desk, &workflow, "kept").await;
    desk.plane.dispatch(&desk.admin, kept.id).await.unwrap();
    assert!(runner.claim(&desk, 10).await.is_empty());
    desk.restart().await;
    let holding = [(runs.task.id, runs.attempt)];
    desk.register_holding(&runner.caller, "one", holding).await;
    assert!(runner.claim(&desk, 10).await.is_empty(), "nor after a restart");
    runner.report(&desk, runs, 0, ReportedStatus::Succeeded).await;
    assert_eq!(desk.state(&runs.task).await, "succeeded", "what runs goes on");
    desk.plane.resume(&desk.admin, workflow.id).await.unwrap();
    assert_eq!(run(&desk, &runner, &[]).await, ["asks", "fails", "kept"]);
    desk.pass(Duration::from_secs(60)).await;
    assert_eq!(run(&desk, &runner, &[]).await, ["again"], "it waited as long as it had to");
    assert_eq!(shown(&desk, &workflow).await.0, "succeeded");
    desk.holds().await;
}

pub(crate) async fn a_run_that_is_over_begins_nothing_more(desk: Desk) {
    let runner = desk.runner("one").await;
    let steps = json!([{"name": "a"}, {"name": "b"}]);
    let template = template(&desk, steps).await;
    for end in ["aborted", "failed"] {
        let workflow = begin(&desk, &template, json!({})).await;
        let claims = runner.claim(&desk, 10).await;
        runner.report(&desk, &claims[0], 0, ReportedStatus::Failed).await;
        if end == "aborted" {
            desk.plane.abort(&desk.admin, workflow.id).await.unwrap();
            runner.report(&desk, &claims[1], 0, ReportedStatus::Canceled).await;
        } else {
            runner.report(&desk, &claims[1], 0, ReportedStatus::Succeeded).await;
        }
        assert_eq!(shown(&desk, &workflow).await.0, end);
        let refused = desk.plane.retry(&desk.admin, claims[0].task.id).await;
        let problem = refused.unwrap_err().problem();
        assert_eq!(problem.status, 409);
        assert!(problem.detail.contains(end), "{}", problem.detail);
        assert_eq!(desk.state(&claims[0].task).await, "failed");
        assert!(runner.claim(&desk, 10).await.is_empty());
    }
}
