//! How many tasks are in which state, and how many ended in which hour: counted as they move, so that nobody who looks
//! in makes the store count them all.

use std::collections::{BTreeMap, BTreeSet};

use cofferdam_core::control::id::ProjectId;
use cofferdam_core::control::overview::Hour;
use cofferdam_core::control::state::TaskState;
use cofferdam_core::stamp::Stamp;
use sqlx::{AnyConnection, Row as _};

use super::caller::Caller;
use crate::store::{Sql, StoreError, Table, rows, write_rows};

type Project = Option<ProjectId>;

const HOUR: u64 = 3_600_000;
/// As many as are shown.
const HOURS: u64 = 24;

const STATES: Table = Table {
    into: "INSERT INTO tally (project, state, tasks) VALUES",
    row: "(?, ?, ?)",
    known: " ON CONFLICT (project, state) DO UPDATE SET tasks = excluded.tasks",
};
const ENDED: Table = Table {
    into: "INSERT INTO hours (hour, project, succeeded, failed) VALUES",
    row: "(?, ?, ?, ?)",
    known: " ON CONFLICT (hour, project) \
            DO UPDATE SET succeeded = excluded.succeeded, failed = excluded.failed",
};

#[derive(Debug, Default)]
pub(super) struct Tally {
    states: BTreeMap<(Project, TaskState), u64>,
    /// Succeeded and failed, by the hour since 1970.
    hours: BTreeMap<(u64, Project), (u64, u64)>,
    /// Not yet in the store.
    changed: BTreeSet<(Project, TaskState)>,
    changed_hours: BTreeSet<(u64, Project)>,
}

impl Tally {
    pub(super) async fn load(db: &mut AnyConnection, now: Stamp) -> Result<Self, StoreError> {
        let read = |source| StoreError::Query { what: "read", source };
        let mut tally = Self::default();
        for row in rows(db, Sql::new("SELECT project, state, tasks FROM tally")).await? {
            let (project, state): (String, String) =
                (row.try_get(0).map_err(read)?, row.try_get(1).map_err(read)?);
            let count: i64 = row.try_get(2).map_err(read)?;
            if let Some(state) = TaskState::ALL.into_iter().find(|s| s.to_string() == state) {
                tally.states.insert((project.parse().ok(), state), count.unsigned_abs());
            }
        }
        let first = (now.unix_millis() / HOUR).saturating_sub(HOURS);
        let sql = Sql::new("SELECT hour, project, succeeded, failed FROM hours WHERE hour >= $1");
        for row in rows(db, sql.number(first)).await? {
            let number = |at: usize| row.try_get::<i64, _>(at).map(i64::unsigned_abs).map_err(read);
            let project: String = row.try_get(1).map_err(read)?;
            tally.hours.insert((number(0)?, project.parse().ok()), (number(2)?, number(3)?));
        }
        Ok(tally)
    }

    /// A task is in another state now, or is new.
    pub(super) fn step(&mut self, project: Project, from: Option<TaskState>, to: TaskState) {
        if let Some(from) = from {
            let count = self.states.entry((project, from)).or_default();
            *count = count.saturating_sub(1);
            self.changed.insert((project, from));
        }
        *self.states.entry((project, to)).or_default() += 1;
        self.changed.insert((project, to));
    }

    /// An attempt has come to its end.
    pub(super) fn ended(&mut self, project: Project, state: TaskState, now: Stamp) {
        let hour = now.unix_millis() / HOUR;
        let (succeeded, failed) = self.hours.entry((hour, project)).or_default();
        match state {
            TaskState::Succeeded => *succeeded += 1,
            TaskState::Failed | TaskState::TimedOut | TaskState::Lost => *failed += 1,
            _ => return,
        }
        self.changed_hours.insert((hour, project));
        self.hours.retain(|(at, _), _| at + HOURS >= hour);
    }

    /// Writes what has changed.
    pub(super) async fn keep(&mut self, db: &mut AnyConnection) -> Result<(), StoreError> {
        let changed: Vec<_> = std::mem::take(&mut self.changed).into_iter().collect();
        write_rows(db, &STATES, &changed, |sql, of| {
            let count = self.states.get(of).copied().unwrap_or_default();
            let (project, state) = of;
            sql.maybe(*project).text(state).number(count)
        })
        .await?;
        let changed: Vec<_> = std::mem::take(&mut self.changed_hours).into_iter().collect();
        write_rows(db, &ENDED, &changed, |sql, of| {
            let (succeeded, failed) = self.hours.get(of).copied().unwrap_or_default();
            let (hour, project) = of;
            sql.number(*hour).maybe(*project).number(succeeded).number(failed)
        })
        .await
    }

    /// Tasks by state, of the projects that the caller knows; of all where nobody asks.
    pub(super) fn states(&self, caller: Option<&Caller>) -> BTreeMap<TaskState, u64> {
        let mut counts: BTreeMap<TaskState, u64> =
            TaskState::ALL.into_iter().map(|state| (state, 0)).collect();
        for ((project, state), count) in &self.states {
            if caller.is_none_or(|caller| caller.sees(*project)) {
                *counts.entry(*state).or_default() += count;
            }
        }
        counts
    }

    /// How many of a project nobody has begun.
    pub(super) fn waiting(&self, project: Project) -> u64 {
        let waits = [TaskState::Created, TaskState::AwaitingApproval, TaskState::Queued];
        waits.into_iter().filter_map(|state| self.states.get(&(project, state))).sum()
    }

    /// The last hours, the oldest first.
    pub(super) fn hours(&self, caller: &Caller, now: Stamp) -> Vec<Hour> {
        let last = now.unix_millis() / HOUR;
        let start = |hour: u64| {
            let millis = i64::try_from(hour * HOUR).unwrap_or_default();
            jiff::Timestamp::from_millisecond(millis).map_or(now, Stamp::new)
        };
        let each = (0..HOURS).rev().map(|back| last.saturating_sub(back));
        each.map(|hour| {
            let of = self.hours.range((hour, None)..(hour + 1, None));
            let seen = of.filter(|((_, project), _)| caller.sees(*project));
            let sum = seen.fold((0, 0), |sum, (_, one)| (sum.0 + one.0, sum.1 + one.1));
            Hour { from: start(hour), succeeded: sum.0, failed: sum.1 }
        })
        .collect()
    }
}
