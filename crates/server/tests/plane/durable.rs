//! What was answered is on the disk, and what was written is not changed unseen.

use std::time::Duration;

use cofferdam_server::plane::{Plane, PlaneSettings};
use cofferdam_server::store::{Database, StoreError};
use serde_json::json;
use sqlx::Connection as _;

use crate::desk::Desk;

pub(crate) async fn what_was_acknowledged_is_there_after_a_restart(mut desk: Desk) {
    let (plane, admin) = (desk.plane.clone(), desk.admin.clone());
    let many = (0..100).map(|n| {
        let (plane, admin) = (plane.clone(), admin.clone());
        let asked = crate::desk::task(json!({"title": format!("task {n}")}));
        tokio::spawn(async move { plane.create_task(&admin, asked, None).await.unwrap() })
    });
    let many: Vec<_> = many.collect();
    let mut made = Vec::new();
    for each in many {
        made.push(each.await.unwrap());
    }
    if let Database::Sqlite(path) = desk.database() {
        // What lies on the disk at this moment, without a word to the server: as after a kill.
        let copy = desk.dir().join("copy.db");
        for end in ["", "-wal"] {
            std::fs::copy(format!("{}{end}", path.display()), format!("{}{end}", copy.display()))
                .unwrap();
        }
        let other = Plane::open(Database::Sqlite(copy), PlaneSettings::default()).await.unwrap();
        for task in &made {
            assert_eq!(other.task(&desk.admin, task.id).await.unwrap().id, task.id);
        }
        assert!(other.verify(&desk.admin).await.unwrap().holds);
    }
    desk.restart().await;
    for task in &made {
        assert_eq!(desk.state(task).await, "queued");
    }
    let runner = desk.runner("one").await;
    assert_eq!(runner.claim(&desk, 10).await.len(), 10, "they are still to be run");
    desk.holds().await;
}

pub(crate) async fn a_second_server_is_refused(desk: Desk) {
    let second = Plane::open(desk.database().clone(), PlaneSettings::default()).await;
    assert!(matches!(second, Err(StoreError::InUse { .. })), "{second:?}");
}

/// PostgreSQL notices a moment later that whoever held its lock is gone; the kernel frees that of a file at once.
pub(crate) async fn a_server_that_was_just_killed_is_waited_for(mut desk: Desk) {
    let task = desk.submit(json!({})).await;
    desk.plane.close().await;
    if let Database::Postgres(url) = desk.database().clone() {
        let mut dead = sqlx::PgConnection::connect(&url).await.unwrap();
        let lock = sqlx::query("SELECT pg_advisory_lock($1)").bind(0x636f_6666_6572_i64);
        lock.execute(&mut dead).await.unwrap();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(500)).await;
            dead.close().await.unwrap();
        });
    }
    desk.restart().await;
    assert_eq!(desk.plane.task(&desk.admin, task.id).await.unwrap().id, task.id);
}

pub(crate) async fn a_chain_that_was_touched_does_not_hold(mut desk: Desk) {
    let task = desk.submit(json!({})).await;
    desk.holds().await;
    // The end is cut off: the running server knows where it was.
    let kept = touch(desk.database().clone(), CUT).await;
    assert_eq!(kept, 1);
    let verdict = desk.plane.verify(&desk.admin).await.unwrap();
    assert!(!verdict.holds, "{verdict:?}");
    desk.restart().await;
    desk.submit(json!({})).await;
    let changed = touch(
        desk.database().clone(),
        "UPDATE events SET line = REPLACE(line, 'token:admin', 'token:eve')",
    )
    .await;
    assert!(changed > 0);
    let verdict = desk.plane.verify(&desk.admin).await.unwrap();
    assert!(!verdict.holds && verdict.broken_seq.is_some(), "{verdict:?}");
    assert_eq!(desk.state(&task).await, "queued");
}

/// Lists and timelines find events by columns beside the chained line.
pub(crate) async fn an_event_that_is_hidden_is_found_out(desk: Desk) {
    let task = desk.submit(json!({})).await;
    desk.holds().await;
    for (column, hidden, back) in [
        (
            "task",
            "UPDATE events SET task = '' WHERE kind = 'task.queued'",
            "UPDATE events SET task = (SELECT MAX(task) FROM events) WHERE kind = 'task.queued'",
        ),
        (
            "kind",
            "UPDATE events SET kind = 'task.x' WHERE kind = 'task.queued'",
            "UPDATE events SET kind = 'task.queued' WHERE kind = 'task.x'",
        ),
        (
            "project",
            "UPDATE events SET project = 'x' WHERE kind = 'task.queued'",
            "UPDATE events SET project = '' WHERE project = 'x'",
        ),
        (
            "workflow_run",
            "UPDATE events SET workflow_run = 'x' WHERE kind = 'task.queued'",
            "UPDATE events SET workflow_run = '' WHERE workflow_run = 'x'",
        ),
    ] {
        assert_eq!(touch(desk.database().clone(), hidden).await, 1);
        let verdict = desk.plane.verify(&desk.admin).await.unwrap();
        let said = verdict.broken.unwrap_or_default();
        assert!(!verdict.holds && said.contains(&format!("column {column} ")), "{column}: {said}");
        assert!(verdict.broken_seq.is_some_and(|seq| seq > verdict.events));
        assert_eq!(touch(desk.database().clone(), back).await, 1);
        desk.holds().await;
    }
    assert!(desk.kinds(&task).await.contains(&"task.queued".to_owned()));
}

/// Whoever cuts it while no server runs is found out by what was kept elsewhere, and goes on to be.
pub(crate) async fn a_chain_that_was_cut_before_a_restart_does_not_hold(mut desk: Desk) {
    let head = desk.dir().join("head");
    desk.submit(json!({})).await;
    let reopen = async |desk: &mut Desk| {
        desk.plane.close().await;
        let settings = PlaneSettings { head_file: Some(head.clone()), ..PlaneSettings::default() };
        desk.plane = Plane::open(desk.database().clone(), settings).await.unwrap();
    };
    reopen(&mut desk).await;
    desk.submit(json!({})).await;
    // Kept by itself, without an end that a server comes to in peace.
    let kept = || std::fs::read_to_string(&head).unwrap_or_default();
    for _ in 0..600 {
        if !kept().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(kept().contains("hash"), "{}", kept());
    reopen(&mut desk).await;
    desk.holds().await;
    desk.plane.close().await;
    let before = kept();
    assert_eq!(touch(desk.database().clone(), CUT).await, 1);
    for _ in 0..2 {
        reopen(&mut desk).await;
        let verdict = desk.plane.verify(&desk.admin).await.unwrap();
        assert!(!verdict.holds, "{verdict:?}");
        assert_eq!(kept(), before, "what was kept is evidence");
        // More events do not make up for it.
        desk.submit(json!({})).await;
    }
    // Somebody has looked, and goes on from here.
    desk.plane.close().await;
    std::fs::remove_file(&head).unwrap();
    reopen(&mut desk).await;
    desk.holds().await;
}

const CUT: &str = "DELETE FROM events WHERE seq = (SELECT MAX(seq) FROM events)";

/// Does something to a database that no server of ours does; gives how many rows that were.
pub(crate) async fn touch(database: Database, text: &'static str) -> u64 {
    match database {
        Database::Sqlite(path) => {
            let url = format!("sqlite://{}", path.display());
            let mut db = sqlx::SqliteConnection::connect(&url).await.unwrap();
            sqlx::query(text).execute(&mut db).await.unwrap().rows_affected()
        }
        Database::Postgres(url) => {
            let mut db = sqlx::PgConnection::connect(&url).await.unwrap();
            sqlx::query(text).execute(&mut db).await.unwrap().rows_affected()
        }
    }
}
