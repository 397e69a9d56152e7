//! What runners report, taken only from those whose attempt it still is.

use cofferdam_core::control::fence::{Judgement, Noted, Standing, judge};
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::report::{StatusAnswer, StatusReport};
use cofferdam_core::control::spent::Spent;
use cofferdam_core::control::state::{Move, TaskState};
use cofferdam_core::control::task::{AttemptResult, Task};
use cofferdam_core::control::timeline::TimelineEvent;
use cofferdam_core::control::token::Scope;
use serde_json::{Value, json};
use sqlx::Row as _;

use super::caller::Caller;
use super::error::PlaneError;
use super::memory::Fenced;
use super::moves::{Step, advance, fenced, note, write_attempt};
use super::turn::{About, Turn};
use super::{Plane, approvals, tasks};
use crate::store::{Sql, StoreError, rows, scalar};

/// Events of a run that its runner may add to the timeline; all others are the server's to tell.
const PASSED_ON: [&str; 4] = ["sandbox.", "changes.", "session.", MISSING];
/// A file that the task was to leave is not there.
pub(crate) const MISSING: &str = "artifact.missing";
pub(super) const REFUSED: &str = "runner.report_refused";
/// A report that was taken before.
const REPEATED: &str = "runner.report_repeated";
const MOST_EVENTS: usize = 500;

impl Plane {
    pub async fn report(
        &self,
        caller: &Caller,
        id: TaskId,
        report: StatusReport,
    ) -> Result<StatusAnswer, PlaneError> {
        caller.needs(Scope::Runner)?;
        let caller = caller.clone();
        self.write(move |turn| Box::pin(async move { take(turn, &caller, id, report).await })).await
    }
}

/// An attempt, and whether the caller may speak for it.
pub(super) struct Known {
    pub(super) fenced: Fenced,
    pub(super) own: bool,
    pub(super) actor: String,
}

pub(super) async fn known(
    turn: &mut Turn,
    caller: &Caller,
    id: TaskId,
    number: u32,
    fence: &str,
) -> Result<Option<Known>, PlaneError> {
    let Some(fenced) = fenced(turn, id, number).await? else { return Ok(None) };
    let token = caller.token.to_string();
    let runner = turn.memory.runners.get(&fenced.runner).filter(|runner| runner.token == token);
    // Compared by hash, so that time tells nothing about how much of it was right.
    let same = blake3::hash(fenced.fence.as_bytes()) == blake3::hash(fence.as_bytes());
    let own = same && runner.is_some();
    let actor =
        runner.map_or(caller.actor.clone(), |runner| format!("runner:{}", runner.runner.name));
    Ok(Some(Known { fenced, own, actor }))
}

async fn take(
    turn: &mut Turn,
    caller: &Caller,
    id: TaskId,
    report: StatusReport,
) -> Result<StatusAnswer, PlaneError> {
    let mut task = turn.task(id).await?;
    // Of what it cannot have been given a runner learns nothing, and nothing that it says stands there.
    caller.finds(task.asked.project, tasks::NOUN)?;
    let found = known(turn, caller, id, report.attempt, &report.fence).await?;
    let standing = Standing {
        state: task.state,
        latest: task.attempt == report.attempt,
        own: found.as_ref().is_some_and(|known| known.own),
        seq: found.as_ref().and_then(|known| u64::try_from(known.fenced.seq).ok()),
    };
    let judgement = judge(&standing, report.seq, report.status);
    let actor = found.as_ref().map_or(caller.actor.clone(), |known| known.actor.clone());
    match (&judgement, found) {
        (Judgement::Accepted(moves), Some(known)) => {
            accept(turn, &mut task, known, report, moves).await?;
        }
        (Judgement::Repeated, _) => repeated(turn, &task, &actor, &report).await?,
        (Judgement::Refused(why), _) => refuse(turn, &task, &actor, &report, why).await?,
        // Without an attempt nothing is its own, so nothing is accepted.
        (Judgement::Accepted(_), None) => return Err(PlaneError::NotFound(tasks::NOUN)),
    }
    let own = standing.own && standing.latest;
    let cancel = own && task.state == TaskState::CancelRequested;
    Ok(StatusAnswer { taken: judgement.taken(), cancel })
}

async fn refuse(
    turn: &mut Turn,
    task: &Task,
    actor: &str,
    report: &StatusReport,
    why: &str,
) -> Result<(), PlaneError> {
    let about = About { attempt: Some(report.attempt), ..About::task(task) };
    let data =
        json!({"status": report.status, "seq": report.seq, "state": task.state, "reason": why});
    write_down(turn, &about, actor, REFUSED, data).await
}

/// A number that was seen is written down once, however often it comes again: runners send again what was not answered.
async fn repeated(
    turn: &mut Turn,
    task: &Task,
    actor: &str,
    report: &StatusReport,
) -> Result<(), PlaneError> {
    let sql = Sql::new("SELECT line FROM events WHERE task = $1 AND task <> '' AND kind = $2");
    for row in rows(turn.db().await?, sql.text(task.id).text(REPEATED)).await? {
        let read = |source| StoreError::Query { what: "read", source };
        let line: String = row.try_get(0).map_err(read)?;
        let event: TimelineEvent = serde_json::from_str(&line)
            .map_err(|source| StoreError::Row { table: "events", source })?;
        if event.attempt == Some(report.attempt) && event.data["seq"] == report.seq {
            return Ok(());
        }
    }
    let about = About { attempt: Some(report.attempt), ..About::task(task) };
    let data = json!({"status": report.status, "seq": report.seq, "state": task.state});
    write_down(turn, &about, actor, REPEATED, data).await
}

/// Tells of what changed nothing, unless the task has had enough of that.
pub(super) async fn write_down(
    turn: &mut Turn,
    about: &About,
    actor: &str,
    kind: &str,
    mut data: Value,
) -> Result<(), PlaneError> {
    let sql = Sql::new("SELECT COUNT(*) FROM events WHERE task = $1 AND task <> '' AND kind = $2");
    let before = scalar(turn.db().await?, sql.maybe(about.task).text(kind)).await?;
    match Noted::after(usize::try_from(before).unwrap_or(usize::MAX - 1)) {
        Noted::Plainly => {}
        Noted::AsLast => data["last"] = "further ones are not written down".into(),
        Noted::Not => return Ok(()),
    }
    turn.tell(about, actor, kind, data).await?;
    Ok(())
}

async fn accept(
    turn: &mut Turn,
    task: &mut Task,
    known: Known,
    report: StatusReport,
    moves: &[Move],
) -> Result<(), PlaneError> {
    let actor = known.actor;
    merge(&mut task.result, report.result);
    if let Some(fenced) = turn.memory.held.get_mut(&task.id).and_then(|hold| hold.fenced.as_mut()) {
        fenced.seq = i64::try_from(report.seq).unwrap_or(i64::MAX);
    }
    if moves.iter().any(|by| by.ends()) {
        turn.spent.push(Spent::of(&task.result));
    }
    pass_on(turn, task, &actor, report.events).await?;
    if moves.is_empty() {
        write_attempt(turn, task, TaskState::Running).await?;
        return note(turn, task);
    }
    for by in moves {
        let mut step = Step::new(*by, &actor);
        if *by == Move::Start {
            let command =
                json!({"asked": approvals::hash(&task.asked)?, "effective": task.result.effective});
            let hash = blake3::hash(command.to_string().as_bytes()).to_hex().to_string();
            step = step.with(json!({
                "command": hash, "run": task.result.run, "backend": task.result.backend,
                "container_id": task.result.container_id,
            }));
        }
        if *by == Move::Release {
            step = step.because("its runner gave it back unstarted");
        }
        advance(turn, task, step).await?;
        if *by == Move::Start {
            write_attempt(turn, task, TaskState::Running).await?;
        }
    }
    Ok(())
}

/// What is said replaces what was known; what is not said stays.
fn merge(known: &mut AttemptResult, said: AttemptResult) {
    macro_rules! take {
        ($($field:ident),+ $(,)?) => {$(
            if said.$field.is_some() {
                known.$field = said.$field;
            }
        )+};
    }
    take!(
        run,
        backend,
        container_id,
        exit_code,
        message,
        outcome,
        started_at,
        finished_at,
        output_tail,
        output,
        changes,
        plan,
        effective,
        receipt,
        usage,
    );
}

async fn pass_on(
    turn: &mut Turn,
    task: &Task,
    actor: &str,
    events: Vec<Value>,
) -> Result<(), PlaneError> {
    let about = About::task(task);
    let all = events.len();
    for mut event in events.into_iter().take(MOST_EVENTS) {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let plain =
            kind.len() <= 64 && kind.bytes().all(|b| matches!(b, b'a'..=b'z' | b'_' | b'.'));
        if !plain || !PASSED_ON.iter().any(|own| kind.starts_with(own)) {
            let kind: String = kind.chars().take(100).collect();
            let data = json!({"reason": "a runner may not tell of this", "event": kind});
            write_down(turn, &about, actor, REFUSED, data).await?;
            continue;
        }
        // What links it in the runner's own log means nothing here.
        if let Some(members) = event.as_object_mut() {
            for own in ["type", "seq", "prev"] {
                members.remove(own);
            }
        }
        turn.tell(&about, actor, &kind, event).await?;
    }
    if all > MOST_EVENTS {
        let data =
            json!({"reason": "too many events in one report", "left_out": all - MOST_EVENTS});
        write_down(turn, &about, actor, REFUSED, data).await?;
    }
    Ok(())
}
