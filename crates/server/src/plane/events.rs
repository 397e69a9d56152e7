//! The timeline, page by page.

use cofferdam_core::chain::{Entry, Known, Verifier};
use cofferdam_core::control::audit::ChainVerdict;
use cofferdam_core::control::id::{ProjectId, TaskId, WorkflowRunId};
use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::timeline::TimelineEvent;
use cofferdam_core::control::token::Scope;
use cofferdam_core::record::Anchor;
use serde_json::Value;
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::caller::Caller;
use super::error::PlaneError;
use super::{Plane, rows};
use crate::store::{Sql, StoreError, rows as read_rows};

#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub workflow_run: Option<WorkflowRunId>,
    /// The whole type, or its beginning up to a dot: `sandbox.`.
    pub kind: Option<String>,
    /// Only what came later than this one.
    pub after: u64,
}

impl Plane {
    /// The oldest first. `next` is the number to go on after.
    pub async fn events(
        &self,
        caller: &Caller,
        filter: &EventFilter,
        paging: &Paging,
    ) -> Result<Page<TimelineEvent>, PlaneError> {
        caller.reads()?;
        let mut after = filter.after;
        if let Some(text) = &paging.after {
            after = text.parse().map_err(|_| {
                PlaneError::field("after", "it is not the number of an event", "leave it out")
            })?;
        }
        let limit = rows::limit(paging)?;
        let sql = question(caller, filter, after, limit);
        let mut db = self.inner.store.reader().await?;
        let lines = read_rows(&mut db, sql).await?;
        let events: Result<Vec<TimelineEvent>, StoreError> = lines
            .iter()
            .map(|row| {
                let line: String =
                    row.try_get(0).map_err(|source| StoreError::Query { what: "read", source })?;
                serde_json::from_str(&line)
                    .map_err(|source| StoreError::Row { table: "events", source })
            })
            .collect();
        Ok(rows::page(events?, paging, |event| event.seq.to_string()))
    }

    /// Walks the whole chain, and looks whether each event is found by what it says.
    pub async fn verify(&self, caller: &Caller) -> Result<ChainVerdict, PlaneError> {
        caller.needs(Scope::Review)?;
        // What is being written now comes after the newest that is known to be durable.
        let newest = *self.inner.bells.seq.borrow();
        let mut known: Vec<Known> = self.inner.kept_head.known().into_iter().collect();
        let mut db = self.inner.store.reader().await?;
        if newest > 0 {
            let anchor = Anchor { seq: newest, hash: self.head_of(newest).await? };
            known.push(Known { anchor, from: "the running server".to_owned() });
        }
        let mut verifier = Verifier::new(known);
        let (mut seen, mut head) = (0_u64, cofferdam_core::chain::GENESIS.to_owned());
        let broken = loop {
            let sql = Sql::new(
                "SELECT line, seq, project, task, workflow_run, kind FROM events \
                 WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT 1000",
            );
            let lines = read_rows(&mut db, sql.number(seen).number(newest)).await?;
            if lines.is_empty() {
                break verifier.finish().err().map(|broken| (broken.seq, broken.to_string()));
            }
            let mut bad = None;
            for row in &lines {
                let line: String =
                    row.try_get(0).map_err(|source| StoreError::Query { what: "read", source })?;
                let entry = match verifier.feed_as::<Value>(&line) {
                    Ok(entry) => entry,
                    Err(broken) => {
                        bad = Some((broken.seq, broken.to_string()));
                        break;
                    }
                };
                if let Some(column) = misfiled(row, &entry)? {
                    let what = format!(
                        "record {} is not found by what it says: its column {column} was changed",
                        entry.seq
                    );
                    bad = Some((entry.seq, what));
                    break;
                }
                (seen, head) = (entry.seq, entry.hash);
            }
            if bad.is_some() {
                break bad;
            }
        };
        Ok(ChainVerdict {
            holds: broken.is_none(),
            events: seen,
            head,
            broken_seq: broken.as_ref().map(|(seq, _)| *seq),
            broken: broken.map(|(_, what)| what),
        })
    }

    /// The hash that the writer knows of its newest event: not read from the store, which is what is looked at.
    async fn head_of(&self, newest: u64) -> Result<String, PlaneError> {
        let head = self.write(|turn| Box::pin(async move { Ok(turn.memory.head.clone()) })).await?;
        if head.seq == newest {
            return Ok(head.hash);
        }
        // There is a newer one; its `prev` leads to the one that was asked for only through the store.
        let mut db = self.inner.store.reader().await?;
        let sql = Sql::new("SELECT line FROM events WHERE seq = $1").number(newest);
        let row = crate::store::first(&mut db, sql).await?;
        let line: Option<String> = row.and_then(|row| row.try_get(0).ok());
        let event: Option<TimelineEvent> = line.and_then(|line| serde_json::from_str(&line).ok());
        Ok(event.map(|event| event.hash).unwrap_or_default())
    }
}

/// The column that is not as the line says. Lists and timelines find events by their columns, which no hash covers.
fn misfiled(row: &AnyRow, entry: &Entry<Value>) -> Result<Option<&'static str>, StoreError> {
    let read = |source| StoreError::Query { what: "read", source };
    let seq: i64 = row.try_get("seq").map_err(read)?;
    if u64::try_from(seq) != Ok(entry.seq) {
        return Ok(Some("seq"));
    }
    for (column, key) in [
        ("project", "project"),
        ("task", "task"),
        ("workflow_run", "workflow_run"),
        ("kind", "type"),
    ] {
        let filed: String = row.try_get(column).map_err(read)?;
        if filed != entry.event[key].as_str().unwrap_or_default() {
            return Ok(Some(column));
        }
    }
    Ok(None)
}

fn question(caller: &Caller, filter: &EventFilter, after: u64, limit: u32) -> Sql {
    let sql = Sql::new("SELECT line FROM events WHERE seq > $1").number(after);
    let mut sql = rows::visible(sql, caller);
    // Each index is over what is not empty, and SQLite uses it only where that is said.
    if let Some(project) = filter.project {
        sql = sql.and(" AND project = ? AND project <> ''").text(project);
    }
    if let Some(task) = filter.task {
        sql = sql.and(" AND task = ? AND task <> ''").text(task);
    }
    if let Some(workflow_run) = filter.workflow_run {
        sql = sql.and(" AND workflow_run = ? AND workflow_run <> ''").text(workflow_run);
    }
    match &filter.kind {
        // In the order of their numbers: those of a family are many, and would have to be sorted.
        Some(kind) if kind.ends_with('.') => {
            let plain = kind.replace('!', "!!").replace('%', "!%").replace('_', "!_");
            sql = sql.and(" AND kind LIKE ? ESCAPE '!'").text(format!("{plain}%"));
        }
        Some(kind) => sql = sql.and(" AND kind = ?").text(kind),
        None => {}
    }
    sql.and(" ORDER BY seq LIMIT ?").number(limit + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Database, Store};

    #[tokio::test]
    async fn what_is_asked_about_one_thing_is_found_by_an_index() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(Database::Sqlite(dir.path().join("a.db"))).await.unwrap();
        let mut db = store.reader().await.unwrap();
        let caller = Caller {
            actor: "token:a".into(),
            token: cofferdam_core::control::id::TokenId::from_parts(1, 1),
            scopes: vec![Scope::Admin],
            projects: None,
        };
        let (task, project) = (TaskId::from_parts(1, 1), ProjectId::from_parts(1, 1));
        let run = WorkflowRunId::from_parts(1, 1);
        let none = EventFilter::default;
        let events = |filter: EventFilter| question(&caller, &filter, 0, 50);
        for (asked, index) in [
            (events(EventFilter { task: Some(task), ..none() }), "events_task"),
            (events(EventFilter { project: Some(project), ..none() }), "events_project"),
            (events(EventFilter { workflow_run: Some(run), ..none() }), "events_workflow"),
            (super::super::workflows::tasks_in(run), "tasks_workflow"),
        ] {
            let plan = crate::store::rows(&mut db, asked.explained()).await.unwrap();
            let words: Vec<String> =
                plan.iter().map(|row| row.try_get("detail").unwrap()).collect();
            let found = words.iter().any(|line| line.contains(&format!("USING INDEX {index} (")));
            assert!(found, "{index}: {words:?}");
        }
    }
}
