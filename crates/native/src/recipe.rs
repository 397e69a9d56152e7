//! The confinement, step by step, in the order in which the kernel allows it and safety needs it.
//!
//! Runs in the new process, which the kernel has already given namespaces of its own. A step that fails
//! ends it, so that no program is ever executed with less than all of them. What is set up needs
//! privileges; they are given up only when all of it stands, and the filter, which forbids most of what
//! is done here, comes last. What takes long and needs no namespace of ours the parent makes meanwhile: see
//! [`supply`](crate::supply).

mod step;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cofferdam_core::caps::Guarantee;
use cofferdam_core::mount::Access;
use cofferdam_core::plan::{HOME, Plan, Root as RootPlan};
use cofferdam_core::result::PLACE;
use cofferdam_core::spec::Mode as WorkspaceMode;
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::process::{DumpableBehavior, Signal};

use crate::blocked::{self, Hidden};
use crate::cgroup;
use crate::confirm;
use crate::identity::{Identity, Way};
use crate::landlock::{self, Abi, LandlockError};
use crate::prove;
use crate::report::{Facts, Failed};
use crate::repository;
use crate::result;
use crate::root::{Covers, Root, RootAccess, binds, dev, etc, memory, proc, system};
use crate::seccomp;
use crate::supply::{Bounds, Ground};
use crate::sys::mount::{Depth, clone_mount};
use crate::sys::{self, SysError, init, privilege};
use crate::workspace;
pub use step::Step;

/// What is made has the modes that it is asked for, whoever started us, and so has what the program makes.
pub(crate) const MASK: Mode = Mode::from_raw_mode(0o022);

/// All that the steps need, made ready before the new process exists.
#[derive(Debug)]
pub(crate) struct Kit<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) state: &'a Path,
    pub(crate) identity: &'a Identity,
    pub(crate) filter: Option<&'a seccomp::Program>,
    /// Number of the network namespace that must not be the program's.
    pub(crate) host_network: u64,
    /// Stands in for the standard streams until there is a command.
    pub(crate) null: BorrowedFd<'a>,
    /// Our end of the channel to whoever will give the order.
    pub(crate) control: BorrowedFd<'a>,
    /// A copy of a root that others have, too, attached nowhere.
    pub(crate) root: Option<BorrowedFd<'a>>,
}

/// Names the step in which a call failed.
fn at(step: Step) -> impl Fn(SysError) -> Failed {
    move |error| Failed::new(step, &error)
}

/// Confines the calling process as the plan says, reads back what it came to, and tries what is forbidden now.
pub(crate) fn carry_out(kit: &Kit<'_>) -> Result<(Facts, prove::Ground), Failed> {
    let Kit { plan, identity, .. } = *kit;

    // In a user namespace we are nobody until somebody is mapped.
    if identity.has_user_namespace() {
        identity.map_self().map_err(at(Step::Identity))?;
    }
    // Away from the caller's terminal, and not to outlive the caller.
    leave_session().map_err(at(Step::Session))?;
    // A name of its own, and nothing that tells how the caller was started.
    settle_in().map_err(at(Step::Namespaces))?;
    // What is mounted from here on is mounted for this process only.
    keep_mounts_private().map_err(at(Step::Root))?;
    // A root with nothing in it but what the plan shows; then the host's is let go.
    let (root, hidden) = build_root(kit)?;
    enter(root).map_err(at(Step::Root))?;
    // Limits, before anything runs that they are for; then their own tree is not to be seen from inside.
    let Bounds { tasks, network } = Bounds::receive(kit.control).map_err(at(Step::Limits))?;
    cgroup::enter(tasks).map_err(at(Step::Limits))?;
    hide_cgroups().map_err(at(Step::Namespaces))?;
    // A network in which it can reach itself, and nobody else.
    be_alone(network).map_err(at(Step::Namespaces))?;

    // Privileges go, and every way to have them back.
    privilege::no_core_dumps().map_err(at(Step::Privileges))?;
    privilege::drop_bounding_set().map_err(at(Step::Privileges))?;
    privilege::lock_secure_bits().map_err(at(Step::Privileges))?;
    if let Way::Dropped { .. } = identity.way {
        privilege::become_user(identity.uid, identity.gid).map_err(at(Step::Privileges))?;
    }
    privilege::drop_capabilities().map_err(at(Step::Privileges))?;
    seccomp::no_new_privileges().map_err(at(Step::Privileges))?;
    // A change of ids forgets whom to die with; and nobody is to look into this process.
    die_with_parent().map_err(at(Step::Session))?;
    cannot_be_inspected().map_err(at(Step::Privileges))?;
    // Nothing of the caller's stays open but the channel that we report and are told through.
    init::keep_only([kit.null; 3], kit.control).map_err(at(Step::Descriptors))?;
    // Two more walls: by path, then by system call.
    let landlock = restrict_paths(plan).map_err(at(Step::Landlock))?;
    if let Some(filter) = kit.filter {
        seccomp::load(filter).map_err(at(Step::Seccomp))?;
    }
    // Not what was meant: what is.
    let facts = confirm::look(kit, landlock, &hidden).map_err(at(Step::Confirm))?;
    // And not only what the kernel says: what it does.
    let ground = trial(plan, &hidden);
    let probes = prove::prove(&ground).map_err(|violation| Failed::violated(&violation))?;
    Ok((Facts { probes, ..facts }, ground))
}

/// What is forbidden in here.
fn trial(plan: &Plan, hidden: &Hidden) -> prove::Ground {
    prove::Ground {
        proof: plan.proof,
        is_alone: true,
        is_filtered: plan.seccomp.is_some(),
        hidden: hidden.paths.iter().map(|path| plan.workspace.target.join(path)).collect(),
    }
}

/// Builds the root, from the bottom up.
fn build_root(kit: &Kit<'_>) -> Result<(Root, Hidden), Failed> {
    let Kit { plan, identity, .. } = *kit;
    let depth = if identity.has_user_namespace() { Depth::Tree } else { Depth::One };

    // The root lies over the host's, which stays in sight until it is let go: a path is looked up from where
    // the root of a process is, not from what lies over that.
    let host = open_dir(Path::new("/")).map_err(at(Step::Root))?;
    let (root, covers) = match kit.root {
        Some(copy) => copied(copy, &host, plan).map_err(at(Step::Root))?,
        None => {
            let root = Root::new(&plan.workspace.target).map_err(at(Step::Root))?;
            root.lay_over(&host).map_err(at(Step::Root))?;
            let covers = furnish(&root, identity, depth)?;
            (root, covers)
        }
    };
    dev::mount(&root).map_err(at(Step::Devices))?;
    // Its own processes; mounted while the host's /proc is still there, as the kernel demands.
    proc::mount(&root).map_err(at(Step::Processes))?;
    proc::harden(&root, &covers).map_err(at(Step::Processes))?;
    // The workspace, and what in it must not be seen: before anything is mounted into it.
    let ground = Ground::receive(kit.control).map_err(at(Step::Workspace))?;
    let state = open_dir(kit.state).map_err(at(Step::Workspace))?;
    let identity = &identity.with_owners(ground.owners);
    let tree = match ground.workspace {
        // A copy of its mount: the kernel lists mounts in the order in which they were made, and nothing is to tell by whom.
        Some(made) => clone_mount(made, &"workspace", Depth::One),
        None => workspace::make(&plan.workspace, state.as_fd(), identity, depth),
    }
    .map_err(at(Step::Workspace))?;
    workspace::put(&root, &plan.workspace, &tree).map_err(at(Step::Workspace))?;
    if plan.workspace.mode == WorkspaceMode::Direct {
        repository::protect(&tree, depth).map_err(at(Step::Workspace))?;
    }
    let hidden = hide(kit, &root, &tree, &covers, &state).map_err(at(Step::Blocked))?;
    // Places to write to that vanish, then what the plan adds.
    memory::make(&root, &plan.tmpfs, identity).map_err(at(Step::Memory))?;
    if let Some(repository) = &plan.repository {
        repository::mount(&root, repository, &plan.workspace, state.as_fd(), identity)
            .map_err(at(Step::Workspace))?;
    }
    memory::advise_git(&root, &hidden.placeholders, identity).map_err(at(Step::Memory))?;
    for toolchain in &plan.toolchains {
        binds::toolchain(&root, toolchain, depth).map_err(at(Step::Toolchains))?;
    }
    for extra in &plan.mounts {
        binds::extra(&root, extra, identity, depth).map_err(at(Step::Mounts))?;
    }
    if plan.result.is_some() {
        result::mount(&root, state.as_fd(), identity).map_err(at(Step::Mounts))?;
    }
    // Complete: nothing of it changes any more.
    root.finish(root_access(plan), identity).map_err(at(Step::Root))?;
    Ok((root, hidden))
}

/// Furnishes an empty root with what all sandboxes of this identity have in common: what is shown of the system.
pub(crate) fn furnish(root: &Root, identity: &Identity, depth: Depth) -> Result<Covers, Failed> {
    system::show(root, depth).map_err(at(Step::System))?;
    let covers = Covers::new(root).map_err(at(Step::Root))?;
    etc::make(root, identity, &covers, depth).map_err(at(Step::System))?;
    dev::show(root).map_err(at(Step::Devices))?;
    Ok(covers)
}

/// A root that was furnished before, see [`template`](crate::template).
fn copied(copy: BorrowedFd<'_>, host: &OwnedFd, plan: &Plan) -> Result<(Root, Covers), SysError> {
    let copy = copy.try_clone_to_owned().map_err(|e| SysError::new("dup", e))?;
    let root = Root::of(copy, &plan.workspace.target);
    root.lay_over(host)?;
    let covers = Covers::of(&root)?;
    Ok((root, covers))
}

fn hide_cgroups() -> Result<(), SysError> {
    sys::leave_namespace(libc::CLONE_NEWCGROUP, "cgroup")
}

fn leave_session() -> Result<(), SysError> {
    rustix::process::setsid().map_err(|e| SysError::new("setsid", e))?;
    rustix::process::umask(MASK);
    die_with_parent()
}

/// A parent that died before this has left nobody at the far end of the channel: then no order ever
/// comes, and nothing is run.
fn die_with_parent() -> Result<(), SysError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|e| SysError::new("prctl (parent death signal)", e))
}

fn settle_in() -> Result<(), SysError> {
    rustix::system::sethostname(etc::HOSTNAME.as_bytes())
        .map_err(|e| SysError::new("sethostname", e))?;
    init::forget_arguments("cofferdam: first process of a sandbox")
}

fn be_alone(network: OwnedFd) -> Result<(), SysError> {
    if weakened(Weakness::Network) {
        return Ok(());
    }
    sys::enter_namespace(network.as_fd(), libc::CLONE_NEWNET)
}

fn keep_mounts_private() -> Result<(), SysError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|e| SysError::on("mount", "/: private", e))
}

pub(crate) fn open_dir(path: &Path) -> Result<OwnedFd, SysError> {
    openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| SysError::on("open", path.display(), e))
}

fn hide(
    kit: &Kit<'_>,
    root: &Root,
    tree: &OwnedFd,
    covers: &Covers,
    state: &OwnedFd,
) -> Result<Hidden, SysError> {
    let workspace = &kit.plan.workspace;
    let view = blocked::Workspace {
        root,
        mount: tree.as_fd(),
        target: workspace.target.strip_prefix("/").unwrap_or(&workspace.target),
        mode: workspace.mode,
        identity: kit.identity,
    };
    let hidden = blocked::hide(&view, &kit.plan.blocked, covers)?;
    blocked::note_placeholders(state.as_fd(), &hidden.placeholders)?;
    Ok(hidden)
}

fn root_access(plan: &Plan) -> RootAccess {
    match plan.root {
        RootPlan::Host { readonly: false } => RootAccess::Writable,
        _ => RootAccess::Readonly,
    }
}

/// Makes the root ours and lets the host's go. See pivot_root(2) for the two dots.
fn enter(root: Root) -> Result<(), SysError> {
    rustix::process::fchdir(&root).map_err(|e| SysError::on("fchdir", "root", e))?;
    rustix::process::pivot_root(".", ".").map_err(|e| SysError::new("pivot_root", e))?;
    unmount(".", UnmountFlags::DETACH).map_err(|e| SysError::on("umount", "old root", e))?;
    rustix::process::chdir("/").map_err(|e| SysError::on("chdir", "/", e))
}

fn cannot_be_inspected() -> Result<(), SysError> {
    if weakened(Weakness::Dumpable) {
        return Ok(());
    }
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|e| SysError::new("prctl (dumpable)", e))
}

/// Reading everywhere, writing only where something is meant to be written.
fn restrict_paths(plan: &Plan) -> Result<Option<Abi>, SysError> {
    if plan.relaxed.iter().any(|relaxed| relaxed.guarantee == Guarantee::Landlock) {
        return Ok(None);
    }
    let mut writable = vec![c"/dev/shm".to_owned(), to_c(Path::new(HOME))?];
    if root_access(plan) == RootAccess::Writable {
        writable.push(c"/".to_owned());
    }
    if plan.workspace.mode != WorkspaceMode::Readonly {
        writable.push(to_c(&plan.workspace.target)?);
    }
    if let (Some(repository), WorkspaceMode::Stage) = (&plan.repository, plan.workspace.mode) {
        writable.push(to_c(&repository.target)?);
    }
    for target in plan.tmpfs.keys() {
        writable.push(to_c(target)?);
    }
    for mount in plan.mounts.iter().filter(|mount| mount.access == Access::Write) {
        writable.push(to_c(&mount.target)?);
    }
    if plan.result.is_some() {
        writable.push(to_c(Path::new(PLACE))?);
    }
    let writable: Vec<&CStr> = writable.iter().map(CString::as_c_str).collect();
    landlock::restrict_here(&writable).map(Some).map_err(|error| match error {
        LandlockError::Sys(error) => error,
        LandlockError::NotSupported => {
            SysError::new("landlock_create_ruleset", rustix::io::Errno::OPNOTSUPP)
        }
    })
}

fn to_c(path: &Path) -> Result<CString, SysError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| SysError::on("path", path.display(), rustix::io::Errno::INVAL))
}
