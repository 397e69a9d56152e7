//! What the writer keeps at hand beside the store: the board, who holds what, where the chain ends.
//!
//! All of it can be made anew from the store, and is: when the plane opens, and after a commit that failed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use cofferdam_core::chain::Head;
use cofferdam_core::control::id::{RunnerId, TaskId, WorkflowRunId};
use cofferdam_core::control::project::Project;
use cofferdam_core::control::queue::{Board, PathLock, Waiting};
use cofferdam_core::control::runner::Runner;
use cofferdam_core::control::state::TaskState;
use cofferdam_core::control::task::{ExecutionMode, NewTask, Task};
use cofferdam_core::control::timeline::TimelineEvent;
use cofferdam_core::stamp::Stamp;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row as _};

use super::bounded::Bounded;
use super::rows::NOT_OVER;
use super::settings::PlaneSettings;
use super::tally::Tally;
use super::workflows;
use crate::store::{Sql, StoreError, first, from_doc, rows};

/// Tasks that wait and are kept at hand; the others are read when they are claimed.
const MOST_NEAR: usize = 1000;

#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) head: Head,
    pub(crate) board: Board,
    /// Runs of workflows whose tasks are kept from the board.
    paused: HashSet<WorkflowRunId>,
    pub(crate) held: HashMap<TaskId, Hold>,
    pub(crate) runners: HashMap<RunnerId, Present>,
    pub(super) tally: Tally,
    /// Tasks that are likely to be asked for next, as the store has them.
    near: HashMap<TaskId, Task>,
    /// Of tasks that nobody has begun.
    pub(crate) deadlines: BTreeSet<(Stamp, TaskId)>,
    /// When old keys were last looked for.
    pub(crate) keys_looked_at: Duration,
    /// Somebody may find work now.
    pub(crate) work: bool,
    /// A runner is to be told something now.
    pub(crate) news: bool,
}

/// A task in a runner's hands.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) runner: RunnerId,
    pub(crate) attempt: u32,
    /// By the clock that counts from the start.
    pub(crate) until: Duration,
    pub(crate) end: End,
    /// What reports are held against; absent until it is needed, after a start.
    pub(crate) fenced: Option<Fenced>,
}

/// Whether somebody asked for the end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Unasked,
    /// Its runner is to hear of it at once.
    Asked,
    /// An answer that says so was given. It says so again until the attempt is over, without haste.
    Told,
}

/// Of a program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streams {
    pub(crate) stdout: Bounded,
    pub(crate) stderr: Bounded,
}

/// An attempt as its runner must know it.
#[derive(Debug, Clone)]
pub(crate) struct Fenced {
    pub(crate) runner: RunnerId,
    pub(crate) fence: String,
    pub(crate) claimed_at: Stamp,
    /// Highest number of a report, and of a piece of output; -1 before the first.
    pub(crate) seq: i64,
    pub(crate) log_seq: i64,
    /// What is kept of either stream.
    pub(crate) output: Streams,
}

/// A runner as it is known.
#[derive(Debug, Clone)]
pub(crate) struct Present {
    /// Without its host.
    pub(crate) runner: Runner,
    /// What it says of its host, as text: as values it would be many times as large, and is hardly ever asked for.
    pub(super) host: Option<String>,
    pub(crate) token: String,
    /// When it was last heard of since the start; not at all where it was only read.
    pub(crate) heard: Option<Duration>,
}

impl Present {
    /// Takes out of a runner what is kept beside it.
    pub(super) fn host_of(runner: &mut Runner) -> Option<String> {
        runner.host.take().map(|host| host.to_string())
    }
}

impl Memory {
    pub(crate) async fn load(
        db: &mut AnyConnection,
        settings: &PlaneSettings,
    ) -> Result<Self, StoreError> {
        let mut memory = Self {
            head: head(db).await?,
            board: Board::new(settings.max_running),
            paused: HashSet::new(),
            held: HashMap::new(),
            runners: HashMap::new(),
            tally: Tally::load(db, settings.clock.now()).await?,
            near: HashMap::new(),
            deadlines: BTreeSet::new(),
            keys_looked_at: settings.clock.elapsed(),
            work: true,
            news: true,
        };
        for row in rows(db, Sql::new("SELECT doc FROM projects")).await? {
            let project: Project = from_doc(&row, "projects")?;
            memory.settle(&project);
        }
        let known = Sql::new("SELECT token, doc FROM runners");
        for row in rows(db, known).await? {
            let mut runner: Runner = from_doc(&row, "runners")?;
            let token =
                row.try_get(0).map_err(|source| StoreError::Query { what: "read", source })?;
            let host = Present::host_of(&mut runner);
            memory.runners.insert(runner.id, Present { runner, host, token, heard: None });
        }
        memory.paused = workflows::paused(db).await?;
        let until = settings.clock.elapsed() + settings.lease;
        let live = Sql::new("SELECT place, not_before, doc FROM tasks WHERE ").and(NOT_OVER);
        for row in rows(db, live).await? {
            let Lined { task, order, not_before } = lined(&row)?;
            memory.place(&task, order, not_before, until);
        }
        Ok(memory)
    }

    /// A queued task waits for its turn, or for the workflow run that it is a step of.
    pub(crate) fn line_up(&mut self, task: &Task, order: u64, not_before: Option<Stamp>) {
        if task.workflow_run.is_some_and(|run| self.paused.contains(&run)) {
            self.board.forget(task.id);
            return;
        }
        self.board.wait(waiting(task, order), not_before);
        self.work = true;
    }

    /// Nothing of a workflow run begins, from now on.
    pub(crate) fn pause(&mut self, run: WorkflowRunId) {
        self.paused.insert(run);
    }

    pub(crate) fn resume(&mut self, run: WorkflowRunId) {
        self.paused.remove(&run);
    }

    fn place(&mut self, task: &Task, order: u64, not_before: Option<Stamp>, until: Duration) {
        match task.state {
            TaskState::Queued => self.line_up(task, order, not_before),
            state if state.is_held() => {
                self.board.hold(task.id, task.asked.project, lock(&task.asked));
                if let Some(runner) = task.runner {
                    let end = match state {
                        TaskState::CancelRequested => End::Asked,
                        _ => End::Unasked,
                    };
                    self.held.insert(
                        task.id,
                        Hold { runner, attempt: task.attempt, until, end, fenced: None },
                    );
                }
            }
            _ => {}
        }
        if !task.state.is_held()
            && let Some(deadline) = task.asked.deadline
        {
            self.deadlines.insert((deadline, task.id));
        }
    }

    /// Knows of a project what decides about turns.
    pub(crate) fn settle(&mut self, project: &Project) {
        self.board.limit(project.id, project.max_running);
        self.board.root(project.id, root(project));
    }

    /// A task, where it is at hand.
    pub(crate) fn near(&self, id: TaskId) -> Option<Task> {
        self.near.get(&id).cloned()
    }

    /// Keeps a task at hand, as it was just written.
    pub(crate) fn keep_near(&mut self, task: &Task) {
        let wanted = task.state.is_held()
            || (task.state == TaskState::Queued && self.near.len() < MOST_NEAR);
        if wanted {
            self.near.insert(task.id, task.clone());
        } else {
            self.near.remove(&task.id);
        }
    }

    pub(crate) fn held_by(&self, runner: RunnerId) -> usize {
        self.held.values().filter(|hold| hold.runner == runner).count()
    }
}

/// A task, and where its row says that it stands.
pub(super) struct Lined {
    pub(super) task: Task,
    pub(super) order: u64,
    pub(super) not_before: Option<Stamp>,
}

/// Reads `place, not_before, doc`.
pub(super) fn lined(row: &AnyRow) -> Result<Lined, StoreError> {
    let read = |source| StoreError::Query { what: "read", source };
    let place: i64 = row.try_get(0).map_err(read)?;
    let not_before: String = row.try_get(1).map_err(read)?;
    let task = from_doc(row, "tasks")?;
    Ok(Lined { task, order: place.unsigned_abs(), not_before: not_before.parse().ok() })
}

fn waiting(task: &Task, order: u64) -> Waiting {
    let mut labels = task.asked.labels.clone();
    labels.sort_unstable();
    labels.dedup();
    Waiting {
        task: task.id,
        project: task.asked.project,
        priority: task.asked.priority,
        order,
        labels,
        lock: lock(&task.asked),
    }
}

fn lock(asked: &NewTask) -> Option<PathLock> {
    (asked.execution_mode == ExecutionMode::SharedWorkspace).then(|| PathLock::new(&asked.paths))
}

/// Where a project's tree really is, as far as this host knows: two names may lead to one.
fn root(project: &Project) -> PathBuf {
    let root = PathBuf::from(&project.root_path);
    std::fs::canonicalize(&root).unwrap_or(root)
}

async fn head(db: &mut AnyConnection) -> Result<Head, StoreError> {
    let last = first(db, Sql::new("SELECT line FROM events ORDER BY seq DESC LIMIT 1")).await?;
    let Some(row) = last else { return Ok(Head::genesis()) };
    let line: String =
        row.try_get(0).map_err(|source| StoreError::Query { what: "read", source })?;
    let event: TimelineEvent = serde_json::from_str(&line)
        .map_err(|source| StoreError::Row { table: "events", source })?;
    Ok(Head { seq: event.seq, hash: event.hash, bytes: 0 })
}
