//! Runners as others see them.

use cofferdam_core::control::id::RunnerId;
use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::runner::{Runner, RunnerState};

use super::caller::Caller;
use super::error::PlaneError;
use super::turn::Turn;
use super::{Plane, rows};

impl Plane {
    /// By their names.
    pub async fn runners(
        &self,
        caller: &Caller,
        paging: &Paging,
    ) -> Result<Page<Runner>, PlaneError> {
        caller.reads()?;
        rows::page_of(self.all_runners().await?, paging, |runner| runner.name.clone())
    }

    pub(super) async fn all_runners(&self) -> Result<Vec<Runner>, PlaneError> {
        self.write(|turn| {
            Box::pin(async move {
                let ids: Vec<RunnerId> = turn.memory.runners.keys().copied().collect();
                let mut all: Vec<Runner> =
                    ids.into_iter().filter_map(|id| seen(turn, id)).collect();
                all.sort_by(|one, two| one.name.cmp(&two.name));
                Ok(all)
            })
        })
        .await
    }

    pub async fn runner(&self, caller: &Caller, id: RunnerId) -> Result<Runner, PlaneError> {
        caller.reads()?;
        self.write(move |turn| {
            Box::pin(async move { seen(turn, id).ok_or(PlaneError::NotFound("runner")) })
        })
        .await
    }
}

/// A runner as it is now: one that has been silent for a lease is not there.
pub(super) fn seen(turn: &Turn, id: RunnerId) -> Option<Runner> {
    let present = turn.memory.runners.get(&id)?;
    let mut runner = present.runner.clone();
    runner.running = u32::try_from(turn.memory.held_by(id)).unwrap_or(u32::MAX);
    if !is_online(turn, id) {
        runner.state = RunnerState::Offline;
    }
    Some(runner)
}

pub(super) fn is_online(turn: &Turn, id: RunnerId) -> bool {
    let heard = turn.memory.runners.get(&id).and_then(|present| present.heard);
    heard.is_some_and(|heard| turn.elapsed.saturating_sub(heard) <= turn.settings.lease)
}
