//! The same thing asked twice, and things that were changed meanwhile.

use cofferdam_core::control::page::Paging;
use cofferdam_core::control::project::NewProject;
use cofferdam_core::control::token::Scope;
use cofferdam_server::plane::{IdempotencyKey, TaskFilter};
use serde_json::json;

use crate::desk::{Desk, task};

pub(crate) async fn the_same_request_twice_makes_one_task(mut desk: Desk) {
    let key = |text: &str| Some(IdempotencyKey::new(text).unwrap());
    let plane = desk.plane.clone();
    let first =
        plane.create_task(&desk.admin, task(json!({"title": "a"})), key("k1")).await.unwrap();
    desk.restart().await;
    let plane = desk.plane.clone();
    let again =
        plane.create_task(&desk.admin, task(json!({"title": "a"})), key("k1")).await.unwrap();
    assert_eq!(first.id, again.id);
    let other = plane.create_task(&desk.admin, task(json!({"title": "b"})), key("k1")).await;
    assert_eq!(other.unwrap_err().problem().status, 422);
    let somebody = desk.caller("somebody", &[Scope::Submit]).await;
    let theirs =
        plane.create_task(&somebody, task(json!({"title": "b"})), key("k1")).await.unwrap();
    assert_ne!(theirs.id, first.id, "a key is one's own");
    let all = plane.tasks(&desk.admin, &TaskFilter::default(), &Paging::default()).await.unwrap();
    assert_eq!(all.items.len(), 2);
    for bad in ["", "a b", "\u{e9}"] {
        assert!(IdempotencyKey::new(bad).is_err(), "{bad:?}");
    }
}

pub(crate) async fn a_version_that_is_not_the_latest_is_refused(desk: Desk) {
    let project = desk.project("site").await;
    let asked = |most| NewProject {
        name: "site".into(),
        root_path: project.root_path.clone(),
        allowed_paths: vec![],
        max_running: Some(most),
        default_role: None,
    };
    let replaced = desk.plane.replace_project(&desk.admin, project.id, asked(2), Some(1)).await;
    assert_eq!(replaced.unwrap().version, 2);
    let stale = desk.plane.replace_project(&desk.admin, project.id, asked(3), Some(1)).await;
    assert_eq!(stale.unwrap_err().problem().status, 412);
    let taken = desk.plane.create_project(&desk.admin, asked(1), None).await;
    assert_eq!(taken.unwrap_err().problem().status, 409, "the name is taken");
    let busy = desk.submit(json!({"project": project.id})).await;
    let removed = desk.plane.remove_project(&desk.admin, project.id, Some(2)).await;
    assert_eq!(removed.unwrap_err().problem().status, 409, "a task is not over");
    desk.plane.cancel(&desk.admin, busy.id).await.unwrap();
    desk.plane.remove_project(&desk.admin, project.id, Some(2)).await.unwrap();
    let gone = desk.plane.project(&desk.admin, project.id).await.unwrap_err();
    assert_eq!(gone.problem().status, 404);
}
