//! What a run was given, as read back from the kernel or the engine: not what was meant.

use serde::{Deserialize, Serialize};

use crate::caps::Guarantee;

/// One guarantee of one run: what gives it and what was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    pub guarantee: Guarantee,
    /// What enforces it, in words: `cgroup v2 memory.max`, `empty network namespace`.
    pub mechanism: String,
    pub state: Held,
    /// The value that was read back, where there is one.
    pub read_back: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    Enforced,
    /// Given up by name, or because the host owner chose to run without a sandbox.
    Relaxed,
}

/// How sure we are that nothing of the run is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleanup {
    pub receipt: CleanupReceipt,
    /// What is left, or could not be looked at.
    pub left: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanupReceipt {
    /// Every process and resource is seen to be gone.
    Terminated,
    /// Something is still there, but nothing of it can act on the host.
    Isolated,
    /// Not known.
    Unconfirmed,
}

impl Cleanup {
    pub fn terminated() -> Self {
        Self { receipt: CleanupReceipt::Terminated, left: Vec::new() }
    }

    pub fn unconfirmed(left: impl Into<String>) -> Self {
        Self { receipt: CleanupReceipt::Unconfirmed, left: vec![left.into()] }
    }
}
