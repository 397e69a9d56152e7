//! The settled values as typed structs, with fields named as the keys.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::key::Key;
use super::resolve::Resolved;
use super::value::Value;
use crate::backend::BackendChoice;
use crate::check::Levels;
use crate::command::{CommandPattern, CommandPolicy};
use crate::env::EnvName;
use crate::image::ImageRef;
use crate::mount::MountRequest;
use crate::paths::ExactPath;
use crate::policy::Exception;
use crate::quantity::{ByteSize, Cpus, Span};
use crate::spec::{Mode, Network, Proof, Pull, Relax, Seccomp, Threshold};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub sandbox: SandboxSettings,
    pub images: ImageSettings,
    pub changes: ChangeSettings,
    pub policy: PolicySettings,
    pub mcp: McpSettings,
    pub check: CheckSettings,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    pub enabled: bool,
    pub backend: BackendChoice,
    pub fallback_to_direct: bool,
    pub image: Option<ImageRef>,
    pub pull: Pull,
    pub pull_timeout: Span,
    pub mode: Mode,
    pub network: Network,
    pub allow_hosts: Vec<String>,
    pub memory_limit: ByteSize,
    pub cpu_limit: Cpus,
    pub pids_limit: u32,
    pub timeout: Span,
    pub idle_timeout: Option<Span>,
    pub stop_grace: Span,
    pub readonly_root: bool,
    pub tmpfs: BTreeMap<ExactPath, ByteSize>,
    pub mounts: Vec<MountRequest>,
    pub blocked: Vec<String>,
    pub env: BTreeMap<EnvName, String>,
    pub env_passthrough: Vec<EnvName>,
    pub seccomp: Seccomp,
    pub receipt: Proof,
    pub runtime: Option<String>,
    pub output_limit: ByteSize,
    pub disk_reserve: ByteSize,
    pub relax: BTreeSet<Relax>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSettings {
    pub dockerfile: ExactPath,
    pub auto_build: bool,
    pub network: Network,
    pub timeout: Span,
    pub gate: Threshold,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSettings {
    pub auto: Vec<String>,
    pub deny: Vec<String>,
    pub allow_classes: Vec<String>,
    pub budget: Budget,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub files: u32,
    pub bytes: ByteSize,
    pub deletions: u32,
    /// Percent of the tree.
    pub share: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    pub root: ExactPath,
    pub allowed_paths: Vec<ExactPath>,
    pub exceptions: Vec<Exception>,
    pub network: Network,
    pub build_network: Network,
    pub env: Vec<String>,
    pub relax: BTreeSet<Relax>,
    pub roles: BTreeMap<String, RoleSettings>,
    pub commands: CommandPolicy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSettings {
    pub levels: Levels,
    pub rules: Vec<ExactPath>,
    pub suppressions: bool,
}

/// What is given to agents that come over the Model Context Protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpSettings {
    pub apply: bool,
}

/// The ceiling of a role. What is `None` sets no bound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleSettings {
    pub memory_limit: Option<ByteSize>,
    pub cpu_limit: Option<Cpus>,
    pub pids_limit: Option<u32>,
    pub timeout: Option<Span>,
    pub network: Option<Network>,
    pub mode: Option<Mode>,
    pub allowed_paths: Option<Vec<ExactPath>>,
}

/// The inside of a value. The table gives each key one variant, so another cannot stand there; a test
/// builds the settings from every default.
macro_rules! take {
    ($resolved:ident, $key:ident, $variant:ident) => {
        match $resolved.get(Key::$key).0 {
            Value::$variant(inside) => inside.clone(),
            other => unreachable!("{} holds {other:?}", Key::$key),
        }
    };
}

impl Settings {
    pub(super) fn of(resolved: &Resolved) -> Self {
        Self {
            sandbox: SandboxSettings {
                enabled: take!(resolved, SandboxEnabled, Switch),
                backend: take!(resolved, SandboxBackend, Backend),
                fallback_to_direct: take!(resolved, SandboxFallbackToDirect, Switch),
                image: take!(resolved, SandboxImage, Image),
                pull: take!(resolved, SandboxPull, Pull),
                pull_timeout: take!(resolved, SandboxPullTimeout, Span),
                mode: take!(resolved, SandboxMode, Mode),
                network: take!(resolved, SandboxNetwork, Network),
                allow_hosts: take!(resolved, SandboxAllowHosts, Texts),
                memory_limit: take!(resolved, SandboxMemoryLimit, Size),
                cpu_limit: take!(resolved, SandboxCpuLimit, Cpus),
                pids_limit: take!(resolved, SandboxPidsLimit, Count),
                timeout: take!(resolved, SandboxTimeout, Span),
                idle_timeout: take!(resolved, SandboxIdleTimeout, SpanOrOff),
                stop_grace: take!(resolved, SandboxStopGrace, Span),
                readonly_root: take!(resolved, SandboxReadonlyRoot, Switch),
                tmpfs: take!(resolved, SandboxTmpfs, Tmpfs),
                mounts: take!(resolved, SandboxMounts, Mounts),
                blocked: take!(resolved, SandboxBlocked, Texts),
                env: take!(resolved, SandboxEnv, Env),
                env_passthrough: take!(resolved, SandboxEnvPassthrough, EnvNames),
                seccomp: take!(resolved, SandboxSeccomp, Seccomp),
                receipt: take!(resolved, SandboxReceipt, Proof),
                runtime: take!(resolved, SandboxRuntime, Runtime),
                output_limit: take!(resolved, SandboxOutputLimit, Size),
                disk_reserve: take!(resolved, SandboxDiskReserve, Size),
                relax: take!(resolved, SandboxRelax, Relax),
            },
            images: ImageSettings {
                dockerfile: take!(resolved, ImagesDockerfile, Path),
                auto_build: take!(resolved, ImagesAutoBuild, Switch),
                network: take!(resolved, ImagesNetwork, Network),
                timeout: take!(resolved, ImagesTimeout, Span),
                gate: take!(resolved, ImagesGate, Threshold),
            },
            changes: ChangeSettings {
                auto: take!(resolved, ChangesAuto, Texts),
                deny: take!(resolved, ChangesDeny, Texts),
                allow_classes: take!(resolved, ChangesAllowClasses, Texts),
                budget: Budget {
                    files: take!(resolved, ChangesBudgetFiles, Count),
                    bytes: take!(resolved, ChangesBudgetBytes, Size),
                    deletions: take!(resolved, ChangesBudgetDeletions, Count),
                    share: take!(resolved, ChangesBudgetShare, Count),
                },
            },
            policy: PolicySettings {
                root: take!(resolved, PolicyRoot, Path),
                allowed_paths: take!(resolved, PolicyAllowedPaths, Paths),
                exceptions: take!(resolved, PolicyExceptions, Exceptions),
                network: take!(resolved, PolicyNetwork, Network),
                build_network: take!(resolved, PolicyBuildNetwork, Network),
                env: take!(resolved, PolicyEnv, Texts),
                relax: take!(resolved, PolicyRelax, Relax),
                roles: take!(resolved, PolicyRoles, Roles),
                commands: CommandPolicy {
                    builtin: take!(resolved, PolicyCommandsBuiltin, Switch),
                    default: take!(resolved, PolicyCommandsDefault, Verdict),
                    allow: patterns(take!(resolved, PolicyCommandsAllow, Texts)),
                    review: patterns(take!(resolved, PolicyCommandsReview, Texts)),
                    deny: patterns(take!(resolved, PolicyCommandsDeny, Texts)),
                },
            },
            check: CheckSettings {
                levels: Levels {
                    profile: take!(resolved, CheckProfile, Profile),
                    deny: take!(resolved, CheckDeny, Texts),
                    warn: take!(resolved, CheckWarn, Texts),
                    off: take!(resolved, CheckOff, Texts),
                },
                rules: take!(resolved, CheckRules, Paths),
                suppressions: take!(resolved, CheckSuppressions, Switch),
            },
            mcp: McpSettings { apply: take!(resolved, McpApply, Switch) },
        }
    }
}

/// Texts that the form has read as patterns before.
fn patterns(texts: Vec<String>) -> Vec<CommandPattern> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}
