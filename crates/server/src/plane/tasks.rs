//! Tasks as others ask for them: made, looked at, dispatched, canceled, tried again.

use cofferdam_core::control::admission;
use cofferdam_core::control::id::{ProjectId, TaskId, WorkflowRunId};
use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::queue::PathLock;
use cofferdam_core::control::state::{Move, TaskState};
use cofferdam_core::control::task::{Attempt, AttemptResult, ExecutionMode, NewTask, Task};
use cofferdam_core::control::token::Scope;
use serde_json::json;
use sqlx::AnyConnection;

use super::caller::Caller;
use super::error::PlaneError;
use super::keys::{IdempotencyKey, Once};
use super::moves::{Step, advance, save};
use super::policy::Judged;
use super::turn::{About, Turn};
use super::{Plane, approvals, policy, rows, workflows};
use crate::store::Sql;

pub(super) const NOUN: &str = "task";

#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    pub project: Option<ProjectId>,
    pub state: Option<TaskState>,
    pub workflow_run: Option<WorkflowRunId>,
    pub execution_mode: Option<ExecutionMode>,
    /// In title or command.
    pub text: Option<String>,
}

impl Plane {
    pub async fn create_task(
        &self,
        caller: &Caller,
        asked: NewTask,
        key: Option<IdempotencyKey>,
    ) -> Result<Task, PlaneError> {
        caller.needs(Scope::Submit)?;
        policy::knows(caller, asked.project)?;
        admission::form(&asked)?;
        let once = Once::new(caller, key, NOUN, &asked)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                if let Some(id) = once.made(turn).await? {
                    return get(turn.db().await?, &id).await;
                }
                policy::has_room(turn, asked.project)?;
                let task = make(turn, asked, &caller.actor, None).await?;
                once.keep(turn, &task.id).await?;
                Ok(task)
            })
        })
        .await
    }

    pub async fn task(&self, caller: &Caller, id: TaskId) -> Result<Task, PlaneError> {
        let mut db = self.inner.store.reader().await?;
        seen(&mut db, caller, id).await
    }

    pub async fn tasks(
        &self,
        caller: &Caller,
        filter: &TaskFilter,
        paging: &Paging,
    ) -> Result<Page<Task>, PlaneError> {
        caller.reads()?;
        let mut sql = rows::visible(Sql::new("SELECT doc FROM tasks WHERE 1 = 1"), caller);
        if let Some(project) = filter.project {
            sql = sql.and(" AND project = ?").text(project);
        }
        if let Some(state) = filter.state {
            sql = sql.and(" AND state = ?").text(state);
        }
        if let Some(workflow_run) = filter.workflow_run {
            sql = sql.and(" AND workflow_run = ? AND workflow_run <> ''").text(workflow_run);
        }
        if let Some(mode) = filter.execution_mode {
            sql = sql.and(" AND mode = ?").text(mode_name(mode));
        }
        if let Some(text) = &filter.text {
            // The signs that mean something in a pattern are escaped.
            let plain: String = text
                .to_lowercase()
                .chars()
                .flat_map(|c| matches!(c, '%' | '_' | '!').then_some('!').into_iter().chain([c]))
                .collect();
            sql = sql.and(" AND words LIKE ? ESCAPE '!'").text(format!("%{plain}%"));
        }
        let sql = rows::newest_first(sql, paging)?;
        let mut db = self.inner.store.reader().await?;
        let items = rows::all(&mut db, "tasks", sql).await?;
        Ok(rows::page(items, paging, |task: &Task| task.id.to_string()))
    }

    pub async fn dispatch(&self, caller: &Caller, id: TaskId) -> Result<Task, PlaneError> {
        caller.needs(Scope::Submit)?;
        self.change(caller, id, |turn, mut task, actor| {
            Box::pin(async move {
                workflows::goes_on(turn, &task, Move::Dispatch, &actor).await?;
                if task.state == TaskState::Created {
                    admission::in_time(&task.asked, turn.now)?;
                    let about = About::task(&task);
                    let judged = policy::judge(turn, &task.asked).await;
                    let judged = policy::or_tell(turn, &task.asked, &about, &actor, judged).await?;
                    enter(turn, &mut task, &actor, judged).await?;
                } else {
                    advance(turn, &mut task, Step::new(Move::Dispatch, &actor)).await?;
                }
                Ok(task)
            })
        })
        .await
    }

    pub async fn cancel(&self, caller: &Caller, id: TaskId) -> Result<Task, PlaneError> {
        caller.needs(Scope::Submit)?;
        self.change(caller, id, |turn, mut task, actor| {
            Box::pin(async move {
                // Asked for twice is asked for once.
                if !matches!(task.state, TaskState::CancelRequested | TaskState::Canceled) {
                    advance(turn, &mut task, Step::new(Move::Cancel, &actor)).await?;
                }
                Ok(task)
            })
        })
        .await
    }

    pub async fn retry(&self, caller: &Caller, id: TaskId) -> Result<Task, PlaneError> {
        caller.needs(Scope::Submit)?;
        self.change(caller, id, |turn, mut task, actor| {
            Box::pin(async move {
                workflows::goes_on(turn, &task, Move::Retry, &actor).await?;
                admission::in_time(&task.asked, turn.now)?;
                advance(turn, &mut task, Step::new(Move::Retry, &actor)).await?;
                Ok(task)
            })
        })
        .await
    }

    /// The first one first.
    pub async fn attempts(
        &self,
        caller: &Caller,
        id: TaskId,
        paging: &Paging,
    ) -> Result<Page<Attempt>, PlaneError> {
        let mut db = self.inner.store.reader().await?;
        seen(&mut db, caller, id).await?;
        let sql = Sql::new("SELECT doc FROM attempts WHERE task = $1 ORDER BY number").text(id);
        let all = rows::all(&mut db, "attempts", sql).await?;
        rows::page_of(all, paging, |attempt: &Attempt| attempt.number.to_string())
    }

    async fn change<F>(&self, caller: &Caller, id: TaskId, what: F) -> Result<Task, PlaneError>
    where
        F: for<'a> FnOnce(&'a mut Turn, Task, String) -> super::Ahead<'a, Result<Task, PlaneError>>
            + Send
            + 'static,
    {
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                let task = turn.task(id).await?;
                caller.finds(task.asked.project, NOUN)?;
                what(turn, task, caller.actor.clone()).await
            })
        })
        .await
    }
}

/// A task that the caller may look at.
pub(super) async fn seen(
    db: &mut AnyConnection,
    caller: &Caller,
    id: TaskId,
) -> Result<Task, PlaneError> {
    caller.reads()?;
    let task = get(db, &id.to_string()).await?;
    caller.finds(task.asked.project, NOUN)?;
    Ok(task)
}

pub(super) async fn get(db: &mut AnyConnection, id: &str) -> Result<Task, PlaneError> {
    let sql = Sql::new("SELECT doc FROM tasks WHERE id = $1").text(id);
    rows::find(db, "tasks", sql).await?.ok_or(PlaneError::NotFound(NOUN))
}

/// The workflow that a task is a step of.
#[derive(Debug, Clone)]
pub(super) struct Membership {
    pub(super) run: WorkflowRunId,
    pub(super) step: String,
}

/// Makes a task, and sends it on its way where it is to go at once. What policy refuses is not made; the refusal is
/// in the timeline.
pub(super) async fn make(
    turn: &mut Turn,
    mut asked: NewTask,
    actor: &str,
    of: Option<Membership>,
) -> Result<Task, PlaneError> {
    let (millis, random) = turn.id()?;
    let id = TaskId::from_parts(millis, random);
    let judged = match admission::in_time(&asked, turn.now) {
        Ok(()) => policy::judge(turn, &asked).await,
        Err(late) => Err(late.into()),
    };
    // What is refused is not made, and has no place of its own in the timeline.
    let workflow_run = of.as_ref().map(|of| of.run);
    let about = About { project: asked.project, workflow_run, ..About::default() };
    let judged = policy::or_tell(turn, &asked, &about, actor, judged).await?;
    // What is shown is what is locked.
    asked.paths = PathLock::new(&asked.paths).into_paths();
    let (run_of, step) = match of {
        Some(Membership { run, step }) => (Some(run), Some(step)),
        None => (None, None),
    };
    let mut task = Task {
        id,
        asked,
        workflow_run: run_of,
        step,
        state: TaskState::Created,
        actor: actor.to_owned(),
        attempt: 0,
        runner: None,
        result: AttemptResult::default(),
        version: 1,
        created_at: turn.now,
        queued_at: None,
    };
    turn.memory.tally.step(task.asked.project, None, task.state);
    if let Some(deadline) = task.asked.deadline {
        turn.memory.deadlines.insert((deadline, id));
    }
    let data = json!({
        "title": task.asked.title, "execution_mode": task.asked.execution_mode, "step": task.step,
        "request": approvals::hash(&task.asked)?, "policy": judged.rules, "overrides": judged.overrides,
    });
    turn.tell(&About::task(&task), actor, "task.created", data).await?;
    for each in &task.asked.overrides {
        let data = json!({"name": each.setting, "reason": each.reason});
        turn.tell(&About::task(&task), actor, "sandbox.override_used", data).await?;
    }
    if task.asked.dispatch {
        enter(turn, &mut task, actor, judged).await?;
    } else {
        save(turn, &task, None, None)?;
    }
    Ok(task)
}

/// From `created` on: to whoever must say yes, or into the queue.
async fn enter(
    turn: &mut Turn,
    task: &mut Task,
    actor: &str,
    judged: Judged,
) -> Result<(), PlaneError> {
    if judged.needs_yes(&task.asked) {
        return approvals::ask(turn, task, actor, &judged).await;
    }
    advance(turn, task, Step::new(Move::Dispatch, actor)).await
}

/// What can be searched for in a task.
pub(super) fn words(task: &Task) -> String {
    let asked = &task.asked;
    let block = asked.sandbox.as_ref().map(|block| block.command.join(" "));
    let words = [
        asked.title.clone().unwrap_or_default(),
        asked.command.join(" "),
        block.unwrap_or_default(),
    ];
    words.join(" ").to_lowercase().replace('\0', "")
}

pub(super) fn mode_name(mode: ExecutionMode) -> &'static str {
    match mode {
        ExecutionMode::NoWorkspace => "no-workspace",
        ExecutionMode::SharedWorkspace => "shared-workspace",
        ExecutionMode::IsolatedWorktree => "isolated-worktree",
        ExecutionMode::DockerSandbox => "docker-sandbox",
    }
}
