//! The checks a request must pass. Each is pure and looks at one thing.

use std::path::{Path, PathBuf};

use super::{Override, WORKSPACE};
use crate::backend::Backend;
use crate::caps::Caps;
use crate::config::Key;
use crate::mount::{Access, Mount};
use crate::paths::{Arg, ExactPath, overlap};
use crate::policy::{self, Ceiling, Policy};
use crate::quantity::ByteSize;
use crate::refusal::{Refusal, Rule};
use crate::result;
use crate::spec::{Limits, Mode, Network, Proof, Purpose, SandboxSpec};
use crate::weaken::{Weakness, weakened};

fn refuse(rule: Rule, field: &str, message: impl Into<String>, remedy: &str) -> Refusal {
    Refusal { rule, field: field.to_owned(), message: message.into(), remedy: remedy.to_owned() }
}

pub(super) fn command(spec: &SandboxSpec) -> Result<(), Refusal> {
    if spec.purpose != Purpose::Command && spec.command.is_empty() {
        return Ok(());
    }
    program(&spec.command)
}

/// Whether this can be run at all.
pub(super) fn program(command: &[Arg]) -> Result<(), Refusal> {
    let program = command.first().filter(|program| !program.0.is_empty());
    if program.is_none() {
        return Err(refuse(
            Rule::ValueForm,
            "command",
            "there is no command to run",
            "write it after `--`, as in `cofferdam run -- make test`",
        ));
    }
    if command.iter().any(|arg| arg.0.as_encoded_bytes().contains(&0)) {
        return Err(refuse(
            Rule::ValueForm,
            "command",
            "an argument holds a NUL byte",
            "no program can be given one; leave it out",
        ));
    }
    Ok(())
}

/// What is forbidden can be tried only where something is, and once more only where it is clear when.
pub(super) fn proof(spec: &SandboxSpec, caps: &Caps) -> Result<(), Refusal> {
    let field = "sandbox.receipt";
    if spec.proof > Proof::Quick && !caps.backend.confines() {
        let message = format!("{} forbids nothing that could be tried", caps.backend);
        let remedy = "use a backend that confines, or leave --receipt out";
        return Err(refuse(Rule::Consistent, field, message, remedy));
    }
    if spec.proof == Proof::Paranoid && spec.purpose == Purpose::Session {
        let message = "a session has no one command after which to try again";
        let remedy = "use --receipt full, or run the commands one by one with `cofferdam run`";
        return Err(refuse(Rule::Consistent, field, message, remedy));
    }
    Ok(())
}

/// A sandbox that takes many commands is a sandbox.
pub(super) fn session(spec: &SandboxSpec, caps: &Caps) -> Result<(), Refusal> {
    if spec.purpose == Purpose::Command || caps.backend != Backend::Local {
        return Ok(());
    }
    Err(refuse(
        Rule::Consistent,
        "sandbox.backend",
        format!("a session cannot be held on {}", caps.backend),
        "start it with --sandbox native, docker or podman, or run the commands one by one with `cofferdam run`",
    ))
}

pub(super) fn consistent(spec: &SandboxSpec) -> Result<(), Refusal> {
    if !spec.allow_hosts.is_empty() && spec.network != Network::Allow {
        return Err(refuse(
            Rule::Consistent,
            "sandbox.allow_hosts",
            format!("hosts are allowed by name, but the network is {}", spec.network),
            "set the network to allow, or leave the hosts out",
        ));
    }
    if spec.result.is_none() {
        return Ok(());
    }
    if spec.purpose != Purpose::Command {
        return Err(refuse(
            Rule::Consistent,
            "result",
            "a session runs many commands, and a result is that of one",
            "ask for it with `cofferdam run --result`",
        ));
    }
    let targets = spec.mounts.iter().map(|mount| &mount.target).chain(spec.tmpfs.keys());
    let place = Path::new(result::PLACE);
    match targets.into_iter().find(|at| overlap(at, place)) {
        None => Ok(()),
        Some(at) => Err(refuse(
            Rule::Consistent,
            "result",
            format!("{} is in the way of the result's place, {}", at.display(), place.display()),
            "mount it elsewhere",
        )),
    }
}

pub(super) fn under_ceiling(spec: &SandboxSpec, ceiling: &Ceiling) -> Result<(), Refusal> {
    ceiling.check(&spec.limits, spec.network, spec.mode)
}

/// The limits as they will be. What somebody asked for is held or refused; where nobody did and the host is smaller
/// than the default, the host's memory is the limit.
pub(super) fn within_host(spec: &SandboxSpec, caps: &Caps) -> Result<Limits, Refusal> {
    let mut limits = spec.limits.clone();
    if let Some(host) = caps.host_memory
        && !spec.explicit.contains(&Key::SandboxMemoryLimit)
    {
        limits.memory = limits.memory.min(host);
    }
    let memory = limits.memory;
    let smallest = ByteSize::mib(1);
    if memory < smallest || caps.host_memory.is_some_and(|host| memory > host) {
        let most = caps.host_memory.map_or("the host's memory".to_owned(), |m| m.to_string());
        return Err(refuse(
            Rule::HostRange,
            "sandbox.memory_limit",
            format!("{memory} is not between {smallest} and {most}"),
            "choose a limit within what this host has",
        ));
    }
    Ok(limits)
}

pub(super) fn network(spec: &SandboxSpec, policy: &Policy) -> Result<(), Refusal> {
    policy::wide_enough(policy.network, spec.network)
}

pub(super) fn env(spec: &SandboxSpec, policy: &Policy) -> Result<(), Refusal> {
    for (name, value) in &spec.env {
        let is_passed = matches!(value, crate::env::EnvValue::Passed(_));
        if is_passed && !weakened(Weakness::Environment) {
            policy::let_in(&policy.env, name)?;
        }
        if value.reveal().contains('\0') {
            return Err(refuse(
                Rule::ValueForm,
                "sandbox.env",
                format!("the value of {name} holds a NUL byte"),
                "no program can be given one; leave it out",
            ));
        }
    }
    Ok(())
}

pub(super) fn relax(spec: &SandboxSpec, policy: &Policy) -> Result<(), Refusal> {
    policy::may_relax(&policy.relax, &spec.relax)
}

pub(super) fn workspace(spec: &SandboxSpec, policy: &Policy) -> Result<(), Refusal> {
    for name in spec.workspace.names() {
        if let Some(why) = policy.mounts.forbidden.reason(name) {
            return Err(refuse(
                Rule::WorkspaceAllowed,
                "workspace",
                format!("{} cannot be a workspace: {why}", name.display()),
                "run in a project directory, or name one with --workspace",
            ));
        }
    }
    Ok(())
}

/// A repository is a directory of the host that a file in the workspace names. So it is judged like a
/// mount, by what it is; that it belongs to the workspace was found out when it was looked up.
pub(super) fn repository(spec: &SandboxSpec, policy: &Policy) -> Result<(), Refusal> {
    let Some(repository) = &spec.repository else { return Ok(()) };
    let source = &repository.source;
    let refuse_it = |why: &str| {
        let message = format!("the repository {} cannot be shown: {why}", source.real.display());
        let remedy = "move the repository, or run in a checkout that holds its own";
        Err(refuse(Rule::MountForbidden, "workspace", message, remedy))
    };
    for name in source.names() {
        if let Some(why) = policy.mounts.forbidden.reason(name) {
            return refuse_it(&why);
        }
    }
    if overlap(&source.real, &spec.workspace.real) {
        return refuse_it("it is part of the workspace");
    }
    if is_of_the_sandbox(&repository.target) || overlap(&repository.target, Path::new(WORKSPACE)) {
        return refuse_it("its name is part of the sandbox itself");
    }
    Ok(())
}

/// Mounts against policy; the exceptions that were needed come back.
pub(super) fn mounts(
    spec: &SandboxSpec,
    policy: &Policy,
    ceiling: &Ceiling,
) -> Result<Vec<Override>, Refusal> {
    let mut overrides = Vec::new();
    for (at, mount) in spec.mounts.iter().enumerate() {
        if let Some(exception) = policy.mounts.check(mount)? {
            overrides.push(Override {
                name: format!("mount {}", exception.path.display()),
                reason: exception.reason.clone(),
            });
        }
        let role_allows = ceiling
            .allowed_paths
            .as_ref()
            .is_none_or(|allowed| allowed.iter().any(|root| mount.source.real.starts_with(root)));
        if !role_allows {
            return Err(refuse(
                Rule::Ceiling,
                "sandbox.mounts",
                format!("the role may not mount {}", mount.source.real.display()),
                "add the path to the role's allowed_paths in the host file",
            ));
        }
        mount_target(&mount.target, spec.mounts[..at].iter().map(|other| &other.target))?;
    }
    Ok(overrides)
}

/// The first parts of paths that the sandbox itself is made of.
const SYSTEM_TREES: [&str; 13] = [
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys",
    "usr",
];

fn is_of_the_sandbox(target: &Path) -> bool {
    let first = target.components().nth(1).and_then(|part| part.as_os_str().to_str());
    target == Path::new("/") || first.is_some_and(|first| SYSTEM_TREES.contains(&first))
}

/// Where a mount may stand inside, beside those `before` it.
pub fn mount_target<'a>(
    target: &ExactPath,
    mut before: impl Iterator<Item = &'a ExactPath>,
) -> Result<(), Refusal> {
    if before.any(|other| other == target) {
        return Err(refuse(
            Rule::Consistent,
            "sandbox.mounts",
            format!("two mounts have the target {}", target.display()),
            "give each mount its own target",
        ));
    }
    let target: &Path = target;
    if is_of_the_sandbox(target) || target == Path::new(WORKSPACE) {
        return Err(refuse(
            Rule::MountTarget,
            "sandbox.mounts",
            format!("{} is part of the sandbox itself", target.display()),
            "use a target such as /data, /opt/NAME or a directory inside /workspace",
        ));
    }
    Ok(())
}

/// Only a staged run can begin with what another one staged.
pub(super) fn from(spec: &SandboxSpec, caps: &Caps) -> Result<(), Refusal> {
    if spec.from.is_some() && (spec.mode != Mode::Stage || !caps.backend.confines()) {
        return Err(refuse(
            Rule::Consistent,
            "from",
            "only a staged run can go on from another",
            "use --mode stage and a sandbox, or leave --from out",
        ));
    }
    Ok(())
}

/// No mount is a second door into the workspace.
pub(super) fn no_second_door(spec: &SandboxSpec) -> Result<(), Refusal> {
    let tree = Guarded {
        name: "the workspace",
        tree: &spec.workspace.real,
        mode: spec.mode,
        blocked: &spec.blocked,
    };
    spec.mounts.iter().try_for_each(|mount| tree.check(mount))
}

/// A tree that is written to and seen in one way only: a mount must not be a second door to writing where it is staged or
/// read-only, nor to what is blocked in it.
#[derive(Debug, Clone, Copy)]
pub struct Guarded<'a> {
    pub name: &'a str,
    pub tree: &'a Path,
    pub mode: Mode,
    pub blocked: &'a [String],
}

impl Guarded<'_> {
    pub fn check(&self, mount: &Mount) -> Result<(), Refusal> {
        let Self { name, tree, mode, blocked } = *self;
        if !overlap(&mount.source.real, tree) {
            return Ok(());
        }
        let source = mount.source.real.display();
        if mode != Mode::Direct && mount.access == Access::Write {
            return Err(refuse(
                Rule::Consistent,
                "sandbox.mounts",
                format!("{source} is part of {name}, which is {mode}, and would be writable"),
                "mount it read-only, or use --mode direct (of a task: shared-workspace)",
            ));
        }
        let shown = mount.source.real.strip_prefix(tree).unwrap_or(Path::new(""));
        if let Some(pattern) = blocked.iter().find(|pattern| may_show(shown, pattern)) {
            return Err(refuse(
                Rule::Consistent,
                "sandbox.mounts",
                format!("{source} would show what sandbox.blocked hides in {name} ({pattern})"),
                "use it where it is in /workspace, or mount a directory that the pattern cannot mean",
            ));
        }
        Ok(())
    }
}

/// Whether a view of `shown`, a path in the workspace, could hold something that `pattern` hides. A
/// pattern without a slash means names in the workspace's own directory; one with a slash is compared as
/// far as it is literal, and in doubt the answer is yes.
fn may_show(shown: &Path, pattern: &str) -> bool {
    let Some(first) = shown.components().next() else { return true };
    if !pattern.contains('/') {
        let name = first.as_os_str().to_string_lossy();
        return crate::policy::matches_glob(pattern, &name);
    }
    let literal: PathBuf = Path::new(pattern)
        .components()
        .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']))
        .filter(|part| matches!(part, std::path::Component::Normal(_)))
        .collect();
    overlap(shown, &literal)
}
