//! What somebody who looks in wants to know first, and what those who watch the server count.

use std::sync::PoisonError;

use cofferdam_core::control::overview::{Counts, Overview};
use cofferdam_core::control::task::Task;

use super::caller::Caller;
use super::error::PlaneError;
use super::{Plane, rows};
use crate::store::{Sql, scalar};

impl Plane {
    pub async fn overview(&self, caller: &Caller) -> Result<Overview, PlaneError> {
        caller.reads()?;
        let mut db = self.inner.store.reader().await?;
        let sql = Sql::new("SELECT COUNT(*) FROM approvals WHERE state = 'pending'");
        let approvals = scalar(&mut db, rows::visible(sql, caller)).await?.unsigned_abs();
        let sql = rows::visible(Sql::new("SELECT doc FROM tasks WHERE review = 1"), caller);
        let to_review = rows::all(&mut db, "tasks", sql.and(" ORDER BY id DESC LIMIT 20")).await?;
        // One state after the other, each by its index: together they would have to be sorted.
        let mut failures: Vec<Task> = Vec::new();
        for state in ["failed", "timed_out", "lost"] {
            let sql = Sql::new("SELECT doc FROM tasks WHERE state = $1").text(state);
            let sql = rows::visible(sql, caller).and(" ORDER BY id DESC LIMIT 20");
            failures.extend(rows::all::<Task>(&mut db, "tasks", sql).await?);
        }
        failures.sort_by_key(|task| std::cmp::Reverse(task.id));
        failures.truncate(20);
        let own = caller.clone();
        let (tasks, hours, runners_online) = self
            .write(move |turn| {
                Box::pin(async move {
                    let tally = &turn.memory.tally;
                    let online = super::runners::online(turn);
                    Ok((tally.states(Some(&own)), tally.hours(&own, turn.now), online))
                })
            })
            .await?;
        let newest = *self.inner.bells.seq.borrow();
        Ok(Overview { tasks, approvals, to_review, failures, hours, runners_online, newest })
    }

    /// For those who watch the server: no names.
    pub async fn counts(&self, caller: &Caller) -> Result<Counts, PlaneError> {
        caller.watches()?;
        let (tasks, runners_online) = self
            .write(|turn| {
                Box::pin(async move {
                    Ok((turn.memory.tally.states(None), super::runners::online(turn)))
                })
            })
            .await?;
        let counted =
            self.inner.bells.counted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Counts {
            tasks,
            waiting: counted.waiting,
            held: counted.held,
            runners_online,
            events: counted.events,
            rejections: counted.rejections,
            attempts: counted.attempts,
            seq: *self.inner.bells.seq.borrow(),
        })
    }
}
