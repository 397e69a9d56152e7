//! `spec × policy × caps → Plan`, a pure function.
//!
//! The plan says everything a backend is to do and nothing about how. It can be printed, compared and
//! kept. Every check is a small function in [`rules`]; the first refusal ends the planning, so that
//! what is refused never has a plan.

mod exec;
mod profile;
mod requirements;
mod rules;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::caps::{Caps, Guarantee};
use crate::command::CommandRules;
use crate::env::{EnvName, EnvValue};
use crate::image::ImageRef;
use crate::mount::{HostPath, Mount};
use crate::paths::{Arg, ExactPath, clean_absolute};
use crate::policy::Policy;
use crate::quantity::ByteSize;
use crate::refusal::{Refusal, Rule};
use crate::repository::Repository;
use crate::result::{self, ResultRule};
use crate::spec::{
    Fetch, Limits, Mode, Network, Origin, Proof, Purpose, SandboxSpec, Seccomp, Staging, Terminal,
};
pub use exec::ExecSpec;
pub use profile::Profile;
pub use rules::{Guarded, mount_target};

/// Where the workspace stands inside every sandbox.
pub const WORKSPACE: &str = "/workspace";
/// The home directory inside every sandbox: empty, writable, gone at the end.
pub const HOME: &str = "/home/sandbox";
/// The search path where the host's own does not apply.
pub const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Version of the serialised form.
pub const PLAN_VERSION: u32 = 1;

/// All that a backend needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub version: u32,
    pub backend: Backend,
    #[serde(default, skip_serializing_if = "Purpose::is_command")]
    pub purpose: Purpose,
    pub command: Vec<Arg>,
    /// Directory to start in, as the program sees it.
    pub workdir: ExactPath,
    pub workspace: WorkspacePlan,
    /// Shown in the way the workspace is, though never written to on the host.
    pub repository: Option<Repository>,
    /// The run whose changes are there from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Origin>,
    /// Where it has a place to hand a result over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultRule>,
    pub root: Root,
    pub mounts: Vec<Mount>,
    pub toolchains: Vec<HostPath>,
    pub tmpfs: BTreeMap<ExactPath, ByteSize>,
    pub blocked: Vec<String>,
    pub env: BTreeMap<EnvName, EnvValue>,
    pub network: Network,
    pub allow_hosts: Vec<String>,
    pub limits: Limits,
    pub seccomp: Option<Seccomp>,
    /// What the sandbox's first process tries itself.
    #[serde(default, skip_serializing_if = "Proof::is_quick")]
    pub proof: Proof,
    pub runtime: Option<String>,
    pub terminal: Terminal,
    /// What may be run in it, command by command.
    #[serde(default, skip_serializing_if = "CommandRules::is_silent")]
    pub commands: CommandRules,
    /// What this run does *not* have, each with the reason.
    pub relaxed: Vec<Relaxed>,
    /// Exceptions of the host owner that this plan makes use of, each with its reason.
    pub overrides: Vec<Override>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspacePlan {
    pub source: HostPath,
    /// Where the program sees it.
    pub target: ExactPath,
    pub mode: Mode,
    /// How writes are kept apart, where `mode` says that they are.
    #[serde(default, skip_serializing_if = "Staging::is_overlay")]
    pub staging: Staging,
}

/// What the program sees as `/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    /// The host as it is.
    Bare,
    /// The host's system tree, without homes, state and sockets.
    Host {
        readonly: bool,
    },
    Image {
        image: ImageRef,
        readonly: bool,
        fetch: Fetch,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relaxed {
    pub guarantee: Guarantee,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    pub name: String,
    pub reason: String,
}

/// Makes the plan, or says why there is none.
pub fn plan(spec: &SandboxSpec, policy: &Policy, caps: &Caps) -> Result<Plan, Refusal> {
    let ceiling = policy.ceiling(spec.role.as_deref())?;
    rules::command(spec)?;
    rules::session(spec, caps)?;
    rules::proof(spec, caps)?;
    rules::consistent(spec)?;
    rules::under_ceiling(spec, &ceiling)?;
    let limits = rules::within_host(spec, caps)?;
    rules::network(spec, policy)?;
    rules::env(spec, policy)?;
    rules::relax(spec, policy)?;
    if caps.backend.confines() {
        rules::workspace(spec, policy)?;
        rules::repository(spec, policy)?;
    }
    let overrides = rules::mounts(spec, policy, &ceiling)?;
    rules::no_second_door(spec)?;
    rules::from(spec, caps)?;
    let relaxed = requirements::check(spec, caps)?;
    let is_relaxed = |g| relaxed.iter().any(|r: &Relaxed| r.guarantee == g);

    let target =
        if caps.backend.confines() { WORKSPACE.into() } else { spec.workspace.real.clone() };
    let mode = if caps.backend.confines() { spec.mode } else { Mode::Direct };
    let network = if caps.backend.confines() { spec.network } else { Network::Host };
    Ok(Plan {
        version: PLAN_VERSION,
        backend: caps.backend,
        purpose: spec.purpose,
        command: spec.command.clone(),
        workdir: workdir(spec.workdir.as_ref(), &target)?,
        workspace: WorkspacePlan {
            source: spec.workspace.clone(),
            target,
            mode,
            staging: if mode == Mode::Stage { caps.staging.clone() } else { Staging::Overlay },
        },
        repository: spec.repository.clone().filter(|_| caps.backend.confines()),
        from: spec.from.clone(),
        result: spec.result.clone(),
        root: root(spec, caps),
        mounts: spec.mounts.clone(),
        toolchains: if caps.backend.confines() { spec.toolchains.clone() } else { Vec::new() },
        tmpfs: if is_relaxed(Guarantee::Tmpfs) { BTreeMap::new() } else { spec.tmpfs.clone() },
        blocked: if is_relaxed(Guarantee::BlockedPaths) {
            Vec::new()
        } else {
            spec.blocked.clone()
        },
        env: env(spec, &root(spec, caps)),
        network,
        allow_hosts: spec.allow_hosts.clone(),
        limits,
        seccomp: (!is_relaxed(Guarantee::Seccomp)).then(|| spec.seccomp.clone()),
        proof: spec.proof,
        runtime: spec.runtime.clone(),
        terminal: spec.terminal,
        commands: CommandRules { policy: policy.commands.clone(), approval: spec.approval },
        relaxed,
        overrides,
    })
}

fn root(spec: &SandboxSpec, caps: &Caps) -> Root {
    let readonly = spec.readonly_root;
    match &spec.image {
        _ if !caps.backend.confines() => Root::Bare,
        Some(image) if !image.is_host() => {
            Root::Image { image: image.clone(), readonly, fetch: spec.fetch }
        }
        _ => Root::Host { readonly },
    }
}

/// A relative working directory is below the workspace and stays there.
pub fn workdir(asked: Option<&ExactPath>, workspace: &Path) -> Result<ExactPath, Refusal> {
    let Some(asked) = asked else { return Ok(workspace.to_owned().into()) };
    let refuse = |message: String| Refusal {
        rule: Rule::ValueForm,
        field: "workdir".to_owned(),
        message,
        remedy: "name a directory below the workspace, or an absolute path inside the sandbox"
            .to_owned(),
    };
    if asked.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(refuse("it holds a NUL byte".to_owned()));
    }
    let full = clean_absolute(&workspace.join(asked))
        .ok_or_else(|| refuse(format!("{} leads above the root", asked.display())))?;
    if asked.is_relative() && !full.starts_with(workspace) {
        return Err(refuse(format!("{} leads out of the workspace", asked.display())));
    }
    Ok(full.into())
}

/// Keeps tools from leaving behind what nobody asked for: whoever only asks git for the state of things no changed index,
/// whoever runs Python no compiled copy of each module, which would be executed in the place of its source.
const TIDY: [(&str, &str); 2] = [("GIT_OPTIONAL_LOCKS", "0"), ("PYTHONDONTWRITEBYTECODE", "1")];

fn env(spec: &SandboxSpec, root: &Root) -> BTreeMap<EnvName, EnvValue> {
    let mut env = BTreeMap::new();
    let confined = *root != Root::Bare;
    for (name, value) in TIDY.iter().filter(|_| confined) {
        if let Ok(name) = name.parse() {
            env.insert(name, EnvValue::Set((*value).to_owned()));
        }
    }
    for (name, value) in &spec.host_env {
        let value = match name.as_str() {
            // An image knows where its programs are.
            "PATH" if matches!(root, Root::Image { .. }) => continue,
            "PATH" if confined => search_path(value, &spec.toolchains),
            "HOME" if confined => HOME.to_owned(),
            "USER" | "LOGNAME" if confined => "sandbox".to_owned(),
            _ => value.clone(),
        };
        env.insert(name.clone(), EnvValue::Set(value));
    }
    // What was asked for by name wins over what merely describes the place.
    env.extend(spec.env.clone());
    // On the bare host its path is that of the run's own directory, which is not known yet.
    if let (true, true, Ok(name)) = (confined, spec.result.is_some(), result::VARIABLE.parse()) {
        env.insert(name, EnvValue::Set(format!("{}/{}", result::PLACE, result::FILE)));
    }
    env
}

/// The host's search path as far as it leads somewhere inside: the system's trees and toolchains.
fn search_path(host: &str, toolchains: &[HostPath]) -> String {
    let system: Vec<&str> = SYSTEM_PATH.split(':').collect();
    let visible = |dir: &&str| {
        // Some install below it, in directories of their own: `/usr/local/go/bin`.
        system.contains(dir)
            || Path::new(dir).starts_with("/usr")
            || toolchains.iter().any(|t| Path::new(dir).starts_with(&t.asked))
    };
    let mut dirs: Vec<&str> = host.split(':').filter(visible).collect();
    dirs.extend(system.iter().filter(|dir| !host.split(':').any(|h| h == **dir)));
    dirs.join(":")
}

impl Plan {
    /// Whether what the program writes to the workspace is kept apart from it.
    pub fn stages(&self) -> bool {
        self.workspace.mode == Mode::Stage && self.backend.confines()
    }

    /// Whether the program works in a copy of the workspace.
    pub fn copies(&self) -> bool {
        self.stages() && !self.workspace.staging.is_overlay()
    }

    /// Every path the program could use to leave a trace on the host: for the record and for tests.
    pub fn host_paths(&self) -> Vec<PathBuf> {
        let mounts = self.mounts.iter().map(|m| m.source.real.0.clone());
        std::iter::once(self.workspace.source.real.0.clone()).chain(mounts).collect()
    }
}

#[cfg(test)]
mod tests;
