//! A task on its way from the request to its end.

use cofferdam_core::control::report::{ReportedStatus, Taken};
use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn a_task_goes_from_the_request_to_its_end_and_the_chain_holds() {
    let mut desk = Desk::new().await;
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
            "task.succeeded",
            "runner.report_refused"
        ]
    );
    let verdict = desk.plane.verify(&desk.admin).await.unwrap();
    assert!(verdict.holds && verdict.events >= 8, "{verdict:?}");
}
