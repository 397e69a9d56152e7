//! The newest events, read once for all who follow them.
//!
//! A hundred streams that each asked the store about every event would cost more than what they watch. One task reads
//! what is new, renders it once, and keeps the last few; a stream that has caught up is served from there and goes to the
//! store only for what it missed. What a caller may see is asked of the caller, for each event. Where nobody follows,
//! nothing is read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cofferdam_core::control::id::TokenId;
use cofferdam_core::control::page::Paging;
use cofferdam_core::control::timeline::TimelineEvent;
use cofferdam_core::control::token::Scope;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::problem::chain;
use crate::plane::{Caller, EventFilter, Plane};

/// So many are kept.
const KEPT: usize = 2048;

/// An event, and what is written of it.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) event: TimelineEvent,
    pub(crate) json: String,
}

#[derive(Debug)]
pub(crate) struct Tail {
    kept: Mutex<VecDeque<Arc<Told>>>,
    newest: watch::Sender<u64>,
    /// Somebody has begun to follow.
    wanted: Notify,
}

impl Tail {
    pub(crate) fn start(plane: Plane, stop: CancellationToken) -> Arc<Self> {
        let mut bell = plane.watch();
        let tail = Arc::new(Self {
            kept: Mutex::default(),
            newest: watch::Sender::new(*bell.borrow_and_update()),
            wanted: Notify::new(),
        });
        let reader = Arc::clone(&tail);
        tokio::spawn(async move {
            let mut is_followed = false;
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = reader.wanted.notified() => {}
                    changed = bell.changed() => if changed.is_err() { return },
                }
                let newest = *bell.borrow_and_update();
                let was_followed =
                    std::mem::replace(&mut is_followed, reader.newest.receiver_count() > 0);
                match (was_followed, is_followed) {
                    (true, true) => reader.read(&plane).await,
                    (false, true) => reader.begin_at(newest),
                    (_, false) => {}
                }
            }
        });
        tail
    }

    /// Rings when there is something new to be had here.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        let news = self.newest.subscribe();
        self.wanted.notify_one();
        news
    }

    /// Nobody followed until now: what came meanwhile is for the store to tell.
    fn begin_at(&self, seq: u64) {
        self.kept().clear();
        self.newest.send_replace(seq);
    }

    /// Everything after `seq`; `None` where some of that is no longer here.
    pub(crate) fn after(&self, seq: u64) -> Option<Vec<Arc<Told>>> {
        let newest = *self.newest.borrow();
        if seq >= newest {
            return Some(Vec::new());
        }
        let kept = self.kept();
        let first = kept.front()?.event.seq;
        let skip = usize::try_from((seq + 1).checked_sub(first)?).ok()?;
        Some(kept.iter().skip(skip).cloned().collect())
    }

    async fn read(&self, plane: &Plane) {
        let everything = Caller {
            actor: "server".to_owned(),
            token: TokenId::from_parts(0, 0),
            scopes: vec![Scope::Admin],
            projects: None,
        };
        let paging = Paging { limit: Paging::MOST, after: None };
        loop {
            let filter = EventFilter { after: *self.newest.borrow(), ..EventFilter::default() };
            let page = match plane.events(&everything, &filter, &paging).await {
                Ok(page) => page,
                // The next bell tries again; streams wait.
                Err(error) => {
                    return tracing::warn!(error = %chain(&error), "cannot read new events");
                }
            };
            let Some(newest) = page.items.last().map(|event| event.seq) else { return };
            self.keep(page.items);
            self.newest.send_replace(newest);
            if page.next.is_none() {
                return;
            }
        }
    }

    fn keep(&self, events: Vec<TimelineEvent>) {
        let told = events.into_iter().map(|event| {
            let json = serde_json::to_string(&event).unwrap_or_default();
            Arc::new(Told { event, json })
        });
        let told: Vec<_> = told.collect();
        let mut kept = self.kept();
        kept.extend(told);
        let over = kept.len().saturating_sub(KEPT);
        kept.drain(..over);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<Told>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
