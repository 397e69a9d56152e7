//! Somebody asks for the end of a task.

use std::time::{Duration, Instant};

use cofferdam_core::control::report::{Heartbeat, Held, ReportedStatus, Taken};
use cofferdam_core::control::task::Task;
use serde_json::json;

use crate::desk::Desk;

pub(crate) async fn what_nobody_holds_is_canceled_at_once(desk: Desk) {
    let runner = desk.runner("one").await;
    let waiting = desk.submit(json!({})).await;
    let created = desk.submit(json!({"dispatch": false})).await;
    for task in [&waiting, &created] {
        let answer = desk.plane.cancel(&desk.admin, task.id).await.unwrap();
        assert_eq!(answer.state.to_string(), "canceled");
        desk.plane.cancel(&desk.admin, task.id).await.unwrap();
    }
    assert!(runner.claim(&desk, 5).await.is_empty());
}

pub(crate) async fn what_runs_is_canceled_when_its_runner_says_so(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = desk.submit(json!({"retry": {"max_attempts": 3, "on": ["failed", "lost"]}})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    runner.report(&desk, &claim, 0, ReportedStatus::Running).await;
    let beat = Heartbeat {
        runner: runner.registered.runner,
        holding: vec![Held { task: task.id, attempt: 1 }],
        draining: false,
        leaving: false,
        wait_ms: 10_000,
    };
    // The runner listens, and is told within the second.
    let listening = {
        let (plane, caller) = (desk.plane.clone(), runner.caller.clone());
        tokio::spawn(async move { plane.heartbeat(&caller, beat).await.unwrap() })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    let asked = Instant::now();
    let answer = desk.plane.cancel(&desk.admin, task.id).await.unwrap();
    assert_eq!(answer.state.to_string(), "cancel_requested");
    let told = listening.await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    assert_eq!(told.cancel, [Held { task: task.id, attempt: 1 }]);
    let progress = runner.report(&desk, &claim, 1, ReportedStatus::Running).await;
    assert!(progress.cancel && progress.taken == Taken::Accepted);
    assert_eq!(desk.state(&task).await, "cancel_requested");
    runner.report(&desk, &claim, 2, ReportedStatus::Canceled).await;
    assert_eq!(desk.state(&task).await, "canceled");
    // A task that was to be canceled and failed first is not tried again.
    let task = desk.submit(json!({"retry": {"max_attempts": 3, "on": ["failed"]}})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    desk.plane.cancel(&desk.admin, task.id).await.unwrap();
    runner.report(&desk, &claim, 0, ReportedStatus::Failed).await;
    assert_eq!(desk.state(&task).await, "failed");
}

/// It is told at once, and then with every beat, in the beat's own time: what is to be stopped may take long.
pub(crate) async fn a_cancel_that_was_told_is_told_again_without_haste(desk: Desk) {
    let runner = desk.runner("one").await;
    let (first, second) = (desk.submit(json!({})).await, desk.submit(json!({})).await);
    let claims = runner.claim(&desk, 2).await;
    for claim in &claims {
        runner.report(&desk, claim, 0, ReportedStatus::Running).await;
    }
    let held = |task: &Task| Held { task: task.id, attempt: 1 };
    let beat = async |wait_ms: u64| {
        let beat = Heartbeat {
            runner: runner.registered.runner,
            holding: vec![held(&first), held(&second)],
            draining: false,
            leaving: false,
            wait_ms,
        };
        let asked = Instant::now();
        let told = desk.plane.heartbeat(&runner.caller, beat).await.unwrap();
        (told.cancel, asked.elapsed())
    };
    desk.plane.cancel(&desk.admin, first.id).await.unwrap();
    let (told, took) = beat(5000).await;
    assert_eq!(told, [held(&first)]);
    assert!(took < Duration::from_secs(1), "{took:?}");
    let (told, took) = beat(400).await;
    assert_eq!(told, [held(&first)], "an answer may be lost");
    assert!(took >= Duration::from_millis(400), "{took:?}");
    desk.plane.cancel(&desk.admin, second.id).await.unwrap();
    let (told, took) = beat(5000).await;
    assert_eq!(told, [held(&first), held(&second)]);
    assert!(took < Duration::from_secs(1), "{took:?}");
    // Another life of the runner was told nothing yet.
    let holding = [(first.id, 1), (second.id, 1)];
    desk.register_holding(&runner.caller, "one", holding).await;
    let (told, took) = beat(5000).await;
    assert_eq!(told.len(), 2);
    assert!(took < Duration::from_secs(1), "{took:?}");
}

pub(crate) async fn an_illegal_move_is_refused_and_stands_in_the_timeline(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = desk.submit(json!({})).await;
    let again = desk.plane.dispatch(&desk.admin, task.id).await.unwrap_err().problem();
    assert_eq!(
        (again.status, again.kind.as_str()),
        (409, "urn:cofferdam:problem:illegal-transition")
    );
    let claim = runner.claim(&desk, 1).await.remove(0);
    runner.report(&desk, &claim, 0, ReportedStatus::Succeeded).await;
    for refused in [
        desk.plane.retry(&desk.admin, task.id).await,
        desk.plane.cancel(&desk.admin, task.id).await,
    ] {
        assert_eq!(refused.unwrap_err().problem().status, 409);
    }
    assert_eq!(desk.state(&task).await, "succeeded");
    let kinds = desk.kinds(&task).await;
    let refused = kinds.iter().filter(|kind| *kind == "task.transition_refused").count();
    assert_eq!(refused, 3, "{kinds:?}");
}
