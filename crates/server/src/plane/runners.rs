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
        let most = rows::limit(paging)? as usize;
        let after = paging.after.clone();
        let items = self
            .write(move |turn| {
                Box::pin(async move {
                    let known = turn.memory.runners.values();
                    let mut names: Vec<(&str, RunnerId)> =
                        known.map(|known| (known.runner.name.as_str(), known.runner.id)).collect();
                    names.sort_unstable();
                    let last = after.map(|after| names.binary_search_by(|one| one.0.cmp(&after)));
                    let begin = match last {
                        None => 0,
                        Some(last) => last.map_err(|_| rows::not_next())? + 1,
                    };
                    // What one says of its host is large: only this page is made.
                    let page = names.iter().skip(begin).take(most + 1);
                    Ok(page.filter_map(|(_, id)| seen(turn, *id)).collect())
                })
            })
            .await?;
        Ok(rows::page(items, paging, |runner: &Runner| runner.name.clone()))
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
    runner.host = present.host.as_ref().and_then(|host| serde_json::from_str(host).ok());
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

/// How many are there.
pub(super) fn online(turn: &Turn) -> u64 {
    turn.memory.runners.keys().filter(|id| is_online(turn, **id)).count() as u64
}
