//! What a request needs a backend to hold, and what happens where it cannot.
//!
//! A confining backend holds all of it or the run is refused; a guarantee is given up only by its
//! name in `relax`. The bare host holds almost nothing: there the built-in defaults do not apply, and
//! each of them is listed as relaxed, but what somebody asked for by name is refused all the same.

use super::Relaxed;
use crate::backend::Backend;
use crate::caps::{Caps, Guarantee};
use crate::config::Key;
use crate::refusal::{Refusal, Rule};
use crate::spec::{Mode, Network, Relax, SandboxSpec, Seccomp, Terminal};

struct Requirement {
    guarantee: Guarantee,
    asker: Asker,
    asked: String,
    relax: Option<Relax>,
}

enum Asker {
    /// A setting; whether somebody wrote it down stands in the spec.
    Setting(Key),
    /// This very request, by a flag that has no setting.
    Request(&'static str),
    /// Every sandbox has it.
    Always,
}

impl Asker {
    fn by_name(&self, spec: &SandboxSpec) -> bool {
        match self {
            Self::Setting(key) => spec.explicit.contains(key),
            Self::Request(_) => true,
            Self::Always => false,
        }
    }
}

/// What is given up, with reasons, or the first thing that may not be.
pub(super) fn check(spec: &SandboxSpec, caps: &Caps) -> Result<Vec<Relaxed>, Refusal> {
    let mut relaxed = Vec::new();
    for need in requirements(spec, caps.backend) {
        if caps.enforces.contains(&need.guarantee) {
            continue;
        }
        let by_name = need.relax.filter(|name| spec.relax.contains(name));
        let asked_for = need.asker.by_name(spec);
        // Where the host owner let `auto` fall back, that decision covers what was asked as well.
        let falls_back = spec.backend.named() != Some(caps.backend) && !caps.backend.confines();
        let reason = match by_name {
            Some(name) => format!("given up by name ({name})"),
            None if falls_back => "the host owner lets runs fall back to the bare host".to_owned(),
            None if !caps.backend.confines() && !asked_for => {
                "the bare host does not confine".to_owned()
            }
            None => return Err(cannot_hold(&need, caps)),
        };
        relaxed.push(Relaxed { guarantee: need.guarantee, reason });
    }
    Ok(relaxed)
}

fn cannot_hold(need: &Requirement, caps: &Caps) -> Refusal {
    let field = match need.asker {
        Asker::Setting(key) => key.name().to_owned(),
        Asker::Request(flag) => flag.to_owned(),
        Asker::Always => need.guarantee.to_string(),
    };
    let (reason, mut remedy) = match caps.lacks.get(&need.guarantee) {
        Some(lack) => (format!(": {}", lack.reason), lack.remedy.clone()),
        None => (String::new(), "use another backend, or leave the setting out".to_owned()),
    };
    if let Some(relax) = need.relax {
        remedy = format!("{remedy}; or give it up by name with --relax {relax}");
    }
    Refusal {
        rule: Rule::BackendEnforces,
        field,
        message: format!("the {} backend cannot hold {}{reason}", caps.backend, need.asked),
        remedy,
    }
}

fn requirements(spec: &SandboxSpec, backend: Backend) -> Vec<Requirement> {
    let need = |guarantee, key: Key, asked: String| Requirement {
        guarantee,
        asker: Asker::Setting(key),
        asked,
        relax: None,
    };
    let always = |guarantee, asked: &str| Requirement {
        guarantee,
        asker: Asker::Always,
        asked: asked.to_owned(),
        relax: None,
    };
    let limit = |guarantee, key: Key, asked: String| Requirement {
        relax: Some(Relax::Limits),
        ..need(guarantee, key, asked)
    };
    let workspace = match spec.mode {
        Mode::Stage => Guarantee::StagedWorkspace,
        Mode::Direct => Guarantee::DirectWorkspace,
        Mode::Readonly => Guarantee::ReadonlyWorkspace,
    };
    let network = match spec.network {
        Network::None => Guarantee::NetworkNone,
        Network::Allow => Guarantee::NetworkAllow,
        Network::Bridge => Guarantee::NetworkBridge,
        Network::Host => Guarantee::NetworkHost,
    };
    let limits = &spec.limits;
    let mut needs = vec![
        need(workspace, Key::SandboxMode, format!("mode {}", spec.mode)),
        need(network, Key::SandboxNetwork, format!("network {}", spec.network)),
        limit(
            Guarantee::MemoryLimit,
            Key::SandboxMemoryLimit,
            format!("a memory limit of {}", limits.memory),
        ),
        limit(Guarantee::CpuLimit, Key::SandboxCpuLimit, format!("a cpu limit of {}", limits.cpus)),
        limit(
            Guarantee::PidsLimit,
            Key::SandboxPidsLimit,
            format!("a limit of {} processes", limits.pids),
        ),
        need(Guarantee::Timeout, Key::SandboxTimeout, format!("a timeout of {}", limits.timeout)),
        need(
            Guarantee::OutputLimit,
            Key::SandboxOutputLimit,
            format!("an output limit of {}", limits.output),
        ),
        always(Guarantee::Environment, "an environment of its own"),
        always(Guarantee::Privileges, "a program without privileges"),
    ];
    if backend == Backend::Native {
        let relax = Some(Relax::Landlock);
        needs.push(Requirement { relax, ..always(Guarantee::Landlock, "Landlock") });
    }
    match &spec.seccomp {
        Seccomp::Default => needs.push(need(
            Guarantee::Seccomp,
            Key::SandboxSeccomp,
            "the default system call filter".to_owned(),
        )),
        Seccomp::File(path) => needs.push(need(
            Guarantee::SeccompProfile,
            Key::SandboxSeccomp,
            format!("the system call filter {}", path.display()),
        )),
    }
    if let Some(span) = limits.idle_timeout {
        let asked = format!("an idle timeout of {span}");
        needs.push(need(Guarantee::IdleTimeout, Key::SandboxIdleTimeout, asked));
    }
    if spec.readonly_root {
        let asked = "a read-only root".to_owned();
        needs.push(need(Guarantee::ReadonlyRoot, Key::SandboxReadonlyRoot, asked));
    }
    if let Some(image) = spec.image.as_ref().filter(|image| !image.is_host()) {
        needs.push(need(Guarantee::ImageRoot, Key::SandboxImage, format!("the image {image}")));
    }
    if !spec.tmpfs.is_empty() {
        let asked = "memory file systems of a size".to_owned();
        needs.push(need(Guarantee::Tmpfs, Key::SandboxTmpfs, asked));
    }
    if !spec.blocked.is_empty() {
        needs.push(need(Guarantee::BlockedPaths, Key::SandboxBlocked, "blocked paths".to_owned()));
    }
    if !spec.mounts.is_empty() {
        needs.push(need(Guarantee::Mounts, Key::SandboxMounts, "mounts".to_owned()));
    }
    if let Some(runtime) = &spec.runtime {
        let asked = format!("the runtime {runtime}");
        needs.push(need(Guarantee::Runtime, Key::SandboxRuntime, asked));
    }
    if spec.terminal == Terminal::Tty {
        needs.push(Requirement {
            guarantee: Guarantee::Tty,
            asker: Asker::Request("--tty"),
            asked: "a terminal".to_owned(),
            relax: None,
        });
    }
    needs
}
