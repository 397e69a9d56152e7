//! What an engine can hold, by what it says about itself. Nothing is assumed: what it does not say it has is
//! not promised.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use cofferdam_core::backend::Backend;
use cofferdam_core::caps::{Caps, Guarantee, Lack};
use cofferdam_core::image::ImageRef;
use cofferdam_core::machine::Machine;
use cofferdam_core::quantity::ByteSize;
use cofferdam_core::spec::{Network, Pull, SandboxSpec, Staging};
use serde::Deserialize;
use serde_json::Value;

use crate::engine::{
    Endpoint, Engine, EngineError, Flavor, Patience, Rights, Sight, Surroundings, has_hosts_kernel,
};
use crate::first::runs_anywhere;
use crate::host::{kernel_release, total_memory};

/// As much of `/info` as decides something. Absent is no.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Info {
    #[serde(rename = "OSType")]
    os: String,
    operating_system: String,
    memory_limit: bool,
    swap_limit: bool,
    #[serde(rename = "CpuCfsQuota")]
    cpu_quota: bool,
    pids_limit: bool,
    security_options: Vec<String>,
    runtimes: BTreeMap<String, Value>,
    default_runtime: String,
    kernel_version: String,
    mem_total: u64,
    #[serde(rename = "NCPU")]
    processors: u64,
    #[serde(skip)]
    own: Option<Own>,
}

/// What only Podman's own interface says, of a service without root: the other one keeps that to itself, and takes
/// limits that it cannot hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Own {
    /// Controllers of the control groups that it may use.
    pub(super) controllers: Vec<String>,
    /// Whether it is the very user's who asks.
    pub(super) is_ours: bool,
}

/// `/libpod/info`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Libpod {
    host: LibpodHost,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LibpodHost {
    security: LibpodSecurity,
    cgroup_version: String,
    cgroup_controllers: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct LibpodSecurity {
    rootless: bool,
}

impl LibpodHost {
    fn own(self, engine: &Engine, around: &Surroundings) -> Option<Own> {
        if !self.security.rootless {
            return None;
        }
        // Only the second version lets anybody but root set limits.
        let controllers =
            if self.cgroup_version == "v2" { self.cgroup_controllers } else { Vec::new() };
        let owner = match &engine.at {
            Endpoint::Socket(path) => fs::metadata(path).ok().map(|meta| meta.uid()),
            Endpoint::Tcp(_) | Endpoint::Tls(_) | Endpoint::Ssh(_) => None,
        };
        let is_ours = around.uid != 0 && owner.is_some_and(|owner| owner == around.uid);
        Some(Own { controllers, is_ours })
    }
}

impl Info {
    fn has_option(&self, name: &str) -> bool {
        self.security_options.iter().any(|option| option.starts_with(name))
    }

    /// Docker Desktop has a machine of its own; an engine with another kernel, or other memory, is on another one, by
    /// whatever way its socket came here.
    pub(super) fn sight(&self) -> Sight {
        // Of what one of both does not say, nothing follows.
        let kernel = kernel_release().filter(|_| !self.kernel_version.is_empty());
        let memory = total_memory().filter(|_| self.mem_total > 0);
        let other_kernel = kernel.is_some_and(|ours| ours != self.kernel_version);
        let other_memory = memory.is_some_and(|ours| ours.0 != self.mem_total);
        let is_elsewhere =
            self.operating_system.contains("Docker Desktop") || other_kernel || other_memory;
        // Without root, its user is root in there, and whoever else is in there is a stranger to our files.
        if is_elsewhere || self.has_option("name=rootless") { Sight::Other } else { Sight::Same }
    }

    /// Docker Desktop's machine has the drives of Windows, as a distribution of WSL 2 has, which this kernel is of.
    pub(super) fn machine(&self, kernel: &str) -> Option<Machine> {
        let is_wsl = kernel.to_ascii_lowercase().contains("microsoft");
        (is_wsl && self.operating_system.contains("Docker Desktop")).then_some(Machine::Wsl)
    }

    /// Why no run at all can be carried out by such an engine.
    fn unfit(&self) -> Option<Lack> {
        let lack = |reason: &str, remedy: &str| {
            Some(Lack { reason: reason.to_owned(), remedy: remedy.to_owned() })
        };
        if self.os != "linux" {
            return lack(&format!("its containers are of {}", self.os), "use one for Linux");
        }
        if self.own.as_ref().is_some_and(|own| !own.is_ours) {
            let reason = "it runs without root, and is another user's";
            return lack(reason, "run cofferdam as the user whose engine it is");
        }
        None
    }
}

/// Why no run at all can be carried out by this engine; or why it did not say.
pub(crate) fn unfit(engine: &mut Engine, around: &Surroundings) -> Result<Option<Lack>, String> {
    asked(engine, around).map(|info| info.unfit()).map_err(|error| error.to_string())
}

/// What of a request only the engine can answer for.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// Whether the image that the request names is there; true where it names none.
    pub(super) image: bool,
    /// Whether the engine has a bridge, where one is asked for.
    pub(super) bridge: bool,
}

/// What this engine can hold for such a request.
pub(crate) fn caps(
    backend: Backend,
    engine: &mut Engine,
    spec: &SandboxSpec,
    around: &Surroundings,
) -> Caps {
    let told = |error: &dyn std::fmt::Display| {
        Caps::unusable(backend, error.to_string(), "look at the engine's log")
    };
    let info = match asked(engine, around) {
        Ok(info) => info,
        Err(error) => return told(&error),
    };
    engine.processors = Some(info.processors);
    engine.default_runtime.clone_from(&info.default_runtime);
    if engine.sight == Sight::Other
        && let Some(Lack { reason, remedy }) = far_off(engine, spec)
    {
        return Caps::unusable(backend, reason, remedy);
    }
    if !spec.purpose.is_command()
        && let Some(Lack { reason, remedy }) = no_session(engine, spec, around)
    {
        return Caps::unusable(backend, reason, remedy);
    }
    let mut found = Found { image: true, bridge: false };
    if let Some(image) = wanted(spec) {
        match super::has_image(engine, image) {
            Ok(there) => found.image = there,
            Err(error) => return told(&error),
        }
    }
    if spec.network == Network::Bridge {
        found.bridge = engine.flavor == Flavor::Podman
            || engine.get::<Value>("/networks/bridge", Patience::Short).is_ok();
    }
    let mut caps = judge(backend, engine.flavor, &info, spec, &found);
    if engine.sight == Sight::Other {
        let reason = "the engine does not see this host's files";
        for guarantee in [Guarantee::DirectWorkspace, Guarantee::ReadonlyWorkspace] {
            caps = caps.without(guarantee, reason, "use mode stage, or an engine on this host");
        }
        caps.staging = Staging::Copy { reason: format!("{reason}: it is sent a copy") };
    }
    caps
}

/// Why a run cannot be sent to an engine that does not see this host's files. Everything goes there in one copy.
pub(super) fn far_off(engine: &Engine, spec: &SandboxSpec) -> Option<Lack> {
    let here = "use an engine on this host";
    let (reason, remedy) = if engine.flavor == Flavor::Podman {
        ("it does not see this host's files, and is no Docker", here)
    } else if !spec.purpose.is_command() {
        ("it does not see this host's files, so that a session's socket cannot be reached", here)
    } else if wanted(spec).is_none() {
        (
            "it is sent a copy of the workspace alone, and does not have this host's programs",
            "name an image with --image",
        )
    } else if let Some(lack) = unseen(engine, spec) {
        return Some(lack);
    } else if spec.repository.is_some() {
        ("it is sent a copy of the workspace alone, and not the repository outside it", here)
    } else {
        return None;
    };
    Some(Lack { reason: reason.to_owned(), remedy: remedy.to_owned() })
}

/// Why containers cannot have a runtime of this name.
fn no_runtime(flavor: Flavor, info: &Info, name: &str) -> Option<Lack> {
    let lack = |reason, remedy| Some(Lack { reason, remedy });
    match flavor {
        Flavor::Docker if info.runtimes.contains_key(name) => None,
        Flavor::Docker => {
            let known: Vec<_> = info.runtimes.keys().map(String::as_str).collect();
            lack(
                format!("the engine has no runtime {name}"),
                format!("add it to the engine's settings, or use one of {}", known.join(", ")),
            )
        }
        // It takes the wish, and heeds it not: all containers have the runtime of its service.
        Flavor::Podman if runtime_name(&info.default_runtime) == name => None,
        Flavor::Podman => lack(
            format!(
                "Podman takes no runtime for one container: its service has {}, not {name}",
                info.default_runtime
            ),
            format!(
                "set runtime = \"{name}\" in containers.conf, or start the service with \
                 `podman --runtime {name} system service`"
            ),
        ),
    }
}

/// A runtime may be named by its path.
pub(super) fn runtime_name(runtime: &str) -> &str {
    runtime.rsplit('/').next().unwrap_or(runtime)
}

/// What is to be mounted and has no name by which the engine could find it.
fn unseen(engine: &Engine, spec: &SandboxSpec) -> Option<Lack> {
    let mut sources = spec.mounts.iter().map(|mount| mount.source.real.to_string_lossy());
    let (reason, remedy) = match engine.machine {
        None => {
            sources.next()?;
            let reason =
                "it is sent a copy of the workspace alone, and does not see what is to be mounted";
            (reason.to_owned(), "leave the mounts out")
        }
        Some(machine) => {
            let error = sources.find_map(|source| machine.told(&source).err())?;
            (error.to_string(), "mount what is on a drive of Windows (/mnt/c/…), or leave it out")
        }
    };
    Some(Lack { reason, remedy: remedy.to_owned() })
}

fn asked(engine: &mut Engine, around: &Surroundings) -> Result<Info, EngineError> {
    // It has answered a greeting. Podman starts programs to know itself, and with many who ask that takes its time.
    let mut info: Info = engine.get("/info", Patience::Long)?;
    if engine.flavor == Flavor::Podman && !engine.is_roots() {
        let libpod: Libpod = engine.get("/libpod/info", Patience::Long)?;
        info.own = libpod.host.own(engine, around);
    }
    // Of what is not reached by a socket of this host nobody knows where it is, however much it looks like this one.
    engine.sight = match engine.at {
        Endpoint::Socket(_) => {
            engine.machine = kernel_release().and_then(|kernel| info.machine(&kernel));
            info.sight()
        }
        Endpoint::Tcp(_) | Endpoint::Tls(_) | Endpoint::Ssh(_) => Sight::Other,
    };
    engine.rights = if info.own.is_some() { Rights::Users } else { Rights::Roots };
    Ok(info)
}

/// Why a container cannot take the commands of a session: its first process must be ours, and reach us.
fn no_session(engine: &Engine, spec: &SandboxSpec, around: &Surroundings) -> Option<Lack> {
    let runtime = spec.runtime.as_deref();
    let (reason, remedy) = if !engine.shares_kernel(runtime) {
        let name = runtime.unwrap_or(&engine.default_runtime);
        let reason =
            format!("containers of the runtime {name:?} cannot reach the session's socket");
        (reason, "leave the runtime out, or run the commands one by one with `cofferdam run`")
    } else if wanted(spec).is_some() && !runs_anywhere(&around.program) {
        let reason = "this cofferdam needs shared libraries, and an image may not have them";
        (reason.to_owned(), "use the released cofferdam, which needs none, or leave the image out")
    } else {
        return None;
    };
    Some(Lack { reason, remedy: remedy.to_owned() })
}

fn wanted(spec: &SandboxSpec) -> Option<&ImageRef> {
    spec.image.as_ref().filter(|image| !image.is_host())
}

pub(super) fn judge(
    backend: Backend,
    flavor: Flavor,
    info: &Info,
    spec: &SandboxSpec,
    found: &Found,
) -> Caps {
    use Guarantee::*;
    let unusable = |reason: String, remedy: &str| Caps::unusable(backend, reason, remedy);
    if let Some(Lack { reason, remedy }) = info.unfit() {
        return unusable(reason, &remedy);
    }
    let is_had = found.image || spec.fetch.pull != Pull::Never;
    if let Some(image) = wanted(spec).filter(|_| !is_had) {
        let program = if flavor == Flavor::Podman { "podman" } else { "docker" };
        let remedy = format!(
            "{program} pull {image}, or --pull missing, or leave the image out to use the host's own"
        );
        return unusable(format!("it has no image {image}"), &remedy);
    }
    let mut caps = Caps::confining(backend);
    caps.enforces.remove(&Landlock);
    caps.enforces.extend([ImageRoot, SeccompProfile, NetworkHost, NetworkBridge, Runtime, Tty]);
    let limits = "boot the host with the control group switched on, as the engine's info says";
    let own = "log in where systemd gives you control groups of version 2, or use --relax limits";
    let delegated = |name: &str| {
        info.own.as_ref().is_none_or(|own| own.controllers.iter().any(|one| one == name))
    };
    for (guarantee, there, controller, what) in [
        (MemoryLimit, info.memory_limit && info.swap_limit, "memory", "memory and swap"),
        (CpuLimit, info.cpu_quota, "cpu", "processor time"),
        (PidsLimit, info.pids_limit, "pids", "the number of processes"),
    ] {
        if !there {
            caps = caps.without(guarantee, format!("the engine cannot limit {what}"), limits);
        } else if !delegated(controller) {
            let reason = format!("the engine runs without root, and cannot limit {what} here");
            caps = caps.without(guarantee, reason, own);
        }
    }
    if !info.has_option("name=seccomp") {
        let remedy = "use a kernel and an engine with system call filters";
        for guarantee in [Seccomp, SeccompProfile] {
            caps = caps.without(guarantee, "the engine has no system call filter", remedy);
        }
    }
    if !found.bridge {
        let remedy = "start the engine with a bridge, or use network none";
        caps = caps.without(NetworkBridge, "the engine has no network named bridge", remedy);
    }
    if let Some(Lack { reason, remedy }) =
        spec.runtime.as_deref().and_then(|name| no_runtime(flavor, info, name))
    {
        caps = caps.without(Runtime, reason, remedy);
    }
    let runtime = spec.runtime.as_deref().unwrap_or(&info.default_runtime);
    if !has_hosts_kernel(runtime) {
        let reason =
            format!("the runtime {runtime:?} may have a kernel of its own, which takes no filter");
        caps = caps.without(SeccompProfile, reason, "leave the filter out, or the runtime");
    }
    let proxy = "named hosts need a proxy, which this version does not have";
    caps = caps.without(NetworkAllow, proxy, "use network none");
    caps.host_memory = (info.mem_total > 0).then_some(ByteSize(info.mem_total));
    caps
}
