//! Paths that one task at a time works on, however they are written and whichever project names them.

use cofferdam_core::control::id::ProjectId;
use cofferdam_core::control::project::NewProject;
use cofferdam_core::control::report::ReportedStatus;
use serde_json::{Value, json};

use crate::desk::Desk;

fn shared(project: ProjectId, paths: Value) -> Value {
    json!({"project": project, "execution_mode": "shared-workspace", "paths": paths})
}

pub(crate) async fn one_place_is_locked_by_each_of_its_names(mut desk: Desk) {
    let runner = desk.runner("one").await;
    let project = desk.project("site").await;
    for (one, two) in [
        (json!(["a"]), json!(["./a"])),
        (json!(["."]), json!(["a"])),
        (json!(["a"]), json!(["./."])),
        (json!(["a/b"]), json!(["a//b/"])),
        (json!(["x", "a/./b"]), json!(["a"])),
    ] {
        for paths in [&one, &two] {
            desk.submit(shared(project.id, paths.clone())).await;
        }
        let claim = runner.claim(&desk, 5).await;
        assert_eq!(claim.len(), 1, "{one} and {two}");
        desk.restart().await;
        let holding = claim.iter().map(|claim| (claim.task.id, claim.attempt));
        desk.register_holding(&runner.caller, "one", holding).await;
        assert!(runner.claim(&desk, 5).await.is_empty(), "{one} and {two}, after a restart");
        runner.report(&desk, &claim[0], 0, ReportedStatus::Succeeded).await;
        let claim = runner.claim(&desk, 5).await;
        assert_eq!(claim.len(), 1, "{one} and {two}");
        runner.report(&desk, &claim[0], 0, ReportedStatus::Succeeded).await;
    }
    let made = desk.submit(shared(project.id, json!(["./b//c", "b/c/"]))).await;
    assert_eq!(made.asked.paths, ["b/c"], "it is kept as it is compared");
    let made = desk.submit(shared(project.id, json!(["b", "."]))).await;
    assert!(made.asked.paths.is_empty(), "everything");
}

pub(crate) async fn one_tree_is_locked_for_all_projects_that_have_it(desk: Desk) {
    let runner = desk.runner("one").await;
    let outer = desk.project("outer").await;
    let inner = desk.project("outer/inner").await;
    let again = NewProject {
        name: "again".into(),
        root_path: outer.root_path.clone(),
        allowed_paths: vec![],
        max_running: None,
        default_role: None,
    };
    let again = desk.plane.create_project(&desk.admin, again, None).await.unwrap();
    for (one, two, together) in [
        (shared(outer.id, json!([])), shared(again.id, json!([])), false),
        (shared(outer.id, json!([])), shared(inner.id, json!([])), false),
        (shared(inner.id, json!([])), shared(outer.id, json!(["inner/src"])), false),
        (shared(inner.id, json!(["src"])), shared(outer.id, json!(["src"])), true),
        (shared(again.id, json!(["a"])), shared(outer.id, json!(["b"])), true),
    ] {
        let words = format!("{one} and {two}");
        for task in [one, two] {
            desk.submit(task).await;
        }
        let mut claims = runner.claim(&desk, 5).await;
        assert_eq!(claims.len() == 2, together, "{words}");
        while let Some(claim) = claims.pop() {
            runner.report(&desk, &claim, 0, ReportedStatus::Succeeded).await;
            claims.extend(runner.claim(&desk, 5).await);
        }
    }
    let moved = NewProject {
        name: "inner".into(),
        root_path: desk.project("elsewhere").await.root_path,
        allowed_paths: vec![],
        max_running: None,
        default_role: None,
    };
    desk.plane.replace_project(&desk.admin, inner.id, moved, None).await.unwrap();
    for project in [outer.id, inner.id] {
        desk.submit(shared(project, json!([]))).await;
    }
    assert_eq!(runner.claim(&desk, 5).await.len(), 2, "it is another tree now");
}
