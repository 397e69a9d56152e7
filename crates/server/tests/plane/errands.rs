//! Changes are looked at and decided about where they lie.

use std::time::{Duration, Instant};

use cofferdam_core::control::audit::AuditStep;
use cofferdam_core::control::problem::Problem;
use cofferdam_core::control::report::{
    Errand, ErrandAnswer, ErrandKind, Heartbeat, ReportedStatus, StatusReport,
};
use cofferdam_core::control::runner::RunnerState;
use cofferdam_core::control::task::{AttemptResult, ChangeCounts, Task};
use cofferdam_core::control::token::Scope;
use cofferdam_server::plane::Apply;
use serde_json::{Value, json};

use crate::desk::{Desk, Worker};

async fn finished(desk: &Desk, runner: &Worker) -> Task {
    let project = desk.project("site").await;
    let more = json!({"project": project.id, "execution_mode": "isolated-worktree"});
    let task = desk.submit(more).await;
    let claim = runner.claim(desk, 1).await.remove(0);
    runner.report(desk, &claim, 0, ReportedStatus::Running).await;
    let changes =
        ChangeCounts { created: 1, manifest: Some("m".repeat(64)), ..ChangeCounts::default() };
    let result = AttemptResult {
        run: Some("01jrun".into()),
        exit_code: Some(0),
        changes: Some(changes),
        container_id: Some("c0ffee".into()),
        ..AttemptResult::default()
    };
    let report = StatusReport {
        attempt: 1,
        fence: claim.fence.clone(),
        seq: 1,
        status: ReportedStatus::Succeeded,
        result,
        events: vec![
            json!({"type": "changes.sealed", "created": 1}),
            json!({"type": "approval.approved", "forged": true}),
        ],
    };
    desk.plane.report(&runner.caller, task.id, report).await.unwrap();
    task
}

/// The runner hears of one errand and answers it.
fn serve(
    desk: &Desk,
    runner: &Worker,
    answer: Result<Value, Problem>,
) -> tokio::task::JoinHandle<Errand> {
    let (plane, caller, id) = (desk.plane.clone(), runner.caller.clone(), runner.registered.runner);
    tokio::spawn(async move {
        loop {
            let beat = Heartbeat {
                runner: id,
                holding: vec![],
                draining: false,
                leaving: false,
                wait_ms: 5000,
            };
            let told = plane.heartbeat(&caller, beat).await.unwrap();
            let Some(errand) = told.errands.into_iter().next() else { continue };
            let (result, problem) = match answer {
                Ok(result) => (Some(result), None),
                Err(problem) => (None, Some(problem)),
            };
            let said = ErrandAnswer { runner: id, result, problem };
            plane.errand_done(&caller, &errand.id, said).await.unwrap();
            return errand;
        }
    })
}

pub(crate) async fn changes_are_decided_where_they_lie_and_the_chain_has_every_link(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = finished(&desk, &runner).await;
    let overview = desk.plane.overview(&desk.admin).await.unwrap();
    assert_eq!(overview.to_review.len(), 1);
    let reviewer = desk.caller("ada", &[Scope::Review]).await;
    let looks = serve(&desk, &runner, Ok(json!([{"path": "a"}])));
    let seen = desk.plane.changes(&reviewer, task.id).await.unwrap();
    assert_eq!(seen, json!([{"path": "a"}]));
    assert_eq!(looks.await.unwrap().what, ErrandKind::Changes);
    let problem: Problem = serde_json::from_value(json!({
        "type": "urn:cofferdam:problem:gate", "title": "Gate", "status": 409, "detail": "needs a look",
    }))
    .unwrap();
    let says_no = serve(&desk, &runner, Err(problem));
    let refused = desk.plane.apply(&reviewer, task.id, Apply::default()).await.unwrap_err();
    assert_eq!(
        (refused.problem().status, refused.problem().detail.as_str()),
        (409, "needs a look")
    );
    says_no.await.unwrap();
    let applies = serve(&desk, &runner, Ok(json!({"applied": ["a"], "tree": "7ee"})));
    let asked = Apply { reviewed: true, ..Apply::default() };
    desk.plane.apply(&reviewer, task.id, asked).await.unwrap();
    let errand = applies.await.unwrap();
    assert_eq!((errand.actor.as_str(), errand.run.as_str()), ("token:ada", "01jrun"));
    let submitter = desk.caller("bob", &[Scope::Submit]).await;
    let forbidden = desk.plane.discard(&submitter, task.id, vec![]).await.unwrap_err();
    assert_eq!(forbidden.problem().status, 403);
    let audit = desk.plane.audit(&desk.admin, task.id).await.unwrap();
    let steps: Vec<AuditStep> = audit.links.iter().map(|link| link.step).collect();
    use AuditStep::{Applied, ChangeSet, Command, Decision, Policy, Refused, Request};
    let to_the_end = [ChangeSet, Decision, Refused, Decision, Applied];
    assert_eq!(steps, [[Request, Policy, Policy, Command].as_slice(), &to_the_end].concat());
    assert_eq!(audit.links[7].actor, "token:ada");
    assert_eq!(
        (audit.links[8].actor.as_str(), audit.links[8].value.as_str()),
        ("token:ada", "7ee")
    );
    assert_eq!((audit.container_id.as_deref(), audit.exit_code), (Some("c0ffee"), Some(0)));
    let kinds = desk.kinds(&task).await;
    assert!(kinds.contains(&"changes.refused".to_owned()), "{kinds:?}");
    assert!(
        !kinds.contains(&"approval.approved".to_owned()),
        "a runner may not say that: {kinds:?}"
    );
    let overview = desk.plane.overview(&desk.admin).await.unwrap();
    assert!(overview.to_review.is_empty(), "somebody has decided");
    desk.holds().await;
}

/// What was decided, about what, and what came of it: a no is never told like a yes.
pub(crate) async fn the_audit_says_what_was_decided_and_what_came_of_it(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = finished(&desk, &runner).await;
    let told = async |desk: &Desk| {
        let audit = desk.plane.audit(&desk.admin, task.id).await.unwrap();
        let links = serde_json::to_value(&audit.links).unwrap();
        let links = links.as_array().unwrap()[5..].to_vec();
        let brief = |link: &Value| {
            json!([link["step"], link["what"], link["outcome"], link["paths"], link["value"]])
        };
        Value::Array(links.iter().map(brief).collect())
    };
    let manifest = "m".repeat(64);
    let refused = serve(&desk, &runner, Ok(json!({"outcome": "refused", "tree": "0ld"})));
    desk.plane.apply(&desk.admin, task.id, Apply::default()).await.unwrap();
    refused.await.unwrap();
    let no = json!([
        ["decision", "apply", "refused", null, manifest],
        ["refused", "apply", null, null, "the gate let nothing of it pass"],
    ]);
    assert_eq!(told(&desk).await, no);
    let discards = serve(&desk, &runner, Ok(json!({"discarded": 1, "tree": "7ee"})));
    desk.plane.discard(&desk.admin, task.id, vec!["a".into()]).await.unwrap();
    discards.await.unwrap();
    let undoes = serve(&desk, &runner, Ok(json!({"outcome": "nothing", "tree": "7ee"})));
    desk.plane.undo(&desk.admin, task.id).await.unwrap();
    undoes.await.unwrap();
    let undoes = serve(&desk, &runner, Ok(json!({"tree": "8ff"})));
    desk.plane.undo(&desk.admin, task.id).await.unwrap();
    undoes.await.unwrap();
    let then = told(&desk).await.as_array().unwrap()[2..].to_vec();
    let expected = json!([
        ["decision", "discard", "done", ["a"], manifest],
        ["discarded", "discard", null, null, "7ee"],
        ["decision", "undo", "nothing", null, manifest],
        ["untouched", "undo", null, null, "7ee"],
        ["decision", "undo", "done", null, manifest],
        ["undone", "undo", null, null, "8ff"],
    ]);
    assert_eq!(Value::Array(then), expected);
    // A runner that has not answered yet has done nothing that could be told.
    let (plane, admin) = (desk.plane.clone(), desk.admin.clone());
    let asking = tokio::spawn(async move { plane.discard(&admin, task.id, vec![]).await });
    let id = runner.registered.runner;
    let beat =
        Heartbeat { runner: id, holding: vec![], draining: false, leaving: false, wait_ms: 5000 };
    desk.plane.heartbeat(&runner.caller, beat).await.unwrap();
    asking.abort();
    let all = told(&desk).await;
    let last = all.as_array().unwrap().last().unwrap();
    assert_eq!(last, &json!(["decision", "discard", null, null, manifest]));
}

/// Numbers of hunks are those of one diff, and its mark goes with them to whoever has the changes.
pub(crate) async fn a_mark_goes_along_with_its_hunks_and_is_nothing_else(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = finished(&desk, &runner).await;
    let mark = "0123456789abcdef01234567";
    let asked = |mark: &str, hunks: Value| -> Apply {
        let asked = json!({"hunks": hunks, "marks": {"a": mark}, "reviewed": true});
        serde_json::from_value(asked).unwrap()
    };
    for (mark, hunks) in [
        ("x", json!({"a": [1]})),
        ("0123456789abcdef01234567:2", json!({"a": [1]})),
        (mark, json!({"b": [1]})),
    ] {
        let refused = desk.plane.apply(&desk.admin, task.id, asked(mark, hunks)).await;
        let problem = refused.unwrap_err().problem();
        assert_eq!((problem.status, problem.field.as_deref()), (422, Some("marks.a")));
    }
    let applies = serve(&desk, &runner, Ok(json!({"applied": ["a"]})));
    desk.plane.apply(&desk.admin, task.id, asked(mark, json!({"a": [1]}))).await.unwrap();
    match applies.await.unwrap().what {
        ErrandKind::Apply { hunks, marks, .. } => {
            assert_eq!((hunks["a"].as_slice(), marks["a"].as_str()), ([1].as_slice(), mark));
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn an_answer_is_kept_even_if_the_server_was_started_anew(mut desk: Desk) {
    let runner = desk.runner("one").await;
    let task = finished(&desk, &runner).await;
    let asking = {
        let (plane, admin) = (desk.plane.clone(), desk.admin.clone());
        tokio::spawn(async move { plane.apply(&admin, task.id, Apply::default()).await })
    };
    let id = runner.registered.runner;
    let beat =
        Heartbeat { runner: id, holding: vec![], draining: false, leaving: false, wait_ms: 5000 };
    let told = desk.plane.heartbeat(&runner.caller, beat).await.unwrap();
    let errand = told.errands.into_iter().next().unwrap();
    asking.abort();
    desk.restart().await;
    desk.register(&runner.caller, "one").await;
    let answer = ErrandAnswer { runner: id, result: Some(json!({})), problem: None };
    let other = desk.runner("two").await;
    let forged = ErrandAnswer { runner: other.registered.runner, ..answer.clone() };
    assert!(desk.plane.errand_done(&other.caller, &errand.id, forged).await.is_err());
    desk.plane.errand_done(&runner.caller, &errand.id, answer.clone()).await.unwrap();
    assert!(desk.plane.errand_done(&runner.caller, &errand.id, answer).await.is_err(), "once");
    let kinds = desk.kinds(&task).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "changes.applied").count(), 1, "{kinds:?}");
    let audit = desk.plane.audit(&desk.admin, task.id).await.unwrap();
    let applied = audit.links.iter().filter(|link| link.step == AuditStep::Applied).count();
    assert_eq!(applied, 0, "what was not said of the tree is not made up");
}

pub(crate) async fn a_runner_that_is_not_there_is_not_waited_for(mut desk: Desk) {
    desk.restart_with(|settings| settings.heartbeat = Duration::from_secs(2)).await;
    let runner = desk.runner("one").await;
    let id = runner.registered.runner;
    let task = finished(&desk, &runner).await;
    let ask = || {
        let (plane, admin) = (desk.plane.clone(), desk.admin.clone());
        let asked = Instant::now();
        tokio::spawn(async move {
            let away = plane.changes(&admin, task.id).await.unwrap_err().problem();
            (away.status, away.detail, asked.elapsed())
        })
    };
    let beat = async |leaving: bool, wait_ms: u64| {
        let holding = Vec::new();
        let beat = Heartbeat { runner: id, holding, draining: leaving, leaving, wait_ms };
        desk.plane.heartbeat(&runner.caller, beat).await.unwrap()
    };
    // It shall speak within two seconds, and does not come for the question.
    let (status, detail, took) = ask().await.unwrap();
    assert_eq!(status, 504, "{detail}");
    assert!(detail.contains("silent") && took < Duration::from_secs(10), "{detail} {took:?}");
    // It came for the question, and then its lease was over.
    let asking = ask();
    assert_eq!(beat(false, 5000).await.errands.len(), 1);
    desk.pass(Duration::from_secs(31)).await;
    let (status, detail, took) = asking.await.unwrap();
    assert_eq!(status, 504, "{detail}");
    assert!(detail.contains("offline") && took < Duration::from_secs(10), "{detail} {took:?}");
    // Who is known to be gone is not asked at all: by its silence, or by its own last word.
    for goodbye in [false, true] {
        if goodbye {
            beat(false, 0).await;
            beat(true, 0).await;
        }
        let (status, detail, took) = ask().await.unwrap();
        assert_eq!(status, 504, "{detail}");
        assert!(detail.contains("offline") && took < Duration::from_secs(1), "{detail} {took:?}");
    }
    let shown = desk.plane.runner(&desk.admin, id).await.unwrap();
    assert_eq!(shown.state, RunnerState::Offline);
}

pub(crate) async fn an_apply_of_nothing_leaves_no_word_of_one(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = finished(&desk, &runner).await;
    let answer = json!({"outcome": "nothing", "left": 1, "pending": 1, "tree": "7ee"});
    let applies = serve(&desk, &runner, Ok(answer.clone()));
    let said = desk.plane.apply(&desk.admin, task.id, Apply::default()).await.unwrap();
    assert_eq!(said, answer);
    applies.await.unwrap();
    let kinds = desk.kinds(&task).await;
    assert!(!kinds.contains(&"changes.applied".to_owned()), "{kinds:?}");
    assert!(kinds.contains(&"changes.untouched".to_owned()), "{kinds:?}");
    let audit = desk.plane.audit(&desk.admin, task.id).await.unwrap();
    assert!(!audit.links.iter().any(|link| link.step == AuditStep::Applied), "{audit:?}");
    let overview = desk.plane.overview(&desk.admin).await.unwrap();
    assert_eq!(overview.to_review.len(), 1, "somebody still has to look");
}
