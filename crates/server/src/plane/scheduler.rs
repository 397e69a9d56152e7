//! What happens because time passes: leases end, deadlines pass, waits are over.

use std::sync::Arc;
use std::time::Duration;

use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::state::{Move, TaskState};
use cofferdam_core::control::task::Task;

use super::error::PlaneError;
use super::moves::{Step, advance, before};
use super::turn::Turn;
use super::{Plane, claims, runners};
use crate::store::{Sql, run};

/// Looks again and again, until the plane is gone.
pub(super) fn start(plane: &Plane) {
    let weak = Arc::downgrade(&plane.inner);
    let every = plane.inner.settings.tick;
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(inner) = weak.upgrade() else { return };
            match (Plane { inner }).tick().await {
                // A store that failed is asked again at the next tick.
                Ok(()) | Err(PlaneError::Store(_)) => {}
                Err(_) => return,
            }
        }
    });
}

impl Plane {
    /// Does what is due by the clock. Done by itself every so often; tests that move the clock ask for it.
    pub async fn tick(&self) -> Result<(), PlaneError> {
        self.write(|turn| {
            Box::pin(async move {
                leases(turn).await?;
                deadlines(turn).await?;
                let now = turn.now;
                if turn.memory.board.ripen(now) {
                    turn.memory.work = true;
                }
                forget_keys(turn).await
            })
        })
        .await
    }
}

/// A key is good for a day: whoever repeats a request does so sooner.
const KEYS_LAST: Duration = Duration::from_secs(24 * 3600);
/// They are looked at every so often.
const KEYS_EVERY: Duration = Duration::from_secs(3600);

async fn forget_keys(turn: &mut Turn) -> Result<(), PlaneError> {
    if turn.elapsed.saturating_sub(turn.memory.keys_looked_at) < KEYS_EVERY {
        return Ok(());
    }
    turn.memory.keys_looked_at = turn.elapsed;
    let until = before(turn.now, KEYS_LAST);
    let sql = Sql::new("DELETE FROM idempotency WHERE at < $1").text(until);
    run(turn.db().await?, sql).await?;
    Ok(())
}

async fn leases(turn: &mut Turn) -> Result<(), PlaneError> {
    let over: Vec<TaskId> = turn
        .memory
        .held
        .iter()
        .filter(|(_, hold)| hold.until < turn.elapsed)
        .map(|(task, _)| *task)
        .collect();
    for id in over {
        let mut task = turn.task(id).await?;
        let there = task.runner.is_some_and(|runner| runners::is_online(turn, runner));
        if there && task.state == TaskState::Claimed {
            // The runner is well and does not have it: the answer to its claim was lost on the way.
            let why = "its runner never learned of it";
            claims::give_up(turn, task, "server", why).await?;
            continue;
        }
        let step = Step::new(Move::Lose, "server")
            .because("its runner was not heard of until the lease was over");
        advance(turn, &mut task, step).await?;
    }
    Ok(())
}

async fn deadlines(turn: &mut Turn) -> Result<(), PlaneError> {
    while let Some((at, id)) = turn.memory.deadlines.first().copied() {
        if at > turn.now {
            break;
        }
        turn.memory.deadlines.remove(&(at, id));
        let mut task = turn.task(id).await?;
        let waits = matches!(
            task.state,
            TaskState::Created | TaskState::AwaitingApproval | TaskState::Queued
        );
        if waits {
            too_late(turn, &mut task).await?;
        }
    }
    Ok(())
}

/// Ends what nobody has begun and nobody may begin any more.
pub(super) async fn too_late(turn: &mut Turn, task: &mut Task) -> Result<(), PlaneError> {
    let step = Step::new(Move::Cancel, "server").because("its deadline passed before it began");
    advance(turn, task, step).await
}
