//! What somebody who looks in wants to know first, and what those who watch the server count.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use cofferdam_core::control::overview::{Counts, Hour, Overview};
use cofferdam_core::control::runner::RunnerState;
use cofferdam_core::control::state::TaskState;
use cofferdam_core::stamp::Stamp;
use sqlx::{AnyConnection, Row as _};

use super::caller::Caller;
use super::error::PlaneError;
use super::{Plane, rows};
use crate::store::{Sql, StoreError, rows as read_rows, scalar};

const HOURS: u64 = 24;

impl Plane {
    pub async fn overview(&self, caller: &Caller) -> Result<Overview, PlaneError> {
        caller.reads()?;
        let runners = self.runners(caller).await?;
        let mut db = self.inner.store.reader().await?;
        let tasks = by_state(&mut db, Some(caller)).await?;
        let sql = Sql::new("SELECT COUNT(*) FROM approvals WHERE state = 'pending'");
        let approvals = scalar(&mut db, rows::visible(sql, caller)).await?.unsigned_abs();
        let sql = rows::visible(Sql::new("SELECT doc FROM tasks WHERE review = 1"), caller);
        let to_review = rows::all(&mut db, "tasks", sql.and(" ORDER BY id DESC LIMIT 20")).await?;
        let sql = Sql::new("SELECT doc FROM tasks WHERE state IN ('failed', 'timed_out', 'lost')");
        let sql = rows::visible(sql, caller).and(" ORDER BY id DESC LIMIT 20");
        let failures = rows::all(&mut db, "tasks", sql).await?;
        let hours = self.hours(&mut db, caller).await?;
        let online = runners.iter().filter(|runner| runner.state != RunnerState::Offline).count();
        Ok(Overview { tasks, approvals, to_review, failures, hours, runners_online: online as u64 })
    }

    /// For those who watch the server: no caller, no names.
    pub async fn counts(&self) -> Result<Counts, PlaneError> {
        let mut db = self.inner.store.reader().await?;
        let tasks = by_state(&mut db, None).await?;
        let online = self
            .write(|turn| {
                Box::pin(async move {
                    let ids: Vec<_> = turn.memory.runners.keys().copied().collect();
                    Ok(ids.into_iter().filter(|id| super::runners::is_online(turn, *id)).count())
                })
            })
            .await?;
        let counted =
            self.inner.bells.counted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Counts {
            tasks,
            waiting: counted.waiting,
            held: counted.held,
            runners_online: online as u64,
            events: counted.events,
            rejections: counted.rejections,
            seq: *self.inner.bells.seq.borrow(),
        })
    }

    async fn hours(
        &self,
        db: &mut AnyConnection,
        caller: &Caller,
    ) -> Result<Vec<Hour>, PlaneError> {
        let now = self.inner.settings.clock.now();
        let hour = 3_600_000;
        let last = now.unix_millis() / hour;
        let start = |at: u64| {
            let millis = i64::try_from(at * hour).unwrap_or_default();
            jiff::Timestamp::from_millisecond(millis).map_or(now, Stamp::new)
        };
        let mut hours: Vec<Hour> = (0..HOURS)
            .rev()
            .map(|back| Hour { from: start(last.saturating_sub(back)), succeeded: 0, failed: 0 })
            .collect();
        let from = super::moves::after(start(last.saturating_sub(HOURS - 1)), Duration::ZERO);
        // Stamps are texts that sort like the moments; their first 13 characters are the hour.
        let sql = Sql::new(
            "SELECT substr(finished, 1, 13), state, COUNT(*) FROM tasks WHERE finished >= $1 AND finished <> ''",
        );
        let sql =
            rows::visible(sql.text(from), caller).and(" GROUP BY substr(finished, 1, 13), state");
        let read = |source| StoreError::Query { what: "read", source };
        for row in read_rows(db, sql).await? {
            let (at, state): (String, String) =
                (row.try_get(0).map_err(read)?, row.try_get(1).map_err(read)?);
            let count: i64 = row.try_get(2).map_err(read)?;
            if let Some(hour) = hours.iter_mut().find(|hour| hour.from.to_string().starts_with(&at))
            {
                let slot =
                    if state == "succeeded" { &mut hour.succeeded } else { &mut hour.failed };
                *slot += count.unsigned_abs();
            }
        }
        Ok(hours)
    }
}

async fn by_state(
    db: &mut AnyConnection,
    caller: Option<&Caller>,
) -> Result<BTreeMap<TaskState, u64>, PlaneError> {
    let mut sql = Sql::new("SELECT state, COUNT(*) FROM tasks WHERE 1 = 1");
    if let Some(caller) = caller {
        sql = rows::visible(sql, caller);
    }
    let mut counts: BTreeMap<TaskState, u64> =
        TaskState::ALL.into_iter().map(|state| (state, 0)).collect();
    for row in read_rows(db, sql.and(" GROUP BY state")).await? {
        let read = |source| StoreError::Query { what: "read", source };
        let name: String = row.try_get(0).map_err(read)?;
        let count: i64 = row.try_get(1).map_err(read)?;
        if let Some(state) = TaskState::ALL.into_iter().find(|state| state.to_string() == name) {
            counts.insert(state, count.unsigned_abs());
        }
    }
    Ok(counts)
}
