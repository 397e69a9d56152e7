//! What the plane is told from outside, time and chance among it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cofferdam_core::config::Entries;
use cofferdam_core::policy::forbidden::Places;
use cofferdam_core::stamp::Stamp;

/// Where moments come from. Leases are counted by `elapsed`, which nobody sets back or forth.
pub trait Clock: Send + Sync {
    fn now(&self) -> Stamp;
    fn elapsed(&self) -> Duration;
}

#[derive(Debug)]
pub struct HostClock(Instant);

impl Default for HostClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for HostClock {
    fn now(&self) -> Stamp {
        Stamp::new(jiff::Timestamp::now())
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Where secrets and ids come from: fills the bytes, or says that it cannot.
pub type Chance = Arc<dyn Fn(&mut [u8]) -> Result<(), String> + Send + Sync>;

#[derive(Clone)]
pub struct PlaneSettings {
    pub clock: Arc<dyn Clock>,
    pub chance: Chance,
    /// How long a runner may be silent before what it holds is lost.
    pub lease: Duration,
    /// How often a runner shall speak.
    pub heartbeat: Duration,
    /// Most tasks that are held by runners at once.
    pub max_running: usize,
    /// Most tasks of one project, and of none, that wait at once: all that wait are kept in memory.
    pub max_waiting: u64,
    /// Bytes of output that are kept of each stream of one attempt.
    pub log_limit: u64,
    /// Bytes of all artifacts of one attempt.
    pub artifact_limit: u64,
    /// How long an answer about changes is waited for.
    pub errand_wait: Duration,
    /// How often deadlines and leases are looked at.
    pub tick: Duration,
    /// What the host file says; the ceiling of everything.
    pub host: Entries,
    /// What must stay out of reach on this host.
    pub places: Places,
    /// Where the newest event is kept outside the database; nowhere without.
    pub head_file: Option<PathBuf>,
}

impl Default for PlaneSettings {
    fn default() -> Self {
        Self {
            clock: Arc::new(HostClock::default()),
            chance: Arc::new(|bytes| getrandom::fill(bytes).map_err(|error| error.to_string())),
            lease: Duration::from_secs(30),
            heartbeat: Duration::from_secs(10),
            max_running: 1000,
            max_waiting: 100_000,
            log_limit: 16 << 20,
            artifact_limit: cofferdam_core::control::artifact::MOST_BYTES,
            errand_wait: Duration::from_secs(60),
            tick: Duration::from_millis(250),
            host: Entries::default(),
            places: Places::default(),
            head_file: None,
        }
    }
}

impl fmt::Debug for PlaneSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaneSettings")
            .field("lease", &self.lease)
            .field("heartbeat", &self.heartbeat)
            .field("max_running", &self.max_running)
            .finish_non_exhaustive()
    }
}
