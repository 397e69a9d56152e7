//! Takes work while there is room for it.

use std::sync::Arc;

use cofferdam_core::control::report::ClaimAsk;

use super::backoff::Backoff;
use super::{Link, Runner, attempt};

/// How long one question for work waits. It is never broken off: what it brings would be nobody's.
const WAIT_MS: u64 = 1_000;

/// Claims and starts attempts until the runner is to end. Those that are under way then are left to it.
pub(super) async fn take_until_drained<L: Link>(runner: &Arc<Runner<L>>) {
    let drain = &runner.ending.drain;
    let mut backoff = Backoff::default();
    while !drain.is_cancelled() {
        let held = runner.held.len();
        let room = runner.setup.capacity.saturating_sub(u32::try_from(held).unwrap_or(u32::MAX));
        if room == 0 {
            tokio::select! {
                () = runner.held.change(held) => continue,
                () = drain.cancelled() => return,
            }
        }
        let ask = ClaimAsk { runner: runner.id(), room, wait_ms: WAIT_MS };
        match runner.link.claim(&ask).await {
            Ok(claims) => {
                backoff.reset();
                claims.claims.into_iter().for_each(|claim| attempt::start(runner, claim));
            }
            Err(error) => {
                if error.is_unknown() {
                    // What is wrong with that shows at the next claim.
                    runner.register_again().await.ok();
                }
                tokio::select! {
                    () = backoff.wait() => {}
                    () = drain.cancelled() => return,
                }
            }
        }
    }
}
