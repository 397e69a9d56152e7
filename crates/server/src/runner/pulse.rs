//! Keeps the lease, and hears what the server wants: ends, and errands.
//!
//! A beat waits at the server until there is news or it is time for the next; so a cancel is here at once. It is never
//! broken off: what it brings is handed out only once.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cofferdam_core::control::report::{Beat, Heartbeat};

use super::held::{Cause, Told};
use super::{Link, Runner, errand};

/// How long to wait after a beat that found nobody.
const AGAIN: Duration = Duration::from_millis(200);
/// The server speaks of nothing that it was not told of: what is taken up during a beat is told with the next.
const LONGEST: Duration = Duration::from_millis(500);

/// How long whoever ends waits to be heard.
const GOODBYE: Duration = Duration::from_secs(1);

/// Beats until it is aborted.
pub(super) async fn beat<L: Link>(runner: Arc<Runner<L>>) {
    let mut heard = Instant::now();
    let under_way = Arc::new(Mutex::new(HashSet::new()));
    let wait = runner.beat.min(LONGEST);
    loop {
        let asked = Instant::now();
        let heartbeat = Heartbeat {
            runner: runner.id(),
            holding: runner.held.names(),
            draining: runner.ending.drain.is_cancelled(),
            leaving: false,
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        };
        match bounded(&runner, heard, runner.link.heartbeat(&heartbeat)).await {
            Ok(Beat { cancel, drop, errands, .. }) => {
                heard = asked;
                let canceled = runner.held.stop(&cancel, Cause::Canceled);
                let dropped = runner.held.stop(&drop, Cause::Dropped);
                let is_still_told = !(cancel.is_empty() && drop.is_empty());
                let is_repeated = is_still_told && canceled.max(dropped) == Told::Known;
                for errand in errands {
                    let id = errand.id.clone();
                    let is_new =
                        under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
                    if is_new {
                        let (runner, under_way) = (Arc::clone(&runner), Arc::clone(&under_way));
                        tokio::spawn(async move {
                            errand::run(&runner, errand).await;
                            under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                        });
                    }
                }
                // A server that does not wait must not be asked without end, nor one that has nothing to say but what
                // is being done: that takes as long as it takes.
                let pause = if is_repeated { wait } else { wait / 10 };
                tokio::time::sleep(pause.saturating_sub(asked.elapsed())).await;
            }
            Err(error) => {
                runner.held.expire(heard + runner.lease);
                if error.is_unknown() {
                    // What is wrong with that shows at the next beat.
                    runner.register_again().await.ok();
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// The last beat: nobody waits for this runner any more. A server that cannot be told finds out by its silence.
pub(super) async fn leave<L: Link>(runner: &Runner<L>) {
    let heartbeat = Heartbeat {
        runner: runner.id(),
        holding: Vec::new(),
        draining: true,
        leaving: true,
        wait_ms: 0,
    };
    tokio::time::timeout(GOODBYE, runner.link.heartbeat(&heartbeat)).await.ok();
}

/// The answer, however long it takes. Where a cable is pulled nothing fails for a long while, and the lease is over
/// all the same: what must not outlive it is stopped when it ends, and not when somebody answers.
async fn bounded<L: Link, T>(
    runner: &Runner<L>,
    heard: Instant,
    answer: impl Future<Output = T>,
) -> T {
    let over = heard + runner.lease;
    let mut answer = pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => return answer,
        () = tokio::time::sleep_until(over.into()) => runner.held.expire(over),
    }
    answer.await
}
