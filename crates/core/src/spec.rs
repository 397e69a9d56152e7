//! What is asked for. Flags, files, API and MCP all end here, and only here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::backend::{BackendChoice, Fallback};
use crate::command::Approval;
use crate::config::Key;
use crate::env::{EnvName, EnvValue};
use crate::id::RunId;
use crate::image::ImageRef;
use crate::mount::{HostPath, Mount};
use crate::paths::{Arg, ExactPath};
use crate::quantity::{ByteSize, Cpus, Span};
use crate::repository::Repository;
use crate::result::ResultRule;

/// A request for one sandboxed command, or one session, complete: nothing is looked up later but what the
/// host can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    #[serde(default)]
    pub purpose: Purpose,
    pub command: Vec<Arg>,
    pub workspace: HostPath,
    /// Where the workspace's history is, if that is elsewhere.
    pub repository: Option<Repository>,
    /// Directory to start in, relative to the workspace or absolute inside the sandbox.
    pub workdir: Option<ExactPath>,
    pub backend: BackendChoice,
    pub fallback: Fallback,
    pub image: Option<ImageRef>,
    pub fetch: Fetch,
    pub mode: Mode,
    pub network: Network,
    pub allow_hosts: Vec<String>,
    pub limits: Limits,
    pub readonly_root: bool,
    pub tmpfs: BTreeMap<ExactPath, ByteSize>,
    pub mounts: Vec<Mount>,
    pub blocked: Vec<String>,
    pub env: BTreeMap<EnvName, EnvValue>,
    /// The few host variables that describe the place and not the person: `PATH`, `LANG`, `TERM`, …
    pub host_env: BTreeMap<EnvName, String>,
    /// Toolchains found on `PATH` below the home directory, shown read-only at the same path.
    pub toolchains: Vec<HostPath>,
    pub seccomp: Seccomp,
    #[serde(default)]
    pub proof: Proof,
    pub runtime: Option<String>,
    pub terminal: Terminal,
    pub relax: BTreeSet<Relax>,
    pub role: Option<String>,
    /// The run to go on from.
    pub from: Option<Origin>,
    /// What is asked of its result, where it is to hand one over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultRule>,
    /// Whether somebody has said yes to a command that needs it.
    #[serde(default)]
    pub approval: Approval,
    /// The settings that somebody wrote down, as against the built-in defaults. What was asked for by
    /// name is refused where it cannot be held; on the bare host a default merely does not apply.
    pub explicit: BTreeSet<Key>,
}

/// What a sandbox is made for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// One command, with which it ends.
    #[default]
    Command,
    /// Many commands, one after the other or at once. The request itself has none.
    Session,
    /// Nothing: it is a look at what a session has changed so far.
    Look,
}

impl Purpose {
    pub fn is_command(&self) -> bool {
        *self == Self::Command
    }
}

/// A sealed run whose changes another run begins with.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    pub run: RunId,
    /// Hash of its manifest.
    pub manifest: String,
}

/// What the program may do to the workspace. Ordered: the stricter is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Writes go to the host tree at once.
    Direct,
    /// Writes are kept apart until they are applied.
    Stage,
    /// Writes fail.
    Readonly,
}

/// How writes to a workspace are kept apart from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Staging {
    /// Above it, on an overlay: the cost is that of what is changed.
    #[default]
    Overlay,
    /// In a copy of it: the cost is that of the whole. `reason` says why there can be no overlay.
    Copy { reason: String },
}

impl Staging {
    pub fn is_overlay(&self) -> bool {
        *self == Self::Overlay
    }
}

/// What the program can reach. Ordered: the stricter is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    Host,
    Bridge,
    /// Named hosts only, through a proxy.
    Allow,
    None,
}

/// When an image is fetched from its registry. Ordered: the stricter is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pull {
    /// Before every run, so that a tag means what it means today.
    Always,
    /// Where the engine has none of that name.
    Missing,
    Never,
}

/// How much of what is forbidden the sandbox's first process tries itself. Ordered: the stricter is the greater.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Proof {
    /// What costs next to nothing.
    #[default]
    Quick,
    /// All of it.
    Full,
    /// All of it, and once more when the command has ended.
    Paranoid,
}

impl Proof {
    pub const fn is_quick(&self) -> bool {
        matches!(self, Self::Quick)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fetch {
    pub pull: Pull,
    pub timeout: Span,
}

/// From which severity on a finding is too much. Ordered: the stricter is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Threshold {
    Off,
    Critical,
    High,
    Medium,
    Low,
}

/// A guarantee that may be given up by name, where policy permits. Shown in the receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relax {
    /// Memory, cpu and process limits.
    Limits,
    /// The Landlock layer on top of the namespaces.
    Landlock,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seccomp {
    Default,
    /// A profile file for a container engine.
    File(ExactPath),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Terminal {
    /// Standard input, output and error as three separate streams.
    Streams,
    /// A pseudo-terminal.
    Tty,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// Memory and swap together.
    pub memory: ByteSize,
    pub cpus: Cpus,
    pub pids: u32,
    pub timeout: Span,
    pub idle_timeout: Option<Span>,
    pub stop_grace: Span,
    /// Bytes kept of each output stream.
    pub output: ByteSize,
    /// Bytes that stay free on the disk that is written to.
    #[serde(default)]
    pub disk_reserve: ByteSize,
}

/// Names as they stand in files and flags, and back.
macro_rules! named {
    ($kind:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $kind {
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named!(Mode { Stage = "stage", Direct = "direct", Readonly = "readonly" });
named!(Network { None = "none", Allow = "allow", Bridge = "bridge", Host = "host" });
named!(Proof { Quick = "quick", Full = "full", Paranoid = "paranoid" });
named!(Pull { Never = "never", Missing = "missing", Always = "always" });
named!(Threshold { Off = "off", Critical = "critical", High = "high", Medium = "medium", Low = "low" });
named!(Relax { Limits = "limits", Landlock = "landlock" });
