//! Changes of finished attempts, looked at and decided about where they lie: with the runner that ran them.
//!
//! What is to be done there is an errand, handed out with the answer to the runner's heartbeat. Whoever asked waits,
//! for a bounded time. An errand that changes something is kept in the store, so that its answer finds its place in
//! the chain even if the server was started anew meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;
use std::time::Duration;

use cofferdam_core::control::id::{RunnerId, TaskId};
use cofferdam_core::control::report::{Errand, ErrandAnswer, ErrandKind};
use cofferdam_core::control::task::Task;
use cofferdam_core::control::token::Scope;
use cofferdam_sandbox::changes::Mark;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use utoipa::ToSchema;

use super::caller::Caller;
use super::error::PlaneError;
use super::turn::{About, Turn};
use super::{Plane, claims, rows, runners, tasks};
use crate::store::{Sql, run, to_doc};

/// What is to be applied, and what was said about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    /// None: all.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Beside these, of some files only some hunks, as the diff numbers them from 1.
    #[serde(default)]
    pub hunks: BTreeMap<String, Vec<u32>>,
    /// By path, the `mark` of the diff that has these numbers, where it gave one: once some hunks of a file are applied, the
    /// others have other numbers.
    #[serde(default)]
    pub marks: BTreeMap<String, String>,
    /// Whether somebody has looked at what needs that.
    #[serde(default)]
    pub reviewed: bool,
    /// What to do about conflicts, by path.
    #[serde(default)]
    pub answers: BTreeMap<String, String>,
}

/// A mark becomes a part of what a command of the runner is told: it is one, and belongs to hunks.
fn check_marks(asked: &Apply) -> Result<(), PlaneError> {
    for (path, mark) in &asked.marks {
        let field = format!("marks.{path}");
        if !asked.hunks.contains_key(path) {
            let message = "no hunks of this file are named";
            return Err(PlaneError::field(&field, message, "name them, or leave the mark out"));
        }
        if Mark::parse(mark).is_none() {
            let message = "it is not the mark of a diff";
            return Err(PlaneError::field(&field, message, "give the one that the diff has"));
        }
    }
    Ok(())
}

/// How often it is looked whether a runner is still there.
const LOOK: Duration = Duration::from_millis(250);
const OFFLINE: &str = "the runner that has the changes is offline";
const SILENT: &str = "the runner that has the changes is silent: it did not come for the question";

/// Errands that somebody waits for.
#[derive(Debug, Default)]
pub(super) struct Desk {
    open: HashMap<String, Open>,
}

#[derive(Debug)]
struct Open {
    runner: RunnerId,
    errand: Errand,
    handed_out: bool,
    answer: oneshot::Sender<ErrandAnswer>,
}

/// An errand as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    errand: Errand,
    runner: RunnerId,
}

impl Plane {
    pub async fn changes(&self, caller: &Caller, id: TaskId) -> Result<Value, PlaneError> {
        caller.reads()?;
        self.send(caller, id, ErrandKind::Changes).await
    }

    pub async fn diff(
        &self,
        caller: &Caller,
        id: TaskId,
        path: Option<String>,
    ) -> Result<Value, PlaneError> {
        caller.reads()?;
        self.send(caller, id, ErrandKind::Diff { path }).await
    }

    pub async fn apply(
        &self,
        caller: &Caller,
        id: TaskId,
        asked: Apply,
    ) -> Result<Value, PlaneError> {
        caller.needs(Scope::Review)?;
        check_marks(&asked)?;
        let Apply { paths, hunks, marks, reviewed, answers } = asked;
        self.send(caller, id, ErrandKind::Apply { paths, hunks, marks, reviewed, answers }).await
    }

    pub async fn discard(
        &self,
        caller: &Caller,
        id: TaskId,
        paths: Vec<String>,
    ) -> Result<Value, PlaneError> {
        caller.needs(Scope::Review)?;
        self.send(caller, id, ErrandKind::Discard { paths }).await
    }

    pub async fn undo(&self, caller: &Caller, id: TaskId) -> Result<Value, PlaneError> {
        caller.needs(Scope::Review)?;
        self.send(caller, id, ErrandKind::Undo).await
    }

    /// A runner has done an errand, or could not.
    pub async fn errand_done(
        &self,
        caller: &Caller,
        id: &str,
        answer: ErrandAnswer,
    ) -> Result<(), PlaneError> {
        caller.needs(Scope::Runner)?;
        let (own, name, said) = (caller.clone(), id.to_owned(), answer.clone());
        let open = {
            let desk = self.inner.errands.lock().unwrap_or_else(PoisonError::into_inner);
            desk.open.get(id).map(|open| open.runner)
        };
        if open.is_some_and(|runner| runner != answer.runner) {
            return Err(PlaneError::NotFound("errand"));
        }
        let kept = self
            .write(move |turn| Box::pin(async move { conclude(turn, &own, &name, &said).await }))
            .await?;
        let open = {
            let mut desk = self.inner.errands.lock().unwrap_or_else(PoisonError::into_inner);
            desk.open.remove(id)
        };
        match open {
            Some(open) => {
                // Whoever asked may have gone away.
                drop(open.answer.send(answer));
                Ok(())
            }
            None if kept => Ok(()),
            None => Err(PlaneError::NotFound("errand")),
        }
    }

    /// What a runner is to do now. Each errand is handed out once.
    pub(super) fn errands_for(&self, runner: RunnerId) -> Vec<Errand> {
        let mut desk = self.inner.errands.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = desk.open.values_mut().filter(|open| open.runner == runner && !open.handed_out);
        mine.map(|open| {
            open.handed_out = true;
            open.errand.clone()
        })
        .collect()
    }

    /// Waits until it is plain that a runner is not there for its errand: it is offline, or it has not come for it in the
    /// time in which it shall speak.
    async fn away(&self, runner: RunnerId, errand: &str) -> PlaneError {
        let begun = tokio::time::Instant::now();
        loop {
            tokio::time::sleep(LOOK).await;
            let online = self
                .write(move |turn| Box::pin(async move { Ok(runners::is_online(turn, runner)) }))
                .await;
            match online {
                Ok(true) => {}
                Ok(false) => return PlaneError::Away(OFFLINE),
                Err(error) => return error,
            }
            let is_taken = {
                let desk = self.inner.errands.lock().unwrap_or_else(PoisonError::into_inner);
                desk.open.get(errand).is_none_or(|open| open.handed_out)
            };
            if !is_taken && begun.elapsed() > self.inner.settings.heartbeat {
                return PlaneError::Away(SILENT);
            }
        }
    }

    async fn send(
        &self,
        caller: &Caller,
        id: TaskId,
        what: ErrandKind,
    ) -> Result<Value, PlaneError> {
        let (answer, answered) = oneshot::channel();
        let own = caller.clone();
        let (errand, runner) = self
            .write(move |turn| Box::pin(async move { prepare(turn, &own, id, what).await }))
            .await?;
        let name = errand.id.clone();
        let open = Open { runner, errand, handed_out: false, answer };
        {
            let mut desk = self.inner.errands.lock().unwrap_or_else(PoisonError::into_inner);
            desk.open.insert(name.clone(), open);
        }
        self.inner.bells.news.send_modify(|count| *count += 1);
        let wait = self.inner.settings.errand_wait;
        let answer = tokio::select! {
            answer = tokio::time::timeout(wait, answered) => match answer {
                Ok(answer) => answer.map_err(|_| PlaneError::Stopped),
                Err(_) => Err(PlaneError::NoAnswer),
            },
            away = self.away(runner, &name) => Err(away),
        };
        let mut desk = self.inner.errands.lock().unwrap_or_else(PoisonError::into_inner);
        desk.open.remove(&name);
        drop(desk);
        let answer = answer?;
        match (answer.result, answer.problem) {
            (_, Some(problem)) => Err(PlaneError::Answered(Box::new(problem))),
            (Some(result), None) => Ok(result),
            (None, None) => Ok(Value::Null),
        }
    }
}

fn word(what: &ErrandKind) -> Option<(&'static str, &'static str)> {
    match what {
        ErrandKind::Changes | ErrandKind::Diff { .. } => None,
        ErrandKind::Apply { .. } => Some(("apply", "changes.applied")),
        ErrandKind::Discard { .. } => Some(("discard", "changes.discarded")),
        ErrandKind::Undo => Some(("undo", "changes.undone")),
    }
}

async fn prepare(
    turn: &mut Turn,
    caller: &Caller,
    id: TaskId,
    what: ErrandKind,
) -> Result<(Errand, RunnerId), PlaneError> {
    let task: Task = turn.task(id).await?;
    caller.finds(task.asked.project, tasks::NOUN)?;
    let (Some(runner), Some(run_id)) = (task.runner, task.result.run.clone()) else {
        return Err(PlaneError::Conflict {
            message: "no run of this task is known".to_owned(),
            remedy: "wait until it has run",
        });
    };
    if !task.state.is_terminal() {
        return Err(PlaneError::Conflict {
            message: "the task is not over, and what it changed is not sealed".to_owned(),
            remedy: "wait for its end, or cancel it",
        });
    }
    if !runners::is_online(turn, runner) {
        return Err(PlaneError::Away(OFFLINE));
    }
    let name: [u8; 16] = turn.random()?;
    let errand = Errand {
        id: name.iter().map(|byte| format!("{byte:02x}")).collect(),
        task: id,
        attempt: task.attempt,
        run: run_id,
        actor: caller.actor.clone(),
        what,
    };
    if let Some((verb, _)) = word(&errand.what) {
        let kept = Kept { errand: errand.clone(), runner };
        let sql = Sql::new(
            "INSERT INTO errands (id, task, runner, state, doc) VALUES ($1, $2, $3, 'asked', $4)",
        );
        let sql = sql.text(&errand.id).text(id).text(runner).text(to_doc(&kept, "errands")?);
        run(turn.db().await?, sql).await?;
        let manifest = task.result.changes.as_ref().and_then(|changes| changes.manifest.clone());
        let data = json!({"errand": errand.id, "decision": verb, "what": errand.what, "manifest": manifest});
        turn.tell(&About::task(&task), &caller.actor, "changes.decided", data).await?;
    }
    Ok((errand, runner))
}

/// Writes down what came of an errand that was kept; says whether it was.
async fn conclude(
    turn: &mut Turn,
    caller: &Caller,
    id: &str,
    answer: &ErrandAnswer,
) -> Result<bool, PlaneError> {
    claims::own(turn, caller, answer.runner)?;
    let sql = Sql::new("SELECT doc FROM errands WHERE id = $1 AND runner = $2 AND state = 'asked'");
    let found: Option<Kept> =
        rows::find(turn.db().await?, "errands", sql.text(id).text(answer.runner)).await?;
    let Some(kept) = found else { return Ok(false) };
    let Some((verb, done)) = word(&kept.errand.what) else { return Ok(false) };
    run(turn.db().await?, Sql::new("UPDATE errands SET state = 'done' WHERE id = $1").text(id))
        .await?;
    let task = turn.task(kept.errand.task).await?;
    let about = About { attempt: Some(kept.errand.attempt), ..About::task(&task) };
    let actor = &kept.errand.actor;
    match (&answer.problem, &answer.result) {
        (Some(problem), _) => {
            let data = json!({"errand": id, "decision": verb, "problem": problem});
            turn.tell(&about, actor, "changes.refused", data).await?;
        }
        // The runner did nothing, and says why.
        (None, Some(result)) if result["outcome"] == "refused" => {
            let data = json!({"errand": id, "decision": verb, "result": result});
            turn.tell(&about, actor, "changes.refused", data).await?;
        }
        (None, result) => {
            let did_nothing = result.as_ref().is_some_and(|result| result["outcome"] == "nothing");
            // Nothing was applied, and nothing says that it was.
            let done = if did_nothing { "changes.untouched" } else { done };
            // A hash of the tree, as its runner found it afterwards. Nothing stands in for one that is missing.
            let tree = result.as_ref().and_then(|result| result.get("tree")?.as_str());
            let data = json!({"errand": id, "decision": verb, "result": result, "tree": tree});
            turn.tell(&about, actor, done, data).await?;
            let whole = match &kept.errand.what {
                ErrandKind::Apply { paths, hunks, .. } => paths.is_empty() && hunks.is_empty(),
                ErrandKind::Discard { paths } => paths.is_empty(),
                _ => false,
            };
            let pending = result.as_ref().and_then(|result| result["pending"].as_u64());
            let review = match (pending, &kept.errand.what) {
                (Some(pending), _) => Some(i64::from(pending > 0)),
                (None, ErrandKind::Undo) => Some(1),
                (None, _) if whole => Some(0),
                (None, _) => None,
            };
            if let Some(review) = review {
                let sql = Sql::new("UPDATE tasks SET review = $1 WHERE id = $2")
                    .number(review)
                    .text(task.id);
                run(turn.db().await?, sql).await?;
            }
        }
    }
    Ok(true)
}
