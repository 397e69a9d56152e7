//! Waiting between tries: longer each time, up to a bound.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(3);

/// How long the next wait is.
#[derive(Debug)]
pub(super) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Backoff {
    pub(super) async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(LONGEST);
    }

    /// It went well: the next wait is short again.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}
