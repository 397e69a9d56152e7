//! A runner that is silent loses what it holds.

use std::time::Duration;

use cofferdam_core::control::report::{Heartbeat, Held, ReportedStatus, Taken};
use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn what_a_silent_runner_held_is_lost_and_its_late_word_changes_nothing() {
    let desk = Desk::new().await;
    let (gone, there) = (desk.runner("gone").await, desk.runner("there").await);
    let retry = json!({"max_attempts": 2, "on": ["lost"]});
    let task = desk.submit(json!({"retry": retry})).await;
    let first = gone.claim(&desk, 1).await.remove(0);
    gone.report(&desk, &first, 0, ReportedStatus::Running).await;
    desk.clock.advance(Duration::from_secs(31));
    desk.plane.tick().await.unwrap();
    assert_eq!(desk.state(&task).await, "queued");
    let second = there.claim(&desk, 1).await.remove(0);
    assert_eq!(second.attempt, 2);
    let late = gone.report(&desk, &first, 1, ReportedStatus::Succeeded).await;
    assert_eq!(late.taken, Taken::Stale);
    // Another runner's token with the right fence is still another runner.
    let forged = gone.report(&desk, &second, 0, ReportedStatus::Succeeded).await;
    assert_eq!(forged.taken, Taken::Stale);
    assert_eq!(desk.state(&task).await, "claimed");
    let beat = Heartbeat {
        runner: gone.registered.runner,
        holding: vec![Held { task: task.id, attempt: 1 }],
        draining: false,
        wait_ms: 0,
    };
    let answer = desk.plane.heartbeat(&gone.caller, beat.clone()).await.unwrap();
    assert_eq!(answer.drop, beat.holding);
    there.report(&desk, &second, 0, ReportedStatus::Succeeded).await;
    assert_eq!(desk.state(&task).await, "succeeded");
    let refused = desk.kinds(&task).await.iter().filter(|k| *k == "runner.report_refused").count();
    assert_eq!(refused, 2);
}
