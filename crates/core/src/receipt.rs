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
    /// What the sandbox's first process tried against it, before the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
}

/// One forbidden act that was tried in that very sandbox, and refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub act: Act,
    /// What the kernel said.
    pub answer: String,
    /// Whether it was tried again when the command had ended, and refused again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// What a first process tries. One that succeeds stops the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    WriteOutside,
    ReachNetwork,
    SignalOthers,
    GainCapability,
    RaiseLimit,
    OpenBlocked,
    ReachEngine,
    /// Every system call that the filter has to refuse.
    MakeCalls,
}

impl Act {
    pub const ALL: [Self; 8] = [
        Self::WriteOutside,
        Self::ReachNetwork,
        Self::SignalOthers,
        Self::GainCapability,
        Self::RaiseLimit,
        Self::OpenBlocked,
        Self::ReachEngine,
        Self::MakeCalls,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteOutside => "write_outside",
            Self::ReachNetwork => "reach_network",
            Self::SignalOthers => "signal_others",
            Self::GainCapability => "gain_capability",
            Self::RaiseLimit => "raise_limit",
            Self::OpenBlocked => "open_blocked",
            Self::ReachEngine => "reach_engine",
            Self::MakeCalls => "make_calls",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.name() == name)
    }

    /// In words, after "it could".
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::WriteOutside => "write outside of what it was given",
            Self::ReachNetwork => "reach a network",
            Self::SignalOthers => "signal processes other than its own",
            Self::GainCapability => "gain a capability",
            Self::RaiseLimit => "raise its own limits",
            Self::OpenBlocked => "open a blocked path",
            Self::ReachEngine => "reach a container engine",
            Self::MakeCalls => "make a system call that is refused",
        }
    }

    /// What it is tried against.
    pub const fn guarantee(self) -> Guarantee {
        match self {
            Self::WriteOutside | Self::ReachEngine => Guarantee::ReadonlyRoot,
            Self::ReachNetwork => Guarantee::NetworkNone,
            Self::SignalOthers | Self::GainCapability | Self::RaiseLimit => Guarantee::Privileges,
            Self::OpenBlocked => Guarantee::BlockedPaths,
            Self::MakeCalls => Guarantee::Seccomp,
        }
    }
}

/// What came of trying once more, when the command had ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Again {
    #[default]
    NotAsked,
    Refused,
    Succeeded(Act),
}

/// A forbidden act that succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub act: Act,
    /// What was written, reached or opened.
    pub what: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the sandbox does not hold: it could {} ({})", self.act.in_words(), self.what)
    }
}

/// Puts probes to the guarantees that they were made against.
pub fn attach(receipt: &mut [Holding], probes: Vec<Probe>) {
    for probe in probes {
        let wanted = probe.act.guarantee();
        let held = |holding: &Holding| holding.state == Held::Enforced;
        let at = receipt.iter().position(|h| h.guarantee == wanted && held(h));
        let at = at.or_else(|| receipt.iter().position(|h| h.guarantee == Guarantee::Privileges));
        if let Some(holding) = at.and_then(|at| receipt.get_mut(at)) {
            holding.probes.push(probe);
        }
    }
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
