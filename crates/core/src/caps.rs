//! What a backend on this host can enforce. Found out by trying, handed to the planner as a value.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::quantity::ByteSize;
use crate::spec::Staging;

/// One thing a sandbox can promise. The names stand in plans, receipts and `doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// The workspace can be staged: writes are kept apart from the host tree.
    StagedWorkspace,
    ReadonlyWorkspace,
    /// The program may be given the workspace itself to write to.
    DirectWorkspace,
    /// The system tree cannot be written.
    ReadonlyRoot,
    /// The root can be an image.
    ImageRoot,
    /// Blocked paths are not visible.
    BlockedPaths,
    /// Extra host paths can be mounted, read-only where asked.
    Mounts,
    /// Sized memory file systems.
    Tmpfs,
    /// Not root on the host, no capabilities, no way to gain them.
    Privileges,
    Seccomp,
    /// A seccomp profile of the user's choosing.
    SeccompProfile,
    Landlock,
    /// No network at all.
    NetworkNone,
    NetworkBridge,
    NetworkHost,
    /// Named hosts only.
    NetworkAllow,
    MemoryLimit,
    CpuLimit,
    PidsLimit,
    Timeout,
    IdleTimeout,
    OutputLimit,
    /// Only listed variables are visible.
    Environment,
    Tty,
    /// Another container runtime.
    Runtime,
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => f.write_str(&name),
            _ => fmt::Debug::fmt(self, f),
        }
    }
}

/// Why something cannot be had here, and what would change that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    pub reason: String,
    pub remedy: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    pub backend: Backend,
    /// Set where the backend cannot run at all.
    pub unusable: Option<Lack>,
    /// What it can hold. What is not named here is not promised.
    pub enforces: BTreeSet<Guarantee>,
    /// Reasons for what is missing, where one is known.
    pub lacks: BTreeMap<Guarantee, Lack>,
    /// Upper bound of a memory limit.
    pub host_memory: Option<ByteSize>,
    /// How it stages the workspace that was asked about.
    #[serde(default, skip_serializing_if = "Staging::is_overlay")]
    pub staging: Staging,
}

impl Caps {
    pub fn unusable(
        backend: Backend,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let unusable = Some(Lack { reason: reason.into(), remedy: remedy.into() });
        Self { unusable, ..Self::with(backend, []) }
    }

    pub fn with(backend: Backend, enforces: impl IntoIterator<Item = Guarantee>) -> Self {
        Self {
            backend,
            unusable: None,
            enforces: enforces.into_iter().collect(),
            lacks: BTreeMap::new(),
            host_memory: None,
            staging: Staging::Overlay,
        }
    }

    /// The bare host: the process is supervised, not confined.
    pub fn local() -> Self {
        use Guarantee::*;
        Self::with(
            Backend::Local,
            [DirectWorkspace, NetworkHost, Timeout, IdleTimeout, OutputLimit, Environment],
        )
    }

    /// A backend that keeps every promise that a request makes by default.
    pub fn confining(backend: Backend) -> Self {
        use Guarantee::*;
        Self::with(
            backend,
            [
                StagedWorkspace,
                ReadonlyWorkspace,
                DirectWorkspace,
                ReadonlyRoot,
                BlockedPaths,
                Mounts,
                Tmpfs,
                Privileges,
                Seccomp,
                Landlock,
                NetworkNone,
                MemoryLimit,
                CpuLimit,
                PidsLimit,
                Timeout,
                IdleTimeout,
                OutputLimit,
                Environment,
            ],
        )
    }

    /// Takes a promise back, with the reason.
    pub fn without(
        mut self,
        guarantee: Guarantee,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        self.enforces.remove(&guarantee);
        self.lacks.insert(guarantee, Lack { reason: reason.into(), remedy: remedy.into() });
        self
    }
}
