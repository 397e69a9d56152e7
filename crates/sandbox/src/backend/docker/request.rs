//! `plan × ground → create request`, a pure function: everything the plan says, said to an engine.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use cofferdam_core::caps::Guarantee;
use cofferdam_core::machine::{Machine, Unmapped};
use cofferdam_core::mount::Access;
use cofferdam_core::paths::ExactPath;
use cofferdam_core::plan::{HOME, Plan, Root};
use cofferdam_core::result;
use cofferdam_core::spec::{Mode, Network, Purpose, Seccomp, Terminal};
use cofferdam_native::first::Owner;
use cofferdam_native::outside::User;

use super::create::{
    BindOptions, CreateRequest, Healthcheck, HostConfig, LogConfig, MountKind, MountPoint, Ulimit,
    VolumeOptions,
};
use super::root::FIRST;
use crate::backend::local::MARKER;
use crate::engine::{Flavor, Rights};
use crate::first::{Filter, WORD};

/// What was found or made for this run before the container.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) run: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) user: User,
    /// The image by its id.
    pub(super) image: String,
    pub(super) workspace: Workspace,
    /// The repository outside it, where the plan has one.
    pub(super) repository: Option<Workspace>,
    /// Laid over what is blocked: an empty file or directory, and where.
    pub(super) covers: Vec<(PathBuf, PathBuf)>,
    /// Where the program hands its result over.
    pub(super) result: Option<PathBuf>,
    pub(super) first: First,
    /// Whether that can call us.
    pub(super) owner: Owner,
    /// Parts of the host that stand in for an image, and what the first process needs; read-only.
    pub(super) shown: Vec<(PathBuf, PathBuf)>,
    /// Text of the system call filter, where the plan names a file.
    pub(super) filter: Option<String>,
    pub(super) stdin: Stdin,
    /// How many processors the engine's host has: a larger share of them than all is all.
    pub(super) processors: u64,
    pub(super) flavor: Flavor,
    pub(super) rights: Rights,
    pub(super) ulimits: Vec<Ulimit>,
    /// Whose names the engine has for what is bound.
    pub(super) machine: Option<Machine>,
}

/// How a tree of the host's comes into the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Workspace {
    /// Mounted by us with everything in it: `outside::show`. Further mounts of the plan stand beside it.
    Shown { path: PathBuf, mounts: Vec<(PathBuf, PathBuf)> },
    /// An overlay that the engine mounts.
    Volume(String),
    /// An overlay that an engine without root mounts: the tree, and the layer that takes the changes.
    Overlay { lower: PathBuf, upper: PathBuf, work: PathBuf },
    /// The host's directory itself.
    Itself(PathBuf),
}

/// Whose program is the container's first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Ours,
    Engines,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stdin {
    Open,
    Empty,
}

/// What cannot be said to an engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unfit {
    #[error("{what} is not UTF-8, and an engine takes only text")]
    NotText { what: &'static str },
    #[error("the plan has no root that a container can have")]
    NoRoot,
    #[error("the repository outside the workspace is not there")]
    Repository,
    #[error(transparent)]
    Unmapped(#[from] Unmapped),
}

/// Bytes of a home where the plan does not say, as in a native sandbox.
const HOME_SIZE: u64 = 64 << 20;

/// Bytes of what Podman would leave without a limit.
const OWN_SIZE: u64 = 1 << 20;

pub(super) fn request(plan: &Plan, ground: &Ground) -> Result<CreateRequest, Unfit> {
    // Field by field: whoever adds one to the plan has to say here what becomes of it.
    let Plan {
        version: _,
        backend: _,
        purpose,
        command,
        workdir,
        workspace: _,
        repository,
        // In the upper directory before anything is mounted.
        from: _,
        // Its place is in `ground`.
        result: _,
        root,
        mounts: _,
        toolchains: _,
        tmpfs: _,
        // Found in the workspace, and in `ground` as covers or in what is shown.
        blocked: _,
        env,
        network,
        // Of network `allow`, which no engine is asked for.
        allow_hosts: _,
        limits,
        // Its text is in `ground`; without one the engine's own filter is on.
        seccomp: _,
        // Asked of the first process itself, by its owner.
        proof: _,
        runtime,
        terminal,
        // Judged before anything was asked of an engine.
        commands: _,
        relaxed,
        overrides: _,
    } = plan;
    if repository.is_some() != ground.repository.is_some() {
        return Err(Unfit::Repository);
    }
    let held = |guarantee| !relaxed.iter().any(|relaxed| relaxed.guarantee == guarantee);
    let mut args = Vec::with_capacity(command.len());
    for arg in command {
        args.push(text(&arg.0, "an argument")?);
    }
    // Where it can be, the first process is ours; the host's own tree has no place for another.
    let is_host = matches!(root, Root::Host { .. });
    let is_ours = ground.first == First::Ours;
    if is_ours {
        let mut first = vec![FIRST, WORD, "--filter", own_filter(plan).word()];
        match ground.owner {
            Owner::Listens if *purpose == Purpose::Session => first.push("--serve"),
            Owner::Listens => first.push("--line"),
            Owner::IsFarAway => {}
        }
        if has_secrets(plan) {
            first.push("--variables");
        }
        first.push("--");
        args.splice(..0, first.into_iter().map(str::to_owned));
    }
    let cmd = args.split_off(1.min(args.len()));
    let readonly_rootfs = match root {
        Root::Host { readonly } | Root::Image { readonly, .. } => *readonly,
        Root::Bare => return Err(Unfit::NoRoot),
    };
    let mut security_opt = vec!["no-new-privileges:true".to_owned()];
    security_opt.extend(ground.filter.as_ref().map(|filter| format!("seccomp={filter}")));
    let memory = held(Guarantee::MemoryLimit).then_some(limits.memory.0);
    let nano = u64::from(limits.cpus.millis).min(ground.processors * 1000) * 1_000_000;
    // Whoever may ask the engine can read these. What is secret goes past it, where the first process is ours.
    let told = env.iter().filter(|(_, value)| !is_ours || value.secret().is_none());
    let planned = told.map(|(name, value)| format!("{name}={}", value.reveal()));
    let is_alone = matches!(network, Network::None | Network::Allow);
    let is_open = ground.stdin == Stdin::Open;
    Ok(CreateRequest {
        image: ground.image.clone(),
        entrypoint: args,
        cmd,
        env: planned.chain([format!("{MARKER}={}", ground.run)]).collect(),
        working_dir: text(workdir.as_os_str(), "the working directory")?,
        user: format!("{}:{}", ground.user.uid, ground.user.gid),
        hostname: "sandbox".to_owned(),
        labels: ground.labels.clone(),
        tty: *terminal == Terminal::Tty,
        open_stdin: is_open,
        stdin_once: is_open,
        attach_stdin: is_open,
        attach_stdout: true,
        attach_stderr: true,
        // Podman has no such word, and no need of it.
        network_disabled: (is_alone && ground.flavor == Flavor::Docker).then_some(true),
        healthcheck: (!is_host).then(|| Healthcheck { test: vec!["NONE".to_owned()] }),
        host_config: HostConfig {
            readonly_rootfs,
            privileged: false,
            cap_add: Vec::new(),
            cap_drop: vec!["ALL".to_owned()],
            security_opt,
            memory,
            memory_swap: memory,
            nano_cpus: held(Guarantee::CpuLimit).then_some(nano),
            // The first process, ours or the engine's, is none of the command's.
            pids_limit: held(Guarantee::PidsLimit).then_some(limits.pids.saturating_add(1)),
            network_mode: match network {
                Network::None | Network::Allow => "none",
                Network::Bridge => "bridge",
                Network::Host => "host",
            }
            .to_owned(),
            ipc_mode: "private".to_owned(),
            init: !is_ours,
            auto_remove: false,
            tmpfs: tmpfs(plan, ground)?,
            mounts: mounts(plan, ground)?,
            binds: overlays(plan, ground)?,
            // There the caller is the caller, and not root.
            userns_mode: (ground.rights == Rights::Users).then(|| "keep-id".to_owned()),
            ulimits: ground.ulimits.clone(),
            // Output is carried by us and kept within its limit; the engine is to keep none.
            log_config: LogConfig { kind: "none".to_owned() },
            runtime: runtime.clone(),
        },
    })
}

/// Whether there are variables whose values are nobody's business, and that the first process has to read. In a
/// session they come with each command.
pub(super) fn has_secrets(plan: &Plan) -> bool {
    plan.purpose.is_command() && plan.env.values().any(|value| value.secret().is_some())
}

/// Of a filter that somebody named, nothing is taken away.
fn own_filter(plan: &Plan) -> Filter {
    let on_host = plan.workspace.mode == Mode::Direct
        || plan.mounts.iter().any(|mount| mount.access == Access::Write);
    match plan.seccomp {
        Some(Seccomp::Default) if on_host => Filter::OnHost,
        Some(Seccomp::Default) => Filter::Staged,
        _ => Filter::None,
    }
}

fn tmpfs(plan: &Plan, ground: &Ground) -> Result<BTreeMap<String, String>, Unfit> {
    let User { uid, gid } = ground.user;
    // Podman knows no owner of a memory file system: there everybody in the container may write to it, and that
    // is one user. A runtime may give it the mode of what it covers; its owner can write to it all the same.
    let (owner, private) = match ground.flavor {
        Flavor::Docker => (format!(",uid={uid},gid={gid}"), "0700"),
        Flavor::Podman => (String::new(), "1777"),
    };
    let options =
        |size: u64, mode: &str| format!("rw,exec,nosuid,nodev,size={size},mode={mode}{owner}");
    let mut all = BTreeMap::new();
    for (target, size) in &plan.tmpfs {
        all.insert(text(target.as_os_str(), "a tmpfs target")?, options(size.0, "1777"));
    }
    let size = plan.tmpfs.get(&ExactPath::from(HOME)).map_or(HOME_SIZE, |size| size.0);
    all.insert(HOME.to_owned(), options(size, private));
    if ground.flavor == Flavor::Podman {
        // Where a root is read-only, it lays memory without a limit over these, unless something is there.
        for target in ["/run", "/var/tmp"] {
            all.entry(target.to_owned()).or_insert_with(|| options(OWN_SIZE, "0755"));
        }
    }
    Ok(all)
}

fn mounts(plan: &Plan, ground: &Ground) -> Result<Vec<MountPoint>, Unfit> {
    let mut mounts = Vec::new();
    for (source, target) in &ground.shown {
        mounts.push(bind(source, target, Access::Read, Below::Left)?);
    }
    if matches!(plan.root, Root::Host { .. }) {
        for toolchain in &plan.toolchains {
            let (source, target) = (&toolchain.real, &toolchain.asked);
            mounts.push(bind(source, target, Access::Read, Below::Left)?);
        }
    }
    let access = if plan.workspace.mode == Mode::Readonly { Access::Read } else { Access::Write };
    mounts.extend(ground.workspace.mount(&plan.workspace.target, access, ground.flavor)?);
    if let (Some(view), Some(repository)) = (&ground.repository, &plan.repository) {
        // Written to only where nothing of it reaches the host's.
        let staged = plan.workspace.mode == Mode::Stage;
        let access = if staged { Access::Write } else { Access::Read };
        mounts.extend(view.mount(&repository.target, access, ground.flavor)?);
    }
    match &ground.workspace {
        Workspace::Shown { mounts: beside, .. } => {
            for (source, target) in beside {
                let planned = plan.mounts.iter().find(|mount| mount.target() == *target);
                let access = planned.map_or(Access::Read, |mount| mount.access);
                mounts.push(bind(source, target, access, Below::Left)?);
            }
        }
        Workspace::Volume(_) | Workspace::Overlay { .. } | Workspace::Itself(_) => {
            for mount in &plan.mounts {
                mounts.push(bind(&mount.source.real, &mount.target, mount.access, Below::Left)?);
            }
        }
    }
    if let Some(place) = &ground.result {
        mounts.push(bind(place, Path::new(result::PLACE), Access::Write, Below::Left)?);
    }
    for (source, target) in &ground.covers {
        mounts.push(bind(source, target, Access::Read, Below::Left)?);
    }
    if let Some(machine) = ground.machine {
        for mount in mounts.iter_mut().filter(|mount| mount.kind == MountKind::Bind) {
            mount.source = machine.told(&mount.source)?;
        }
    }
    Ok(mounts)
}

impl Workspace {
    fn mount(
        &self,
        target: &Path,
        access: Access,
        flavor: Flavor,
    ) -> Result<Option<MountPoint>, Unfit> {
        match self {
            Self::Shown { path, .. } => bind(path, target, access, Below::Taken).map(Some),
            Self::Itself(path) => bind(path, target, access, Below::Left).map(Some),
            Self::Overlay { .. } => Ok(None),
            Self::Volume(name) => Ok(Some(MountPoint {
                kind: MountKind::Volume,
                source: name.clone(),
                target: text(target.as_os_str(), "the workspace's place")?,
                read_only: access == Access::Read,
                bind_options: None,
                // Podman makes it the caller's by the same rule.
                volume_options: (flavor == Flavor::Docker)
                    .then_some(VolumeOptions { no_copy: true }),
            })),
        }
    }

    /// In words that hold a path between signs: which those are, whoever made the layers has looked.
    fn overlay(&self, target: &Path) -> Result<Option<String>, Unfit> {
        let Self::Overlay { lower, upper, work } = self else { return Ok(None) };
        let text = |path: &Path| text(path.as_os_str(), "a layer of the workspace");
        let (lower, target) = (text(lower)?, text(target)?);
        let (upper, work) = (text(upper)?, text(work)?);
        Ok(Some(format!("{lower}:{target}:O,upperdir={upper},workdir={work}")))
    }
}

fn overlays(plan: &Plan, ground: &Ground) -> Result<Vec<String>, Unfit> {
    let mut all = Vec::new();
    all.extend(ground.workspace.overlay(&plan.workspace.target)?);
    if let (Some(view), Some(repository)) = (&ground.repository, &plan.repository) {
        all.extend(view.overlay(&repository.target)?);
    }
    Ok(all)
}

/// Whether what is mounted below a directory is bound with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Taken,
    Left,
}

fn bind(source: &Path, target: &Path, access: Access, below: Below) -> Result<MountPoint, Unfit> {
    Ok(MountPoint {
        kind: MountKind::Bind,
        source: text(source.as_os_str(), "a mount source")?,
        target: text(target.as_os_str(), "a mount target")?,
        read_only: access == Access::Read,
        // Private and with all below is what engines do by themselves; Podman takes any word about depth for a
        // wish to have only the top.
        bind_options: (below == Below::Left)
            .then(|| BindOptions { propagation: "rprivate".to_owned(), non_recursive: true }),
        volume_options: None,
    })
}

fn text(bytes: &OsStr, what: &'static str) -> Result<String, Unfit> {
    bytes.to_str().map(str::to_owned).ok_or(Unfit::NotText { what })
}
