//! Runners take work: for a while, and only as long as they are heard of.

use std::time::Duration;

use cofferdam_core::control::admission;
use cofferdam_core::control::approval::{Approval, ApprovalState};
use cofferdam_core::control::id::{RunnerId, TaskId};
use cofferdam_core::control::queue::Wish;
use cofferdam_core::control::report::{
    Beat, Claim, ClaimAsk, Claims, Heartbeat, Held, Registered, Registration,
};
use cofferdam_core::control::runner::{Runner, RunnerState};
use cofferdam_core::control::state::{Move, TaskState};
use cofferdam_core::control::task::{Attempt, AttemptResult, Task};
use cofferdam_core::control::token::Scope;
use serde_json::json;

use super::caller::Caller;
use super::due::AttemptRow;
use super::error::PlaneError;
use super::memory::{End, Fenced, Hold, Present, Streams};
use super::moves::{Step, advance, after};
use super::turn::{About, Turn};
use super::{Plane, approvals, enrolment, policy, scheduler, tokens};
use crate::store::{Sql, run, to_doc};

/// Longest that a question may wait for its answer.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Of what a runner holds when it registers, so much is in the event.
const MOST_TOLD: usize = 50;

impl Plane {
    /// A runner says who it is, and what it still has from before.
    pub async fn register(
        &self,
        caller: &Caller,
        asked: Registration,
    ) -> Result<Registered, PlaneError> {
        caller.needs(Scope::Runner)?;
        admission::name("name", &asked.name)?;
        for (at, label) in asked.labels.iter().enumerate() {
            admission::name(&format!("labels[{at}]"), label)?;
        }
        enrolment::fits(&asked)?;
        if asked.capacity == 0 {
            let message = "a runner takes at least one task at a time";
            return Err(PlaneError::field("capacity", message, "write 1 or more"));
        }
        let caller = caller.clone();
        let settings = &self.inner.settings;
        let (lease_ms, heartbeat_ms) = (millis(settings.lease), millis(settings.heartbeat));
        self.write(move |turn| {
            Box::pin(async move {
                let token = caller.token.to_string();
                let known = turn.memory.runners.values().find(|p| p.runner.name == asked.name);
                let before = known.map(|present| {
                    (present.runner.id, present.runner.created_at, present.token.clone())
                });
                // One that it has already needs no room of its own.
                if before.as_ref().is_none_or(|(.., own)| *own != token) {
                    enrolment::make_room(turn, &token, &caller.actor).await?;
                }
                let mut passed_on = None;
                let (id, created_at) = match before {
                    Some((id, created_at, own)) => {
                        if own != token && !tokens::has_ended(turn, &own).await? {
                            return Err(PlaneError::Conflict {
                                message: format!("a runner with another token is called {}", asked.name),
                                remedy: "give this one another name, use the token of that one, or revoke it",
                            });
                        }
                        // Nobody can speak for it any more. What it ran lies with whoever bears its name.
                        passed_on = (own != token).then_some(own);
                        (id, created_at)
                    }
                    None => {
                        let (millis, random) = turn.id()?;
                        (RunnerId::from_parts(millis, random), turn.now)
                    }
                };
                let mut runner = Runner {
                    id,
                    name: asked.name,
                    labels: asked.labels,
                    capacity: asked.capacity,
                    running: 0,
                    state: RunnerState::Online,
                    host: asked.host,
                    seen_at: turn.now,
                    created_at,
                };
                let sql = Sql::new(
                    "INSERT INTO runners (id, name, token, doc) VALUES ($1, $2, $3, $4) \
                     ON CONFLICT (id) DO UPDATE SET token = excluded.token, doc = excluded.doc",
                );
                let sql = sql.text(id).text(&runner.name).text(&token).text(to_doc(&runner, "runners")?);
                run(turn.db().await?, sql).await?;
                let actor = format!("runner:{}", runner.name);
                if let Some(from) = passed_on {
                    let data = json!({"runner": id, "from_token": from, "to_token": token});
                    turn.tell(&About::default(), &caller.actor, "runner.passed_on", data).await?;
                }
                let (held, told) = (asked.holding.len(), asked.holding.iter().take(MOST_TOLD));
                let data = json!({"runner": id, "labels": runner.labels, "capacity": runner.capacity, "held": held, "holding": told.collect::<Vec<_>>(), "removed": asked.removed.len()});
                turn.tell(&About::default(), &actor, "runner.registered", data).await?;
                enrolment::orphans(turn, id, &actor, asked.removed).await?;
                let host = Present::host_of(&mut runner);
                let heard = Some(turn.elapsed);
                turn.memory.runners.insert(id, Present { runner, host, token, heard });
                let drop = reconcile(turn, id, &asked.holding, &actor).await?;
                Ok(Registered { runner: id, lease_ms, heartbeat_ms, drop })
            })
        })
        .await
    }

    /// Work for a runner; waits for it, and does not ask over and over.
    pub async fn claim(&self, caller: &Caller, ask: ClaimAsk) -> Result<Claims, PlaneError> {
        caller.needs(Scope::Runner)?;
        let mut bell = self.inner.bells.work.subscribe();
        let until =
            tokio::time::Instant::now() + Duration::from_millis(ask.wait_ms).min(LONGEST_WAIT);
        loop {
            bell.mark_unchanged();
            let own = caller.clone();
            let claims = self
                .write(move |turn| Box::pin(async move { take(turn, &own, ask).await }))
                .await?;
            if !claims.is_empty() || ask.room == 0 {
                return Ok(Claims { claims });
            }
            match tokio::time::timeout_at(until, bell.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(PlaneError::Stopped),
                Err(_) => return Ok(Claims { claims: Vec::new() }),
            }
        }
    }

    /// A runner is there. It is answered at once where there is something new to tell, else when there is or when it
    /// has waited long enough. A cancel that it was told of stands in every answer until it is done, and hurries none.
    pub async fn heartbeat(&self, caller: &Caller, beat: Heartbeat) -> Result<Beat, PlaneError> {
        caller.needs(Scope::Runner)?;
        let mut bell = self.inner.bells.news.subscribe();
        let wait = Duration::from_millis(beat.wait_ms).min(self.inner.settings.heartbeat);
        let until = tokio::time::Instant::now() + wait;
        let runner = beat.runner;
        loop {
            bell.mark_unchanged();
            let (own, said) = (caller.clone(), beat.clone());
            let (mut answer, ends) =
                self.write(move |turn| Box::pin(async move { renew(turn, &own, &said) })).await?;
            answer.errands = self.errands_for(runner);
            let is_news = ends == End::Asked || !answer.errands.is_empty();
            if is_news || wait.is_zero() || beat.leaving {
                return Ok(answer);
            }
            match tokio::time::timeout_at(until, bell.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(PlaneError::Stopped),
                Err(_) => return Ok(answer),
            }
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The runner, if it is this caller's.
pub(super) fn own<'a>(
    turn: &'a mut Turn,
    caller: &Caller,
    id: RunnerId,
) -> Result<&'a mut Present, PlaneError> {
    let token = caller.token.to_string();
    let present = turn.memory.runners.get_mut(&id).filter(|present| present.token == token);
    present.ok_or(PlaneError::NotFound("runner"))
}

/// What a runner no longer has is lost, or given back where it had not begun; what it should not have it must drop.
async fn reconcile(
    turn: &mut Turn,
    id: RunnerId,
    holding: &[Held],
    actor: &str,
) -> Result<Vec<Held>, PlaneError> {
    let until = turn.elapsed + turn.settings.lease;
    let ours: Vec<(TaskId, u32)> = turn
        .memory
        .held
        .iter()
        .filter(|(_, hold)| hold.runner == id)
        .map(|(task, hold)| (*task, hold.attempt))
        .collect();
    for (task, attempt) in &ours {
        if holding.contains(&Held { task: *task, attempt: *attempt }) {
            if let Some(hold) = turn.memory.held.get_mut(task) {
                hold.until = until;
                if hold.end == End::Told {
                    // Told to a life of the runner that is over.
                    hold.end = End::Asked;
                }
            }
            continue;
        }
        let task = turn.task(*task).await?;
        give_up(turn, task, actor, "its runner was started anew and does not have it").await?;
    }
    let known = |held: &&Held| !ours.contains(&(held.task, held.attempt));
    Ok(holding.iter().filter(known).copied().collect())
}

/// Nobody has it any more: back into the queue if it had not begun, else lost.
pub(super) async fn give_up(
    turn: &mut Turn,
    mut task: Task,
    actor: &str,
    why: &str,
) -> Result<(), PlaneError> {
    let by = if task.state == TaskState::Claimed { Move::Release } else { Move::Lose };
    advance(turn, &mut task, Step::new(by, actor).because(why)).await
}

async fn take(turn: &mut Turn, caller: &Caller, ask: ClaimAsk) -> Result<Vec<Claim>, PlaneError> {
    let heard = turn.elapsed;
    let present = own(turn, caller, ask.runner)?;
    present.heard = Some(heard);
    let (runner, draining) =
        (present.runner.clone(), present.runner.state == RunnerState::Draining);
    let free = (runner.capacity as usize).saturating_sub(turn.memory.held_by(ask.runner));
    let room = free.min(ask.room as usize);
    if draining || room == 0 {
        return Ok(Vec::new());
    }
    let wish = Wish { labels: &runner.labels, projects: caller.projects.as_deref() };
    let now = turn.now;
    let picked = turn.memory.board.take(&wish, room, now);
    let mut claims = Vec::new();
    for id in picked {
        let task = turn.task(id).await?;
        claims.extend(hand_over(turn, task, &runner).await?);
    }
    Ok(claims)
}

/// Gives a task to a runner, if everything that was true when it was queued still is.
async fn hand_over(
    turn: &mut Turn,
    mut task: Task,
    runner: &Runner,
) -> Result<Option<Claim>, PlaneError> {
    if admission::in_time(&task.asked, turn.now).is_err() {
        turn.memory.board.let_go(task.id);
        scheduler::too_late(turn, &mut task).await?;
        return Ok(None);
    }
    let judged = policy::judge(turn, &task.asked).await;
    let judged = match judged {
        Ok(judged) => judged,
        Err(PlaneError::Refused(refusal)) => {
            turn.memory.board.let_go(task.id);
            let data =
                json!({"rule": refusal.rule, "field": refusal.field, "message": refusal.message});
            turn.tell(&About::task(&task), "server", "sandbox.rejected", data).await?;
            task.result.outcome = Some("refused".to_owned());
            let step = Step::new(Move::Fail, "server").because(refusal.to_string());
            advance(turn, &mut task, step).await?;
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut approval = None;
    if judged.needs_yes(&task.asked) {
        let given = approvals::standing(turn.db().await?, task.id).await?;
        let subject = approvals::subject(&task.asked, &judged.rules)?;
        let holds =
            |given: &Approval| given.state == ApprovalState::Approved && given.subject == subject;
        let Some(yes) = given.filter(holds) else {
            turn.memory.board.let_go(task.id);
            approvals::ask(turn, &mut task, "server", &judged).await?;
            return Ok(None);
        };
        approval = Some(yes.id);
    }
    task.attempt += 1;
    task.runner = Some(runner.id);
    task.result = AttemptResult::default();
    let fence: [u8; 16] = turn.random()?;
    let fence: String = fence.iter().map(|byte| format!("{byte:02x}")).collect();
    let attempt = Attempt {
        task: task.id,
        number: task.attempt,
        runner: runner.id,
        state: TaskState::Claimed,
        claimed_at: turn.now,
        result: AttemptResult::default(),
    };
    turn.write_attempt(AttemptRow {
        task: task.id,
        number: task.attempt,
        runner: runner.id,
        fence: fence.clone(),
        seq: -1,
        state: attempt.state,
        doc: to_doc(&attempt, "attempts")?,
    });
    let until = turn.elapsed + turn.settings.lease;
    let fenced = Fenced {
        runner: runner.id,
        fence: fence.clone(),
        claimed_at: turn.now,
        seq: -1,
        log_seq: -1,
        output: Streams::default(),
    };
    let hold = Hold {
        runner: runner.id,
        attempt: task.attempt,
        until,
        end: End::Unasked,
        fenced: Some(fenced),
    };
    turn.memory.held.insert(task.id, hold);
    let actor = format!("runner:{}", runner.name);
    let data = json!({"runner": runner.id, "policy": judged.rules});
    advance(turn, &mut task, Step::new(Move::Claim, &actor).with(data)).await?;
    let lease_until = after(turn.now, turn.settings.lease);
    Ok(Some(Claim {
        attempt: task.attempt,
        task,
        fence,
        project: judged.project,
        role: judged.role,
        approval,
        lease_until,
    }))
}

/// The answer, and whether an end that it speaks of is news: [`End::Asked`] where one is.
fn renew(turn: &mut Turn, caller: &Caller, beat: &Heartbeat) -> Result<(Beat, End), PlaneError> {
    let heard = turn.elapsed;
    let seen_at = turn.now;
    let present = own(turn, caller, beat.runner)?;
    present.heard = (!beat.leaving).then_some(heard);
    present.runner.seen_at = seen_at;
    present.runner.state = if beat.draining { RunnerState::Draining } else { RunnerState::Online };
    let until = heard + turn.settings.lease;
    let (mut cancel, mut drop, mut ends) = (Vec::new(), Vec::new(), End::Unasked);
    for held in &beat.holding {
        match turn.memory.held.get_mut(&held.task) {
            Some(hold) if hold.runner == beat.runner && hold.attempt == held.attempt => {
                hold.until = until;
                match hold.end {
                    End::Unasked => continue,
                    End::Asked => (hold.end, ends) = (End::Told, End::Asked),
                    End::Told => {}
                }
                cancel.push(*held);
            }
            // Nothing is known of it here, not even whether that was said before.
            _ => {
                drop.push(*held);
                ends = End::Asked;
            }
        }
    }
    let lease_until = after(turn.now, turn.settings.lease);
    Ok((Beat { lease_until, cancel, drop, errands: Vec::new() }, ends))
}
