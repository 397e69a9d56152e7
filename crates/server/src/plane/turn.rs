//! One batch of commands: they share a transaction, and nobody is answered before it is on the disk.

use std::sync::Arc;
use std::time::Duration;

use cofferdam_core::chain;
use cofferdam_core::control::id::{ProjectId, TaskId, WorkflowRunId};
use cofferdam_core::control::spent::Spent;
use cofferdam_core::control::task::Task;
use cofferdam_core::stamp::Stamp;
use serde_json::{Map, Value};
use sqlx::{Any, AnyConnection, Transaction};

use super::due::{AttemptRow, Due, Line, TaskRow};
use super::error::PlaneError;
use super::memory::Memory;
use super::settings::PlaneSettings;
use crate::store::{Store, StoreError};

pub(crate) struct Turn {
    store: Arc<Store>,
    transaction: Option<Transaction<'static, Any>>,
    pub(crate) memory: Memory,
    pub(crate) settings: Arc<PlaneSettings>,
    pub(crate) now: Stamp,
    pub(crate) elapsed: Duration,
    /// Kinds of the events of this batch, for the counters.
    pub(crate) told: Vec<(String, Option<String>)>,
    /// By attempts that ended.
    pub(crate) spent: Vec<Spent>,
    /// What is written when the batch is committed, or before somebody reads.
    due: Due,
    /// Of the host's settings.
    pub(super) host: String,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("now", &self.now).finish_non_exhaustive()
    }
}

/// What an event is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    pub(crate) project: Option<ProjectId>,
    pub(crate) task: Option<TaskId>,
    pub(crate) workflow_run: Option<WorkflowRunId>,
    pub(crate) attempt: Option<u32>,
}

impl About {
    pub(crate) fn project(project: ProjectId) -> Self {
        Self { project: Some(project), ..Self::default() }
    }

    pub(crate) fn task(task: &Task) -> Self {
        Self {
            project: task.asked.project,
            task: Some(task.id),
            workflow_run: task.workflow_run,
            attempt: (task.attempt > 0).then_some(task.attempt),
        }
    }
}

impl Turn {
    pub(super) async fn new(
        store: Arc<Store>,
        settings: Arc<PlaneSettings>,
    ) -> Result<Self, StoreError> {
        let mut db = store.reader().await?;
        let memory = Memory::load(&mut db, &settings).await?;
        drop(db);
        let (now, elapsed) = (settings.clock.now(), settings.clock.elapsed());
        let host = blake3::hash(format!("{:?}", settings.host).as_bytes()).to_hex().to_string();
        Ok(Self {
            store,
            transaction: None,
            memory,
            settings,
            now,
            elapsed,
            told: Vec::new(),
            spent: Vec::new(),
            due: Due::default(),
            host,
        })
    }

    pub(super) fn begin(&mut self) {
        self.now = self.settings.clock.now();
        self.elapsed = self.settings.clock.elapsed();
        self.told.clear();
        self.spent.clear();
        self.due = Due::default();
    }

    /// The connection, in the batch's transaction, with everything in the store that was written down so far.
    pub(crate) async fn db(&mut self) -> Result<&mut AnyConnection, PlaneError> {
        let transaction = match &mut self.transaction {
            Some(transaction) => transaction,
            none => none.insert(self.store.begin().await?),
        };
        self.due.write(transaction).await?;
        Ok(&mut **transaction)
    }

    pub(super) async fn commit(&mut self) -> Result<(), PlaneError> {
        if self.transaction.is_none() && self.due.is_empty() {
            return Ok(());
        }
        self.db().await?;
        let Some(mut transaction) = self.transaction.take() else { return Ok(()) };
        self.memory.tally.keep(&mut transaction).await?;
        let failed = |source| StoreError::Query { what: "commit", source };
        Ok(transaction.commit().await.map_err(failed)?)
    }

    /// Forgets the batch, and learns from the store what is true.
    pub(super) async fn take_back(&mut self) -> Result<(), StoreError> {
        // Dropped and not rolled back by word: the connection may be the very thing that failed.
        self.transaction = None;
        let mut db = self.store.reader().await?;
        let runners = std::mem::take(&mut self.memory.runners);
        self.memory = Memory::load(&mut db, &self.settings).await?;
        for (id, present) in runners {
            if let Some(known) = self.memory.runners.get_mut(&id) {
                known.heard = present.heard;
            }
        }
        Ok(())
    }

    /// The row of a task, for the first time or anew.
    pub(super) fn write_task(&mut self, row: TaskRow) {
        self.due.task(row);
    }

    /// The row of an attempt, for the first time or anew.
    pub(super) fn write_attempt(&mut self, row: AttemptRow) {
        self.due.attempt(row);
    }

    /// Adds an event behind the last.
    pub(crate) async fn tell(
        &mut self,
        about: &About,
        actor: &str,
        kind: &str,
        data: Value,
    ) -> Result<u64, PlaneError> {
        let text = |value: Option<String>| value.map_or(Value::Null, Value::String);
        let mut event = Map::new();
        event.insert("ts".to_owned(), Value::String(self.now.to_string()));
        event.insert("project".to_owned(), text(about.project.map(|id| id.to_string())));
        event.insert("task".to_owned(), text(about.task.map(|id| id.to_string())));
        event.insert("workflow_run".to_owned(), text(about.workflow_run.map(|id| id.to_string())));
        event.insert("attempt".to_owned(), about.attempt.map_or(Value::Null, Value::from));
        event.insert("actor".to_owned(), Value::String(actor.to_owned()));
        event.insert("type".to_owned(), Value::String(kind.to_owned()));
        let rule = data.get("rule").and_then(Value::as_str).map(str::to_owned);
        event.insert("data".to_owned(), data);
        let (line, head) = chain::link(&self.memory.head, &event);
        let text = line.trim_end().to_owned();
        self.due.line(Line { seq: head.seq, about: about.clone(), kind: kind.to_owned(), text });
        let seq = head.seq;
        self.memory.head = head;
        self.told.push((kind.to_owned(), rule));
        Ok(seq)
    }

    /// A task as it is now.
    pub(crate) async fn task(&mut self, id: TaskId) -> Result<Task, PlaneError> {
        match self.memory.near(id) {
            Some(task) => Ok(task),
            None => super::tasks::get(self.db().await?, &id.to_string()).await,
        }
    }

    pub(crate) fn random<const N: usize>(&self) -> Result<[u8; N], PlaneError> {
        let mut bytes = [0_u8; N];
        (self.settings.chance)(&mut bytes).map_err(|error| {
            let source = sqlx::Error::Io(std::io::Error::other(error));
            PlaneError::from(StoreError::Query { what: "get random bytes", source })
        })?;
        Ok(bytes)
    }

    /// The parts of a new id.
    pub(crate) fn id(&self) -> Result<(u64, u128), PlaneError> {
        Ok((self.now.unix_millis(), u128::from_le_bytes(self.random()?)))
    }
}
