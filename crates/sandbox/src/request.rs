//! From settings and a command to a `SandboxSpec` and a `Policy`.
//!
//! Flags, files, API and MCP come through here. Host paths are looked up once, now; what they were is
//! in the spec, and backends check again, by descriptor, that they still are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cofferdam_core::backend::{BackendChoice, Fallback};
use cofferdam_core::command::Approval;
use cofferdam_core::config::{ImageSettings, Key, Settings};
use cofferdam_core::env::{EnvName, EnvValue, Secret};
use cofferdam_core::mount::Mount;
use cofferdam_core::paths::{Arg, ExactPath, overlap};
use cofferdam_core::policy::forbidden::Places;
use cofferdam_core::policy::{Ceiling, Exception, Forbidden, MountPolicy, Policy};
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::result::ResultRule;
use cofferdam_core::spec::{Fetch, Limits, Origin, Purpose, SandboxSpec, Terminal};

use crate::host::{Homes, look_up, repository, toolchains};

/// A command or a session, and what is known about who asks and where.
#[derive(Debug, Clone)]
pub struct Ask {
    pub purpose: Purpose,
    pub command: Vec<Arg>,
    pub workspace: PathBuf,
    pub workdir: Option<ExactPath>,
    pub terminal: Terminal,
    pub role: Option<String>,
    pub result: Option<ResultRule>,
    /// See [`crate::changes::resume::origin`].
    /// Whether somebody has said yes to the command, where it needs that.
    pub approval: Approval,
    pub from: Option<Origin>,
    /// Settings that somebody wrote down.
    pub explicit: BTreeSet<Key>,
    /// Host variables that describe the place: `PATH`, `LANG`, …
    pub host_env: BTreeMap<EnvName, String>,
    /// Values of the host variables that are passed through by name, where they are set.
    pub passed: BTreeMap<EnvName, String>,
    pub homes: Homes,
    pub places: Places,
}

/// A request as the planner takes it.
#[derive(Debug, Clone)]
pub struct Request {
    pub spec: SandboxSpec,
    pub policy: Policy,
    /// Of the project's own image.
    pub images: ImageSettings,
    /// What the user should know and nothing is refused for.
    pub notes: Vec<String>,
}

/// Looks everything up and puts it together.
pub fn assemble(settings: &Settings, ask: Ask) -> Result<Request, Refusal> {
    let sandbox = &settings.sandbox;
    let policy = policy(settings, &ask)?;
    let workspace = look_up(&ask.workspace).map_err(|error| Refusal {
        rule: Rule::WorkspaceAllowed,
        field: "workspace".to_owned(),
        message: format!("{error}: {}", error.source),
        remedy: "name a directory that exists with --workspace".to_owned(),
    })?;
    if workspace.kind != cofferdam_core::mount::HostKind::Directory {
        return Err(Refusal {
            rule: Rule::WorkspaceAllowed,
            field: "workspace".to_owned(),
            message: format!("{} is not a directory", ask.workspace.display()),
            remedy: "name a directory with --workspace".to_owned(),
        });
    }
    let mut notes = Vec::new();
    let repository = repository(&workspace).unwrap_or_else(|why| {
        notes.push(format!("git will not work inside: {why}"));
        None
    });
    let mut explicit = ask.explicit;
    let backend = if sandbox.enabled {
        sandbox.backend
    } else {
        // The host owner chose to run without a sandbox; that covers what the same file asks of one.
        explicit.clear();
        BackendChoice::Local
    };
    let toolchains = match ask.host_env.iter().find(|(name, _)| name.as_str() == "PATH") {
        Some((_, path)) => toolchains(path, &ask.homes, &policy.mounts.forbidden),
        None => Vec::new(),
    };
    // What is part of the workspace is seen there, with what is blocked in it hidden.
    let toolchains: Vec<_> = toolchains
        .into_iter()
        .filter(|t| !t.paths.iter().any(|path| overlap(&path.real, &workspace.real)))
        .collect();
    let mut host_env = ask.host_env;
    for (name, value) in toolchains.iter().flat_map(|t| &t.env) {
        if let (Ok(name), Some(value)) = (name.parse(), value.to_str()) {
            host_env.insert(name, value.to_owned());
        }
    }
    let spec = SandboxSpec {
        purpose: ask.purpose,
        command: ask.command,
        mounts: mounts(settings, &workspace.real)?,
        workspace,
        repository,
        workdir: ask.workdir,
        backend,
        fallback: if sandbox.fallback_to_direct { Fallback::ToDirect } else { Fallback::Refuse },
        image: sandbox.image.clone(),
        mode: sandbox.mode,
        network: sandbox.network,
        allow_hosts: sandbox.allow_hosts.clone(),
        limits: Limits {
            memory: sandbox.memory_limit,
            cpus: sandbox.cpu_limit,
            pids: sandbox.pids_limit,
            timeout: sandbox.timeout,
            idle_timeout: sandbox.idle_timeout,
            stop_grace: sandbox.stop_grace,
            output: sandbox.output_limit,
            disk_reserve: sandbox.disk_reserve,
        },
        fetch: Fetch { pull: sandbox.pull, timeout: sandbox.pull_timeout },
        readonly_root: sandbox.readonly_root,
        tmpfs: sandbox.tmpfs.clone(),
        blocked: sandbox.blocked.clone(),
        env: env(settings, ask.passed),
        host_env,
        toolchains: toolchains.into_iter().flat_map(|t| t.paths).collect(),
        seccomp: sandbox.seccomp.clone(),
        proof: sandbox.receipt,
        runtime: sandbox.runtime.clone(),
        terminal: ask.terminal,
        relax: sandbox.relax.clone(),
        role: ask.role,
        from: ask.from,
        result: ask.result,
        approval: ask.approval,
        explicit,
    };
    Ok(Request { spec, policy, images: settings.images.clone(), notes })
}

fn env(settings: &Settings, passed: BTreeMap<EnvName, String>) -> BTreeMap<EnvName, EnvValue> {
    let passed =
        passed.into_iter().map(|(name, value)| (name, EnvValue::Passed(Secret::new(value))));
    let mut env: BTreeMap<EnvName, EnvValue> = passed.collect();
    for (name, value) in &settings.sandbox.env {
        env.insert(name.clone(), EnvValue::literal(name, value));
    }
    env
}

fn mounts(settings: &Settings, workspace: &Path) -> Result<Vec<Mount>, Refusal> {
    let mounts = settings.sandbox.mounts.iter().map(|request| {
        let source = workspace.join(&request.source);
        let source = look_up(&source).map_err(|error| Refusal {
            rule: Rule::MountSource,
            field: "sandbox.mounts".to_owned(),
            message: format!("{error}: {}", error.source),
            remedy: "a mount source must exist; make it, or leave the mount out".to_owned(),
        })?;
        Ok(Mount { source, target: request.target.clone(), access: request.access })
    });
    mounts.collect()
}

fn policy(settings: &Settings, ask: &Ask) -> Result<Policy, Refusal> {
    let policy = &settings.policy;
    // Policy is written by name but holds for the place: links are followed here as in the request.
    let real = |path: &Path| {
        let full = ask.workspace.join(path);
        std::fs::canonicalize(&full).unwrap_or(full)
    };
    let allowed = std::iter::once(&policy.root).chain(&policy.allowed_paths);
    let roles = policy.roles.iter().map(|(name, role)| {
        let mut ceiling = Ceiling::from(role);
        ceiling.allowed_paths.iter_mut().flatten().for_each(|path| *path = real(path));
        (name.clone(), ceiling)
    });
    Ok(Policy {
        mounts: MountPolicy {
            allowed: allowed.map(|path| real(path)).collect(),
            exceptions: policy
                .exceptions
                .iter()
                .map(|e| Exception {
                    path: real(&e.path),
                    access: e.access,
                    reason: e.reason.clone(),
                })
                .collect(),
            forbidden: Forbidden::new(&every_name(&ask.places)),
        },
        network: policy.network,
        env: policy.env.clone(),
        relax: policy.relax.clone(),
        roles: roles.collect(),
        commands: policy.commands.clone(),
    })
}

/// The places by the names that were given and by those they really have. A path that somebody asks for
/// is judged by where it leads, so what it must not lead to has to be known by that name, too.
fn every_name(places: &Places) -> Places {
    let both = |paths: &[PathBuf]| -> Vec<PathBuf> {
        let real = paths.iter().map(|path| really(path));
        paths.iter().cloned().chain(real).collect()
    };
    Places { homes: both(&places.homes), state: both(&places.state), config: both(&places.config) }
}

/// A path with links followed as far as it exists.
fn really(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|part| Some((part, std::fs::canonicalize(part).ok()?)));
    match there {
        Some((part, real)) => match path.strip_prefix(part) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            _ => real,
        },
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_behind_a_link_is_known_by_its_real_name() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("real/ada")).unwrap();
        std::os::unix::fs::symlink("real", top.join("link")).unwrap();
        let places = every_name(&Places {
            homes: vec![top.join("link/ada")],
            state: vec![top.join("link/ada/.local/state/cofferdam")],
            config: vec![],
        });
        assert!(places.homes.contains(&top.join("real/ada")));
        assert!(places.state.contains(&top.join("real/ada/.local/state/cofferdam")));
        let forbidden = Forbidden::new(&places);
        assert!(forbidden.reason(&top.join("real/ada/.ssh")).is_some());
        assert!(forbidden.reason(&top.join("real/ada/src")).is_none());
    }
}
