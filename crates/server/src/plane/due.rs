//! Rows of a batch that are not in the store yet: each is written once, however often it changed, and many with one statement.

use std::collections::BTreeMap;

use cofferdam_core::control::id::{ProjectId, RunnerId, TaskId, WorkflowRunId};
use cofferdam_core::control::state::TaskState;
use cofferdam_core::stamp::Stamp;
use sqlx::AnyConnection;

use super::turn::About;
use crate::store::{StoreError, Table, write_rows};

#[derive(Debug, Default)]
pub(super) struct Due {
    tasks: BTreeMap<TaskId, TaskRow>,
    attempts: BTreeMap<(TaskId, u32), AttemptRow>,
    lines: Vec<Line>,
}

#[derive(Debug)]
pub(super) struct TaskRow {
    pub(super) id: TaskId,
    pub(super) project: Option<ProjectId>,
    pub(super) workflow_run: Option<WorkflowRunId>,
    pub(super) state: TaskState,
    pub(super) mode: &'static str,
    /// What can be searched for.
    pub(super) words: String,
    /// In the queue, if that is new.
    pub(super) place: Option<u64>,
    pub(super) not_before: Option<Stamp>,
    /// Whether somebody is to look at what it changed.
    pub(super) review: bool,
    pub(super) doc: String,
}

#[derive(Debug)]
pub(super) struct AttemptRow {
    pub(super) task: TaskId,
    pub(super) number: u32,
    pub(super) runner: RunnerId,
    pub(super) fence: String,
    /// Of the last report.
    pub(super) seq: i64,
    pub(super) state: TaskState,
    pub(super) doc: String,
}

/// An event.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) seq: u64,
    pub(super) about: About,
    pub(super) kind: String,
    pub(super) text: String,
}

const TASKS: Table = Table {
    into: "INSERT INTO tasks (id, project, workflow_run, state, mode, words, place, not_before, review, doc) VALUES",
    row: "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    known: " ON CONFLICT (id) DO UPDATE SET state = excluded.state, not_before = excluded.not_before, \
            review = excluded.review, doc = excluded.doc, \
            place = CASE WHEN excluded.place < 0 THEN tasks.place ELSE excluded.place END",
};
const ATTEMPTS: Table = Table {
    into: "INSERT INTO attempts (task, number, runner, fence, seq, state, doc) VALUES",
    row: "(?, ?, ?, ?, ?, ?, ?)",
    known: " ON CONFLICT (task, number) \
            DO UPDATE SET seq = excluded.seq, state = excluded.state, doc = excluded.doc",
};
const EVENTS: Table = Table {
    into: "INSERT INTO events (seq, project, task, workflow_run, kind, line) VALUES",
    row: "(?, ?, ?, ?, ?, ?)",
    known: "",
};

impl Due {
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.attempts.is_empty() && self.lines.is_empty()
    }

    pub(super) fn task(&mut self, mut row: TaskRow) {
        let before = self.tasks.remove(&row.id).and_then(|before| before.place);
        row.place = row.place.or(before);
        self.tasks.insert(row.id, row);
    }

    pub(super) fn attempt(&mut self, row: AttemptRow) {
        self.attempts.insert((row.task, row.number), row);
    }

    pub(super) fn line(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Writes all of it.
    pub(super) async fn write(&mut self, db: &mut AnyConnection) -> Result<(), StoreError> {
        let Self { tasks, attempts, lines } = std::mem::take(self);
        let tasks: Vec<TaskRow> = tasks.into_values().collect();
        write_rows(db, &TASKS, &tasks, |sql, row| {
            // Kept where there was one; what never waited has this.
            let place = row.place.map_or(-1, |place| i64::try_from(place).unwrap_or(i64::MAX));
            let sql = sql.text(row.id).maybe(row.project).maybe(row.workflow_run).text(row.state);
            let sql = sql.text(row.mode).text(&row.words).number(place).maybe(row.not_before);
            sql.number(i64::from(row.review)).text(&row.doc)
        })
        .await?;
        let attempts: Vec<AttemptRow> = attempts.into_values().collect();
        write_rows(db, &ATTEMPTS, &attempts, |sql, row| {
            let sql = sql.text(row.task).number(row.number).text(row.runner).text(&row.fence);
            sql.number(row.seq).text(row.state).text(&row.doc)
        })
        .await?;
        write_rows(db, &EVENTS, &lines, |sql, line| {
            let About { project, task, workflow_run, .. } = line.about;
            let sql = sql.number(line.seq).maybe(project).maybe(task).maybe(workflow_run);
            sql.text(&line.kind).text(&line.text)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Row as _;

    use super::*;
    use crate::store::{Database, Sql, Store, rows};

    fn task(id: u128, state: TaskState, place: Option<u64>) -> TaskRow {
        TaskRow {
            id: TaskId::from_parts(1, id),
            project: None,
            workflow_run: None,
            state,
            mode: "no-workspace",
            words: "true".to_owned(),
            place,
            not_before: None,
            review: false,
            doc: "{}".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_row_is_written_once_and_keeps_its_place_until_it_gets_another() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(Database::Sqlite(dir.path().join("a.db"))).await.unwrap();
        let (mut db, mut due) = (store.begin().await.unwrap(), Due::default());
        assert!(due.is_empty());
        // More than one statement takes, and one that is written again before that.
        for id in 0..41 {
            due.task(task(id, TaskState::Queued, Some(7)));
        }
        due.task(task(3, TaskState::Claimed, None));
        due.task(task(50, TaskState::Created, None));
        due.write(&mut db).await.unwrap();
        assert!(due.is_empty());
        due.task(task(4, TaskState::Running, None));
        due.task(task(5, TaskState::Queued, Some(9)));
        due.write(&mut db).await.unwrap();
        let sql = Sql::new("SELECT state, place FROM tasks ORDER BY id");
        let all: Vec<(String, i64)> = rows(&mut db, sql)
            .await
            .unwrap()
            .iter()
            .map(|row| (row.try_get(0).unwrap(), row.try_get(1).unwrap()))
            .collect();
        let queued = |place| ("queued".to_owned(), place);
        assert_eq!(all.len(), 42);
        assert_eq!(all[2], queued(7));
        assert_eq!(all[3], ("claimed".to_owned(), 7));
        assert_eq!(all[4], ("running".to_owned(), 7));
        assert_eq!(all[5], queued(9));
        assert_eq!(all[41], ("created".to_owned(), -1));
    }
}
