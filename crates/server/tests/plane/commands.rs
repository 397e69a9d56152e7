//! Rules for commands hold before anything is taken for a task: what is denied is not made, what needs a look waits.

use cofferdam_core::control::page::Paging;
use cofferdam_core::control::task::Task;
use cofferdam_server::plane::EventFilter;
use serde_json::{Value, json};

use crate::approvals::{asked, words};
use crate::desk::{Desk, task};

const RULES: &str =
    "policy: {commands: {builtin: true, review: [git push *], deny: [npm publish *]}}\n";
const LAX: &str = "sandbox: {}\n";

async fn refused(desk: &Desk, more: Value) -> cofferdam_core::control::problem::Problem {
    let asked = desk.plane.create_task(&desk.admin, task(more), None).await;
    asked.unwrap_err().problem()
}

async fn rejections(desk: &Desk, of: Option<&Task>) -> usize {
    let kind = Some("sandbox.rejected".into());
    let filter = EventFilter { task: of.map(|task| task.id), kind, ..EventFilter::default() };
    desk.plane.events(&desk.admin, &filter, &Paging::default()).await.unwrap().items.len()
}

pub(crate) async fn a_denied_command_is_refused_when_it_is_asked_for(mut desk: Desk) {
    desk.restart_under(RULES).await;
    let project = desk.project("site").await;
    let block = |command: Value| {
        json!({
            "project": project.id, "execution_mode": "docker-sandbox", "command": [],
            "sandbox": {"image": "debian:12", "command": command},
        })
    };
    for (more, field) in [
        (json!({"command": ["npm", "publish", "--tag", "x"]}), "command"),
        (json!({"command": ["sh", "-c", "true && curl x | sh"]}), "command"),
        (json!({"command": ["npm", "publish", "x"], "requires_approval": true}), "command"),
        (json!({"command": ["npm", "publish", "x"], "dispatch": false}), "command"),
        (block(json!(["env", "A=b", "npm", "publish", "x"])), "sandbox.command"),
    ] {
        let problem = refused(&desk, more).await;
        let found = (problem.status, problem.rule.as_deref(), problem.field.as_deref());
        assert_eq!(found, (422, Some("command-allowed"), Some(field)), "{problem:?}");
    }
    assert_eq!(rejections(&desk, None).await, 5);
    // What only speaks of it is no such command.
    desk.submit(json!({"command": ["sh", "-c", "echo 'npm publish x'"]})).await;
    desk.submit(block(json!(["npm", "test"]))).await;
    let runner = desk.runner("one").await;
    assert_eq!(runner.claim(&desk, 9).await.len(), 2);
    desk.holds().await;
}

pub(crate) async fn a_command_that_needs_a_look_waits_for_a_yes(mut desk: Desk) {
    desk.restart_under(RULES).await;
    let runner = desk.runner("one").await;
    let more = json!({"command": ["sh", "-c", "git push origin"]});
    let waiting = desk.submit(more.clone()).await;
    assert_eq!(desk.state(&waiting).await, "awaiting_approval");
    assert!(runner.claim(&desk, 9).await.is_empty(), "nobody has looked");
    let approval = asked(&desk, &waiting).await;
    assert!(approval.question.contains("policy.commands.review: git push *"), "{approval:?}");
    desk.plane.approve(&desk.admin, approval.id, words("fine")).await.unwrap();
    let claims = runner.claim(&desk, 9).await;
    assert_eq!(claims.len(), 1);
    // So that the runner does not ask for a look of its own.
    assert_eq!(claims[0].approval, Some(approval.id));

    let plain = desk.submit(json!({})).await;
    assert_eq!(desk.state(&plain).await, "queued");
    assert_eq!(runner.claim(&desk, 9).await[0].approval, None);

    let unwanted = desk.submit(more.clone()).await;
    let approval = asked(&desk, &unwanted).await;
    desk.plane.reject(&desk.admin, approval.id, words("no")).await.unwrap();
    assert_eq!(desk.state(&unwanted).await, "canceled");

    let canceled = desk.submit(more).await;
    let approval = asked(&desk, &canceled).await;
    desk.plane.cancel(&desk.admin, canceled.id).await.unwrap();
    let late = desk.plane.approve(&desk.admin, approval.id, words("yes")).await.unwrap_err();
    assert_eq!(late.problem().status, 409);
    desk.holds().await;
}

pub(crate) async fn rules_that_came_later_hold_at_dispatch_and_at_the_claim(mut desk: Desk) {
    desk.restart_under(LAX).await;
    let publish = json!({"command": ["npm", "publish", "x"]});
    let kept = desk
        .submit(json!({"command": ["npm", "publish", "x"], "dispatch": false, "title": "kept"}))
        .await;
    let queued = desk.submit(publish).await;
    let pushing = desk.submit(json!({"command": ["git", "push", "x"]})).await;
    desk.restart_under(RULES).await;
    let problem = desk.plane.dispatch(&desk.admin, kept.id).await.unwrap_err().problem();
    assert_eq!((problem.status, problem.rule.as_deref()), (422, Some("command-allowed")));
    assert_eq!((desk.state(&kept).await.as_str(), rejections(&desk, None).await), ("created", 1));
    let runner = desk.runner("one").await;
    assert!(runner.claim(&desk, 9).await.is_empty(), "neither is given to a runner");
    let failed = desk.plane.task(&desk.admin, queued.id).await.unwrap();
    assert_eq!((failed.state.to_string().as_str(), failed.attempt), ("failed", 0));
    assert_eq!(failed.result.outcome.as_deref(), Some("refused"));
    assert_eq!(rejections(&desk, Some(&queued)).await, 1);
    assert_eq!(desk.state(&pushing).await, "awaiting_approval");
    desk.restart_under(LAX).await;
    desk.plane.dispatch(&desk.admin, kept.id).await.unwrap();
    assert_eq!(desk.runner("two").await.claim(&desk, 9).await.len(), 1);
    desk.holds().await;
}
