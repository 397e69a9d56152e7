//! What a task may mount is decided before anything is taken for it.

use cofferdam_core::control::page::Paging;
use cofferdam_server::plane::{EventFilter, PlaneError};
use serde_json::json;

use crate::desk::{Desk, task};

pub(crate) async fn a_forbidden_mount_is_refused_by_its_rule_and_stands_in_the_timeline(
    desk: Desk,
) {
    let project = desk.project("site").await;
    let root = std::path::Path::new(&project.root_path);
    std::fs::create_dir(root.join("data")).unwrap();
    std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
    let asking = |source: &str| {
        task(json!({
            "project": project.id, "execution_mode": "docker-sandbox", "command": [],
            "sandbox": {"image": "debian:12", "command": ["true"], "mounts": [{"source": source, "target": "/x"}]},
        }))
    };
    desk.plane.create_task(&desk.admin, asking("data"), None).await.unwrap();
    for (source, rule) in [
        ("/etc", "mount-forbidden"),
        ("link", "mount-forbidden"),
        ("/usr/share", "mount-allowed"),
        ("nowhere", "mount-source"),
    ] {
        let error = desk.plane.create_task(&desk.admin, asking(source), None).await.unwrap_err();
        let problem = error.problem();
        assert_eq!((problem.status, problem.rule.as_deref()), (422, Some(rule)), "{source}");
        assert_eq!(problem.field.as_deref(), Some("sandbox.mounts[0].source"));
        assert!(matches!(error, PlaneError::Refused(_)));
    }
    let filter = EventFilter {
        project: Some(project.id),
        kind: Some("sandbox.rejected".into()),
        ..EventFilter::default()
    };
    let events = desk.plane.events(&desk.admin, &filter, &Paging::default()).await.unwrap();
    assert_eq!(events.items.len(), 4);
}

/// What a plan would refuse later, on the runner, is refused before there is a task.
pub(crate) async fn a_place_inside_that_no_plan_gives_is_refused_at_once(desk: Desk) {
    let project = desk.project("site").await;
    std::fs::write(std::path::Path::new(&project.root_path).join("a.txt"), "a").unwrap();
    let block = |key: &str, value: serde_json::Value| {
        let mut asked = json!({
            "project": project.id, "execution_mode": "docker-sandbox", "command": [],
            "sandbox": {"image": "debian:12", "command": ["true"]},
        });
        asked["sandbox"][key] = value;
        asked
    };
    let mount = |target: &str| block("mounts", json!([{"source": "a.txt", "target": target}]));
    let native = json!({
        "project": project.id, "execution_mode": "isolated-worktree",
        "settings": {"sandbox.mounts": ["a.txt:/proc"]},
    });
    let all = [
        (block("workdir", json!("../../etc")), "value-form", "sandbox.workdir"),
        (block("workdir", json!("..")), "value-form", "sandbox.workdir"),
        (mount("/proc"), "mount-target", "sandbox.mounts[0].target"),
        (mount("/workspace"), "mount-target", "sandbox.mounts[0].target"),
        (mount("/etc"), "mount-target", "sandbox.mounts[0].target"),
        (native, "mount-target", "settings.sandbox.mounts[0].target"),
    ];
    for (asked, rule, field) in &all {
        let made = desk.plane.create_task(&desk.admin, task(asked.clone()), None).await;
        let problem = made.unwrap_err().problem();
        assert_eq!((problem.status, problem.rule.as_deref()), (422, Some(*rule)), "{asked}");
        assert_eq!(problem.field.as_deref(), Some(*field));
    }
    let filter = EventFilter {
        project: Some(project.id),
        kind: Some("sandbox.rejected".into()),
        ..EventFilter::default()
    };
    let events = desk.plane.events(&desk.admin, &filter, &Paging::default()).await.unwrap();
    assert_eq!(events.items.len(), all.len());
    desk.plane.create_task(&desk.admin, task(mount("/data")), None).await.unwrap();
}

pub(crate) async fn what_is_refused_at_dispatch_stands_in_the_timeline_of_its_task(desk: Desk) {
    let project = desk.project("site").await;
    let data = std::path::Path::new(&project.root_path).join("data");
    std::fs::create_dir(&data).unwrap();
    let more = json!({
        "project": project.id, "dispatch": false, "settings": {"sandbox.mounts": ["data:/x"]},
    });
    let task = desk.submit(more).await;
    std::fs::remove_dir(&data).unwrap();
    std::os::unix::fs::symlink("/etc", &data).unwrap();
    let refused = desk.plane.dispatch(&desk.admin, task.id).await.unwrap_err();
    assert_eq!(refused.problem().rule.as_deref(), Some("mount-forbidden"));
    assert_eq!(desk.kinds(&task).await, ["task.created", "sandbox.rejected"]);
    assert_eq!(desk.state(&task).await, "created");
}
