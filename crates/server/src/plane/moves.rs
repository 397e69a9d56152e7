//! The only place where a task changes its state: the move is legal or refused, and either is in the timeline.

use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::retry;
use cofferdam_core::control::state::{Move, TaskState};
use cofferdam_core::control::task::{Attempt, ExecutionMode, Task};
use cofferdam_core::stamp::Stamp;
use serde_json::{Value, json};
use sqlx::Row as _;

use super::due::{AttemptRow, TaskRow};
use super::error::PlaneError;
use super::memory::{End, Fenced, Streams};
use super::turn::{About, Turn};
use super::{approvals, logs, tasks, workflows};
use crate::store::{Sql, StoreError, first, from_doc, scalar, to_doc};

/// A move, whose it is, and why.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) by: Move,
    pub(super) actor: &'a str,
    pub(super) message: Option<String>,
    /// More for the event.
    pub(super) data: Value,
}

impl<'a> Step<'a> {
    pub(super) fn new(by: Move, actor: &'a str) -> Self {
        Self { by, actor, message: None, data: json!({}) }
    }

    pub(super) fn because(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    pub(super) fn with(mut self, data: Value) -> Self {
        self.data = data;
        self
    }
}

/// Makes the move, with all that follows from it: the queue, another attempt, the steps that waited for it.
pub(super) async fn advance(
    turn: &mut Turn,
    task: &mut Task,
    step: Step<'_>,
) -> Result<(), PlaneError> {
    let before = go(turn, task, &step, None).await?;
    if !task.state.is_terminal() {
        return Ok(());
    }
    if task.state == TaskState::Canceled {
        approvals::withdraw(turn, task, step.actor).await?;
    }
    if before != TaskState::CancelRequested
        && let Some(cause) = retry::cause(task.state, task.result.outcome.as_deref())
    {
        // What was given back unstarted was no attempt.
        let sql = Sql::new(
            "SELECT COUNT(*) FROM attempts WHERE task = $1 AND state IN ('failed', 'timed_out', 'lost')",
        );
        let ended = scalar(turn.db().await?, sql.text(task.id)).await?;
        let ended = u32::try_from(ended).unwrap_or(u32::MAX);
        if let Some(wait) = task.asked.retry.again(ended, cause) {
            let at = after(turn.now, wait);
            let step =
                Step::new(Move::Retry, "server").with(json!({"cause": cause, "not_before": at}));
            go(turn, task, &step, (!wait.is_zero()).then_some(at)).await?;
            return Ok(());
        }
    }
    match task.workflow_run {
        Some(run) => workflows::progress(turn, run).await,
        None => Ok(()),
    }
}

/// One move and its event; gives the state before it.
async fn go(
    turn: &mut Turn,
    task: &mut Task,
    step: &Step<'_>,
    not_before: Option<Stamp>,
) -> Result<TaskState, PlaneError> {
    let before = task.state;
    let to = match before.after(step.by) {
        Ok(to) => to,
        Err(illegal) => {
            let data = json!({"from": before, "move": step.by});
            turn.tell(&About::task(task), step.actor, "task.transition_refused", data).await?;
            return Err(illegal.into());
        }
    };
    if before.is_held() && !to.is_held() {
        logs::tell_of_the_cut(turn, task).await?;
    }
    let order = turn.memory.head.seq + 1;
    task.state = to;
    task.version += 1;
    if step.message.is_some() {
        task.result.message.clone_from(&step.message);
    }
    turn.memory.tally.step(task.asked.project, Some(before), to);
    if to.is_terminal() {
        let now = turn.now;
        turn.memory.tally.ended(task.asked.project, to, now);
    }
    if before.is_held() && !to.is_held() {
        // Given back: it ended before it began.
        let end = if to == TaskState::Queued { TaskState::Canceled } else { to };
        write_attempt(turn, task, end).await?;
        turn.memory.held.remove(&task.id);
        turn.memory.board.let_go(task.id);
        turn.memory.work = true;
    }
    if before == TaskState::Queued && to != TaskState::Claimed {
        turn.memory.board.forget(task.id);
    }
    if let Some(deadline) = task.asked.deadline {
        if to.is_held() || to.is_terminal() {
            turn.memory.deadlines.remove(&(deadline, task.id));
        } else {
            turn.memory.deadlines.insert((deadline, task.id));
        }
    }
    let mut place = None;
    match to {
        TaskState::Queued => {
            task.queued_at = Some(turn.now);
            place = Some(order);
            turn.memory.line_up(task, order, not_before);
        }
        TaskState::CancelRequested => {
            if let Some(hold) = turn.memory.held.get_mut(&task.id) {
                hold.end = End::Asked;
            }
            turn.memory.news = true;
        }
        _ => {}
    }
    save(turn, task, place, not_before)?;
    let mut data = json!({"from": before, "message": step.message});
    if to.is_terminal() {
        let result = &task.result;
        let manifest = result.changes.as_ref().and_then(|changes| changes.manifest.as_ref());
        let end = json!({
            "exit_code": result.exit_code, "outcome": result.outcome, "container_id": result.container_id,
            "run": result.run, "manifest": manifest,
        });
        join(&mut data, &end);
    }
    join(&mut data, &step.data);
    turn.tell(&About::task(task), step.actor, &format!("task.{to}"), data).await?;
    Ok(before)
}

fn join(data: &mut Value, more: &Value) {
    if let (Value::Object(data), Value::Object(more)) = (data, more) {
        data.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
}

/// A moment later than another.
pub(super) fn after(now: Stamp, wait: std::time::Duration) -> Stamp {
    let at =
        jiff::Timestamp::from_millisecond(i64::try_from(now.unix_millis()).unwrap_or(i64::MAX))
            .and_then(|at| at.checked_add(wait));
    at.map_or(now, Stamp::new)
}

/// A moment earlier than another.
pub(super) fn before(now: Stamp, time: std::time::Duration) -> Stamp {
    let at =
        jiff::Timestamp::from_millisecond(i64::try_from(now.unix_millis()).unwrap_or(i64::MAX))
            .and_then(|at| at.checked_sub(time));
    at.map_or(now, Stamp::new)
}

/// Writes the row of a task, for the first time or anew. `place` is where it stands in the queue, if that is new.
pub(super) fn save(
    turn: &mut Turn,
    task: &Task,
    place: Option<u64>,
    not_before: Option<Stamp>,
) -> Result<(), PlaneError> {
    let changed = task.result.changes.as_ref().is_some_and(|changes| {
        changes.created + changes.modified + changes.deleted + changes.retyped > 0
    });
    let review = task.state.is_terminal()
        && changed
        && task.asked.execution_mode != ExecutionMode::SharedWorkspace;
    turn.write_task(TaskRow {
        id: task.id,
        project: task.asked.project,
        workflow_run: task.workflow_run,
        state: task.state,
        mode: tasks::mode_name(task.asked.execution_mode),
        words: tasks::words(task),
        place,
        not_before,
        review,
        doc: to_doc(task, "tasks")?,
    });
    turn.memory.keep_near(task);
    Ok(())
}

/// Keeps what is known of a task that does not move: somebody has it, so it waits for nothing.
pub(super) fn note(turn: &mut Turn, task: &mut Task) -> Result<(), PlaneError> {
    task.version += 1;
    save(turn, task, None, None)
}

/// Keeps what is known of the attempt in a runner's hands.
pub(super) async fn write_attempt(
    turn: &mut Turn,
    task: &Task,
    state: TaskState,
) -> Result<(), PlaneError> {
    let Some(fenced) = fenced(turn, task.id, task.attempt).await? else { return Ok(()) };
    let attempt = Attempt {
        task: task.id,
        number: task.attempt,
        runner: fenced.runner,
        state,
        claimed_at: fenced.claimed_at,
        result: task.result.clone(),
    };
    turn.write_attempt(AttemptRow {
        task: task.id,
        number: task.attempt,
        runner: fenced.runner,
        fence: fenced.fence,
        seq: fenced.seq,
        state,
        doc: to_doc(&attempt, "attempts")?,
    });
    Ok(())
}

/// What reports of an attempt are held against: at hand while a runner has it, else from the store.
pub(super) async fn fenced(
    turn: &mut Turn,
    id: TaskId,
    number: u32,
) -> Result<Option<Fenced>, PlaneError> {
    let hold = turn.memory.held.get(&id).filter(|hold| hold.attempt == number);
    if let Some(fenced) = hold.and_then(|hold| hold.fenced.clone()) {
        return Ok(Some(fenced));
    }
    let held = hold.is_some();
    let read = |source| StoreError::Query { what: "read", source };
    let sql = Sql::new("SELECT fence, seq, doc FROM attempts WHERE task = $1 AND number = $2");
    let Some(row) = first(turn.db().await?, sql.text(id).number(number)).await? else {
        return Ok(None);
    };
    let attempt: Attempt = from_doc(&row, "attempts")?;
    // Of an attempt that is over no more output is taken.
    let (log_seq, output) = match held {
        true => logs::found(turn, id, number).await?,
        false => (-1, Streams::default()),
    };
    let fenced = Fenced {
        runner: attempt.runner,
        fence: row.try_get(0).map_err(read)?,
        claimed_at: attempt.claimed_at,
        seq: row.try_get(1).map_err(read)?,
        log_seq,
        output,
    };
    if held && let Some(hold) = turn.memory.held.get_mut(&id) {
        hold.fenced = Some(fenced.clone());
    }
    Ok(Some(fenced))
}
