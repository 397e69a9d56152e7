//! A task on its way from the request to its end.

use std::time::Duration;

use cofferdam_core::control::page::Paging;
use cofferdam_core::control::report::{ReportedStatus, Taken};
use serde_json::json;

use crate::desk::Desk;

pub(crate) async fn a_task_goes_from_the_request_to_its_end_and_the_chain_holds(mut desk: Desk) {
    let runner = desk.runner("one").await;
    let task = desk.submit(json!({"title": "first"})).await;
    assert_eq!(task.state.to_string(), "queued");
    let claims = runner.claim(&desk, 5).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].task.id, task.id);
    assert_eq!(runner.claim(&desk, 5).await.len(), 0, "it is taken");
    desk.restart().await;
    assert_eq!(desk.state(&task).await, "claimed", "a restart loses nothing");
    for (seq, status, taken) in [
        (0, ReportedStatus::Running, Taken::Accepted),
        (0, ReportedStatus::Running, Taken::Repeated),
        (1, ReportedStatus::Succeeded, Taken::Accepted),
        (1, ReportedStatus::Succeeded, Taken::Repeated),
        (2, ReportedStatus::Failed, Taken::Stale),
    ] {
        let answer = runner.report(&desk, &claims[0], seq, status).await;
        assert_eq!(answer.taken, taken, "{seq} {status:?}");
    }
    assert_eq!(desk.state(&task).await, "succeeded");
    let kinds = desk.kinds(&task).await;
    assert_eq!(
        kinds,
        [
            "task.created",
            "task.queued",
            "task.claimed",
            "task.running",
            "runner.report_repeated",
            "task.succeeded",
            "runner.report_repeated",
            "runner.report_refused"
        ]
    );
    let verdict = desk.plane.verify(&desk.admin).await.unwrap();
    assert!(verdict.holds && verdict.events >= 8, "{verdict:?}");
}

pub(crate) async fn failures_are_tried_again_by_their_cause_and_after_a_wait(mut desk: Desk) {
    let runner = desk.runner("one").await;
    let retry = json!({"max_attempts": 3, "on": ["timed_out"], "backoff_ms": 10_000});
    let task = desk.submit(json!({"retry": retry})).await;
    for (attempt, wait) in [(1, 10), (2, 20)] {
        let claim = runner.claim(&desk, 1).await.remove(0);
        assert_eq!(claim.attempt, attempt);
        runner.report(&desk, &claim, 0, ReportedStatus::Running).await;
        runner.report(&desk, &claim, 1, ReportedStatus::TimedOut).await;
        assert_eq!(desk.state(&task).await, "queued");
        desk.pass(Duration::from_secs(wait - 1)).await;
        assert!(runner.claim(&desk, 1).await.is_empty(), "it waits");
        desk.restart().await;
        desk.register(&runner.caller, "one").await;
        assert!(runner.claim(&desk, 1).await.is_empty(), "it still waits after a restart");
        desk.pass(Duration::from_secs(1)).await;
    }
    let claim = runner.claim(&desk, 1).await.remove(0);
    runner.report(&desk, &claim, 0, ReportedStatus::TimedOut).await;
    assert_eq!(desk.state(&task).await, "timed_out", "three are enough");
    let attempts =
        desk.plane.attempts(&desk.admin, task.id, &Paging::default()).await.unwrap().items;
    assert_eq!(attempts.len(), 3);
    desk.plane.retry(&desk.admin, task.id).await.unwrap();
    assert_eq!(runner.claim(&desk, 1).await.len(), 1, "unless a person asks");
    let other = desk.submit(json!({"retry": {"max_attempts": 3, "on": ["timed_out"]}})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    runner.report(&desk, &claim, 0, ReportedStatus::Failed).await;
    assert_eq!(desk.state(&other).await, "failed", "that is not one of its causes");
}
