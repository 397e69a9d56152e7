//! The word no: which rule said it, about which field, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why something will not be run. Nothing has been started when one of these exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Refusal {
    pub rule: Rule,
    /// The setting that was refused, by its configuration key.
    pub field: String,
    pub message: String,
    pub remedy: String,
}

/// The rules that can refuse. Their names stand in events and in the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A value does not have the form its setting asks for.
    ValueForm,
    /// A value is outside what this host has.
    HostRange,
    /// The chosen backend cannot run here at all.
    BackendUsable,
    /// The chosen backend cannot enforce what is asked for.
    BackendEnforces,
    /// Two settings contradict each other.
    Consistent,
    /// A mount source that no policy can allow: sockets, system trees, home, credentials.
    MountForbidden,
    /// A mount source outside the project root, the allowed paths and the exceptions.
    MountAllowed,
    /// A mount source that is missing, changed or of a kind that cannot be mounted.
    MountSource,
    /// A mount target that would cover what the sandbox itself is made of.
    MountTarget,
    /// The workspace is a directory that must not be given to a program.
    WorkspaceAllowed,
    /// More than the host owner's ceiling, or the role's.
    Ceiling,
    /// A network wider than host policy allows.
    NetworkAllowed,
    /// A host variable that policy does not let in.
    EnvAllowed,
    /// A relaxation that host policy does not permit.
    RelaxAllowed,
    /// A role that host policy does not define.
    RoleKnown,
    /// A command that a rule denies.
    CommandAllowed,
    /// A command that somebody must say yes to first.
    CommandReviewed,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The serialised name is the public one; a unit variant always serialises to a string.
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => f.write_str(&name),
            _ => fmt::Debug::fmt(self, f),
        }
    }
}
