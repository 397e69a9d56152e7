//! What requests there were: counted by route and answer, and how long they took.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::http::Method;

/// Upper bounds of the buckets, in seconds.
pub(crate) const BOUNDS: [f64; 10] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

#[derive(Debug, Default)]
pub(crate) struct Tally {
    answered: Mutex<Answered>,
    /// Open now.
    pub(crate) streams: AtomicU64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Answered {
    /// By method, route and status. Routes are those of the server, not what was asked for: there are few.
    pub(crate) requests: BTreeMap<(String, String, u16), u64>,
    /// Of those that took no longer than the bound of the same place; the last has none.
    pub(crate) buckets: [u64; BOUNDS.len() + 1],
    pub(crate) seconds: f64,
}

impl Tally {
    pub(crate) fn count(&self, method: &Method, route: &str, status: u16, took: Duration) {
        let seconds = took.as_secs_f64();
        // Methods are the sender's to invent.
        let method = match *method {
            Method::GET
            | Method::HEAD
            | Method::POST
            | Method::PUT
            | Method::DELETE
            | Method::OPTIONS => method.as_str(),
            _ => "other",
        };
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        let mut answered = match self.answered.lock() {
            Ok(answered) => answered,
            Err(poisoned) => poisoned.into_inner(),
        };
        let key = (method.to_owned(), route.to_owned(), status);
        *answered.requests.entry(key).or_default() += 1;
        answered.buckets[bucket] += 1;
        answered.seconds += seconds;
    }

    pub(crate) fn answered(&self) -> Answered {
        match self.answered.lock() {
            Ok(answered) => answered.clone(),
            Err(poisoned) => poisoned.into_inner().clone(),
        }
    }
}
