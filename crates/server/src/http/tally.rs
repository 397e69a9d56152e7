//! What requests there were: counted by route and answer, and how long they took.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::http::Method;
use cofferdam_core::control::spent::Spread;

#[derive(Debug, Default)]
pub(crate) struct Tally {
    answered: Mutex<Answered>,
    /// Open now.
    pub(crate) streams: AtomicU64,
}

#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// By method, route and status. Routes are those of the server, not what was asked for: there are few.
    pub(crate) requests: BTreeMap<(String, String, u16), u64>,
    pub(crate) seconds: Spread,
}

impl Default for Answered {
    fn default() -> Self {
        let seconds = Spread::new(&[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0]);
        Self { requests: BTreeMap::new(), seconds }
    }
}

impl Tally {
    pub(crate) fn count(&self, method: &Method, route: &str, status: u16, took: Duration) {
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
        let mut answered = match self.answered.lock() {
            Ok(answered) => answered,
            Err(poisoned) => poisoned.into_inner(),
        };
        let key = (method.to_owned(), route.to_owned(), status);
        *answered.requests.entry(key).or_default() += 1;
        answered.seconds.add(took.as_secs_f64());
    }

    pub(crate) fn answered(&self) -> Answered {
        match self.answered.lock() {
            Ok(answered) => answered.clone(),
            Err(poisoned) => poisoned.into_inner().clone(),
        }
    }
}
