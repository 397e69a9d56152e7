//! Who is next, as runners see it.

use std::time::{Duration, Instant};

use cofferdam_core::control::project::NewProject;
use cofferdam_core::control::report::{ClaimAsk, ReportedStatus};
use serde_json::json;

use crate::desk::{Desk, task};

pub(crate) async fn a_project_never_runs_more_than_it_may(desk: Desk) {
    let runner = desk.runner("one").await;
    let project = desk.project("site").await;
    let asked = NewProject {
        name: "site".into(),
        root_path: project.root_path.clone(),
        allowed_paths: vec![],
        max_running: Some(1),
        default_role: None,
    };
    desk.plane.replace_project(&desk.admin, project.id, asked, None).await.unwrap();
    for title in ["a", "b"] {
        desk.submit(json!({"project": project.id, "title": title})).await;
    }
    let free = desk.submit(json!({"priority": -5})).await;
    let claims = runner.claim(&desk, 5).await;
    let ids: Vec<_> = claims.iter().map(|claim| claim.task.id).collect();
    assert_eq!(claims.len(), 2, "one of the project, and the one without");
    assert!(ids.contains(&free.id));
    let of_project = claims.iter().find(|claim| claim.task.id != free.id).unwrap();
    runner.report(&desk, of_project, 0, ReportedStatus::Succeeded).await;
    assert_eq!(runner.claim(&desk, 5).await.len(), 1);
}

pub(crate) async fn a_project_has_no_more_waiting_than_there_is_room_for(mut desk: Desk) {
    desk.restart_with(|settings| settings.max_waiting = 3).await;
    let runner = desk.runner("one").await;
    let (full, other) = (desk.project("full").await, desk.project("other").await);
    for more in [json!({}), json!({"dispatch": false}), json!({"requires_approval": true})] {
        let mut asked = json!({"project": full.id});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        desk.submit(asked).await;
    }
    let another = || desk.plane.create_task(&desk.admin, task(json!({"project": full.id})), None);
    let problem = another().await.unwrap_err().problem();
    assert_eq!((problem.status, problem.detail.contains("no more than 3")), (429, true));
    desk.submit(json!({"project": other.id})).await;
    desk.submit(json!({})).await;
    assert_eq!(runner.claim(&desk, 5).await.len(), 3, "others are not concerned");
    another().await.unwrap();
    assert_eq!(another().await.unwrap_err().problem().status, 429);
}

pub(crate) async fn nothing_begins_after_its_deadline(desk: Desk) {
    let runner = desk.runner("one").await;
    let soon = "2027-01-15T08:00:30Z";
    let task = desk.submit(json!({"deadline": soon})).await;
    let begun = desk.submit(json!({"deadline": soon, "priority": 9})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    assert_eq!(claim.task.id, begun.id);
    desk.pass(Duration::from_secs(29)).await;
    assert_eq!(desk.state(&task).await, "queued");
    desk.pass(Duration::from_secs(1)).await;
    assert_eq!(desk.state(&task).await, "canceled");
    assert_eq!(desk.state(&begun).await, "claimed", "what has begun goes on");
    let kept = desk.plane.task(&desk.admin, task.id).await.unwrap();
    assert!(kept.result.message.unwrap().contains("deadline"));
}

pub(crate) async fn what_is_too_late_is_neither_taken_in_nor_handed_out(desk: Desk) {
    let runner = desk.runner("one").await;
    let late = |error: cofferdam_server::plane::PlaneError| {
        let problem = error.problem();
        (problem.status, problem.field)
    };
    let refused = (422, Some("deadline".to_owned()));
    // The clock stands at 2027-01-15T08:00:00Z.
    for over in ["2020-01-01T00:00:00Z", "2027-01-15T08:00:00Z"] {
        let asked = task(json!({"deadline": over}));
        let error = desk.plane.create_task(&desk.admin, asked, None).await.unwrap_err();
        assert_eq!(late(error), refused, "{over}");
    }
    let soon = "2027-01-15T08:00:30Z";
    let failed = desk.submit(json!({"deadline": soon})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    runner.report(&desk, &claim, 0, ReportedStatus::Failed).await;
    let kept = desk.submit(json!({"deadline": soon, "dispatch": false})).await;
    let waiting = desk.submit(json!({"deadline": soon})).await;
    // Nobody has looked at the clock yet.
    desk.clock.advance(Duration::from_secs(30));
    assert_eq!(late(desk.plane.retry(&desk.admin, failed.id).await.unwrap_err()), refused);
    assert_eq!(late(desk.plane.dispatch(&desk.admin, kept.id).await.unwrap_err()), refused);
    assert!(runner.claim(&desk, 5).await.is_empty());
    let ended = desk.plane.task(&desk.admin, waiting.id).await.unwrap();
    assert_eq!((ended.state.to_string().as_str(), ended.attempt), ("canceled", 0));
    assert!(ended.result.message.unwrap().contains("deadline"));
    desk.submit(json!({})).await;
    assert_eq!(runner.claim(&desk, 5).await.len(), 1, "it holds nobody's place");
}

pub(crate) async fn a_claim_waits_for_work_and_is_woken_by_it(desk: Desk) {
    let runner = desk.runner("one").await;
    let ask = ClaimAsk { runner: runner.registered.runner, room: 1, wait_ms: 20_000 };
    let waiting = {
        let (plane, caller) = (desk.plane.clone(), runner.caller.clone());
        tokio::spawn(async move { plane.claim(&caller, ask).await.unwrap().claims })
    };
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    let submitted = Instant::now();
    let task = desk.submit(json!({})).await;
    let claims = waiting.await.unwrap();
    assert!(submitted.elapsed() < Duration::from_secs(5), "{:?}", submitted.elapsed());
    assert_eq!(claims[0].task.id, task.id);
    let short = ClaimAsk { wait_ms: 50, ..ask };
    let none = desk.plane.claim(&runner.caller, short).await.unwrap();
    assert!(none.claims.is_empty());
}
