//! Makes a sandbox that waits for its order.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use cofferdam_core::mount::Access;
use cofferdam_core::plan::{Plan, Profile, Root};
use cofferdam_core::spec::{Mode, Network, Seccomp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};

use super::ConfineError;
use super::room::Room;
use super::waiting::{Draft, Notes, Ordered, Running, Waiting, await_report, is_gone};
use crate::apart::{Apart, Stay, part};
use crate::cgroup::{Cgroup, CgroupError, Controller, Survey, claim_unified, survey_separate};
use crate::channel::Channel;
use crate::confirm::network_namespace;
use crate::identity::{Identity, Ids, Owners, effective_uid, strangers};
use crate::init;
use crate::network;
use crate::process::{Parent, StartError, StdinKind};
use crate::recipe::{self, Kit, Step};
use crate::report::{Facts, Failed, Report};
use crate::result;
use crate::seccomp;
use crate::stock::Stock;
use crate::supply::{Ground, send_bounds};
use crate::sys::clone::{Child, clone_into, threads_settled};
use crate::sys::{SysError, keep_dead_children};
use crate::workspace::{lay, make_ahead};

/// How long the kernel may take to end what was killed.
const DYING: Duration = Duration::from_secs(5);

/// How long threads that have done their work may take to be gone.
const ENDING: Duration = Duration::from_secs(2);

/// What to prepare, and where its traces go.
#[derive(Debug)]
pub struct Preparation<'a> {
    pub profile: &'a Profile,
    /// Names its control groups.
    pub name: &'a str,
    /// A directory that exists. In stage mode the changes end up in `upper` in it.
    pub state: &'a Path,
    /// Of a process that makes many.
    pub stock: Option<&'a Stock>,
}

/// A sandbox in the making.
#[derive(Debug)]
pub struct Begun {
    child: Child,
    control: Channel,
    cgroup: Cgroup,
    stay: Option<Stay>,
    /// What was handed over and is copied there. To let it go takes a moment, in which nobody is to wait.
    _made: Option<OwnedFd>,
}

/// One that is not needed for anything any more before the command runs.
#[derive(Debug)]
pub struct Ahead {
    begun: Begun,
    ordered: Ordered,
}

/// A sandbox that stands and in which nothing runs yet.
#[derive(Debug)]
pub struct Prepared {
    child: Child,
    control: Channel,
    notes: Notes,
    cgroup: Cgroup,
}

/// What of a sandbox is left to its maker when the order is given: to take it down.
#[derive(Debug)]
pub struct Handed {
    pidfd: OwnedFd,
    cgroup: Cgroup,
}

/// Makes a process that is confined as the profile says and waits.
pub fn prepare(preparation: &Preparation<'_>) -> Result<Prepared, StartError> {
    begin(preparation)?.finish()
}

/// Starts to; several can be under way at once.
pub fn begin(preparation: &Preparation<'_>) -> Result<Begun, StartError> {
    let unsupplied = bear(preparation)?;
    unsupplied.supply(preparation)
}

/// A process that is at work on a sandbox and has been given nothing yet. There is nothing of it on disk or
/// in a control group: it ends with us, and leaves nothing behind.
#[derive(Debug)]
pub struct Unsupplied {
    workspace: Box<fs::Metadata>,
    birth: Birth,
}

#[derive(Debug)]
enum Birth {
    Done(Newborn),
    /// A group of the unified hierarchy is entered at birth, and is made only for a run that is known.
    Due(Survey),
}

/// A process that waits where it needs something of us.
#[derive(Debug)]
struct Newborn {
    child: Child,
    control: Channel,
    apart: Apart,
}

/// Starts the process of a sandbox, as far as that can be done before its place is made.
pub fn bear(preparation: &Preparation<'_>) -> Result<Unsupplied, StartError> {
    let Preparation { profile, state, stock, .. } = *preparation;
    let plan = profile.plan();
    check_single_thread()?;
    check_supported(plan)?;
    keep_dead_children().map_err(ConfineError::Sys)?;
    let workspace = fs::symlink_metadata(&plan.workspace.source.real)
        .map_err(|e| SysError::on("stat", plan.workspace.source.real.display(), e))
        .map_err(ConfineError::Sys)?;
    // In a copy everything is ours.
    if plan.workspace.mode == Mode::Stage && plan.workspace.staging.is_overlay() {
        check_owners(plan)?;
    }
    let birth = match claim_unified() {
        Some(found) => Birth::Due(found),
        None => Birth::Done(born(plan, state, &workspace, stock, None)?),
    };
    Ok(Unsupplied { workspace: Box::new(workspace), birth })
}

fn born(
    plan: &Plan,
    state: &Path,
    workspace: &fs::Metadata,
    stock: Option<&Stock>,
    group: Option<BorrowedFd<'_>>,
) -> Result<Newborn, StartError> {
    let identity = Identity::choose(Ids::of(workspace));
    let root = stock.and_then(|stock| stock.roots.copy_for(plan, &identity));
    let filter = plan.seccomp.is_some().then(|| seccomp::program(writes(plan)));
    let (control, theirs) = Channel::pair().map_err(ConfineError::Sys)?;
    let null = open_null().map_err(ConfineError::Sys)?;
    let kit = Kit {
        plan,
        state,
        identity: &identity,
        filter,
        host_network: network_namespace().map_err(ConfineError::Sys)?,
        null: null.as_fd(),
        control: theirs.as_fd(),
        root: root.as_ref().map(|root| root.as_fd()),
    };
    let child = clone_into(namespaces(&identity), group, control.as_fd(), || first_process(&kit))
        .map_err(ConfineError::Sys)?;
    drop(theirs);
    // It is at work already, and will wait for the rest where it needs it.
    match part(child.pid) {
        Ok(apart) => Ok(Newborn { child, control, apart }),
        Err(error) => Err(given_up(&child, error.into())),
    }
}

impl Unsupplied {
    /// Gives it what it needs of us. Its place in `state` must exist by now.
    pub fn supply(self, preparation: &Preparation<'_>) -> Result<Begun, StartError> {
        let Preparation { profile, name, state, stock } = *preparation;
        let plan = profile.plan();
        let (newborn, cgroup) = match self.birth {
            Birth::Done(newborn) => (newborn, None),
            Birth::Due(found) => {
                let cgroup = make_cgroup(&found, plan, name)?;
                (born(plan, state, &self.workspace, stock, cgroup.birth())?, Some(cgroup))
            }
        };
        let Newborn { child, control, apart } = newborn;
        let supplied = supply(&control, &child, preparation, &self.workspace);
        let supplied = supplied.and_then(|Supplied { network, made }| {
            let mut cgroup = match cgroup {
                Some(cgroup) => cgroup,
                None => make_cgroup(&survey_separate(), plan, name)?,
            };
            send_bounds(&control, network.as_fd(), cgroup.tasks()).map_err(ConfineError::Sys)?;
            cgroup.close_entry();
            // From here on it waits for nothing but its order.
            let stay = apart.let_go(child.pid).map_err(ConfineError::Sys)?;
            Ok((cgroup, made, stay))
        });
        match supplied {
            Ok((cgroup, made, stay)) => Ok(Begun { child, control, cgroup, stay, _made: made }),
            Err(error) => Err(first_word(&control, &child, error)),
        }
    }

    /// Ends it.
    pub fn give_up(self) {
        if let Birth::Done(newborn) = self.birth {
            // It has done nothing that outlives it, and the kernel ends it with us at last.
            end(&newborn.child.pidfd).ok();
        }
    }
}

/// What the parent still holds when it has handed the ground over.
#[derive(Debug)]
struct Supplied {
    network: OwnedFd,
    made: Option<OwnedFd>,
}

/// In the parent: the ground of the workspace, handed over, and the network namespace that is to be. That of an ordinary
/// user's sandbox belongs to the sandbox's own user namespace.
fn supply(
    control: &Channel,
    child: &Child,
    preparation: &Preparation<'_>,
    workspace: &fs::Metadata,
) -> Result<Supplied, StartError> {
    let Preparation { profile, state, stock, .. } = *preparation;
    let plan = profile.plan();
    if plan.workspace.mode == Mode::Stage {
        lay(plan, state, workspace).map_err(ConfineError::Sys)?;
    }
    if plan.result.is_some() {
        let fail = |e| SysError::on("mkdir", state.join(result::RESULT).display(), e);
        result::make(state, workspace).map_err(fail).map_err(ConfineError::Sys)?;
    }
    let owner = Ids::of(workspace);
    let owners = stock.map_or_else(|| Owners::of(owner), |stock| stock.owners.of(owner));
    let owners = owners.map_err(ConfineError::Sys)?;
    // A single run has more to do meanwhile than its sandbox.
    let made = match stock {
        Some(_) => make_workspace(plan, state, owner, owners.as_ref())?,
        None => None,
    };
    let ground = Ground {
        owners: owners.as_ref().map(|owners| owners.as_fd()),
        workspace: made.as_ref().map(|made| made.as_fd()),
    };
    ground.send(control).map_err(ConfineError::Sys)?;
    let network = match stock {
        _ if effective_uid() != 0 => network::make_for(child.pidfd.as_fd()),
        Some(stock) => stock.network.take(),
        None => network::make(),
    };
    let network = network.map_err(ConfineError::Sys)?;
    Ok(Supplied { network, made })
}

/// The workspace, where it can be made here.
fn make_workspace(
    plan: &Plan,
    state: &Path,
    owner: Ids,
    owners: Option<&Owners>,
) -> Result<Option<OwnedFd>, StartError> {
    let made = || {
        let owners = owners.map(Owners::again).transpose()?;
        let identity = Identity::choose(owner).with_owners(owners);
        let state = recipe::open_dir(state)?;
        make_ahead(&plan.workspace, state.as_fd(), &identity)
    };
    made().map_err(|error| step_failed(Failed::new(Step::Workspace, &error)).into())
}

impl Begun {
    /// Waits until the sandbox stands.
    pub fn finish(self) -> Result<Prepared, StartError> {
        let Self { child, control, cgroup, stay: _, _made } = self;
        match await_ready(&control) {
            Ok(facts) => {
                let notes = notes(&child, facts, &cgroup);
                Ok(Prepared { child, control, notes, cgroup })
            }
            Err(error) => Err(given_up(&child, error)),
        }
    }

    /// Starts the command of the plan.
    pub fn go(
        self,
        plan: &Plan,
        run_id: &str,
        stdin: StdinKind,
    ) -> Result<(Running, Handed), StartError> {
        self.order(plan, run_id, stdin)?.started(plan)
    }

    /// Sends the order ahead: the sandbox takes it up when it stands and has seen that it does, without waiting
    /// for us to hear of it.
    pub fn order(self, plan: &Plan, run_id: &str, stdin: StdinKind) -> Result<Ahead, StartError> {
        match Draft::new(plan, run_id, stdin).and_then(|draft| draft.send(&self.control)) {
            Ok(ordered) => Ok(Ahead { begun: self, ordered }),
            Err(error) => Err(first_word(&self.control, &self.child, error)),
        }
    }
}

impl Ahead {
    /// Waits until the command runs.
    pub fn started(self, plan: &Plan) -> Result<(Running, Handed), StartError> {
        let Self { begun: Begun { child, control, cgroup, stay, _made }, ordered } = self;
        let facts = await_ready(&control).map_err(|error| given_up(&child, error))?;
        let notes = notes(&child, facts, &cgroup);
        let (waiting, handed) = Prepared { child, control, notes, cgroup }.hand_over()?;
        match waiting.run(ordered, plan) {
            Ok(mut running) => {
                running.process.stay = stay;
                Ok((running, handed))
            }
            Err(error) => {
                // The error stands, whatever becomes of the sandbox; the kernel ends it with us at last.
                handed.finish();
                Err(error)
            }
        }
    }
}

impl Begun {
    /// Waits until the sandbox stands, to be given many orders.
    pub fn settle(self, plan: &Plan) -> Result<(Room, Handed), StartError> {
        check_supported(plan)?;
        let (waiting, handed) = self.finish()?.hand_over()?;
        Ok((Room::new(waiting, plan)?, handed))
    }
}

fn notes(child: &Child, facts: Facts, cgroup: &Cgroup) -> Notes {
    let (in_force, counters) = (cgroup.in_force.clone(), cgroup.counters());
    Notes { pid: child.pid, facts, in_force, counters }
}

/// Why a sandbox is not to be. Where it failed first, what we wanted to give it found nobody, and its own
/// words say more.
fn first_word(control: &Channel, child: &Child, ours: StartError) -> StartError {
    let theirs = match &ours {
        StartError::Confine(ConfineError::Sys(error)) if is_gone(error) => {
            await_ready(control).err()
        }
        _ => None,
    };
    given_up(child, theirs.unwrap_or(ours))
}

/// Ends what was to be a sandbox.
fn given_up(child: &Child, error: StartError) -> StartError {
    // The error stands, whatever becomes of the process; the kernel ends it with us.
    end(&child.pidfd).ok();
    error
}

impl Prepared {
    /// Whether it still waits. One that was killed meanwhile is of no use.
    pub fn is_alive(&self) -> bool {
        is_alive(self.child.pidfd.as_fd())
    }

    /// What was read back when it was made.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Takes it apart: what is needed to give the order, and what is left to take the sandbox down.
    pub fn hand_over(self) -> Result<(Waiting, Handed), StartError> {
        let Self { child, control, notes, cgroup } = self;
        let pidfd = child.pidfd.try_clone().map_err(|e| SysError::new("dup", e))?;
        let waiting = Waiting { pidfd: child.pidfd, control, notes, parent: Parent::Us };
        Ok((waiting, Handed { pidfd, cgroup }))
    }

    /// Ends it unused, and says what of it would not go.
    pub fn discard(self) -> Vec<String> {
        Handed { pidfd: self.child.pidfd, cgroup: self.cgroup }.finish()
    }
}

impl Handed {
    /// Ends what still runs, takes the sandbox down and says what of it would not go. Its mounts go with
    /// its last process: nobody else is in its mount namespace, nor holds it open.
    pub fn finish(mut self) -> Vec<String> {
        let stays = end(&self.pidfd).err();
        let mut left = self.cgroup.remove();
        left.extend(stays.map(|errno| format!("the sandbox's first process: {errno}")));
        left
    }
}

pub(super) fn is_alive(pidfd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
}

/// The life of the new process. Whatever it has to say goes through the channel.
fn first_process(kit: &Kit<'_>) -> i32 {
    let answer = match recipe::carry_out(kit) {
        Ok((facts, ground)) => init::run(facts, &ground, kit.control),
        Err(failed) => init::send(&Report::Failed(failed), kit.control),
    };
    i32::from(answer.is_err())
}

fn await_ready(control: &Channel) -> Result<Facts, StartError> {
    match await_report(control)? {
        Some(Report::Ready(facts)) => Ok(facts),
        Some(Report::Failed(failed)) => Err(step_failed(failed).into()),
        _ => Err(ConfineError::Died.into()),
    }
}

fn step_failed(failed: Failed) -> ConfineError {
    if let Some(violation) = failed.violation() {
        return ConfineError::Violated { violation };
    }
    ConfineError::Step {
        step: failed.step,
        remedy: failed.step.remedy(&failed.call, failed.errno),
        call: failed.call,
        subject: failed.subject,
        source: io::Error::from_raw_os_error(failed.errno),
    }
}

/// Ends a process of ours and takes it away. One that is dead already is as good. With a sandbox's first
/// process the kernel ends all others in it, and tells of its end only then.
fn end(pidfd: &OwnedFd) -> rustix::io::Result<()> {
    match pidfd_send_signal(pidfd, Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(errno) => return Err(errno),
    }
    let patience = Timespec::try_from(DYING).ok();
    let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
    if let Ok(0) = poll(&mut fds, patience.as_ref()) {
        return Err(rustix::io::Errno::TIMEDOUT);
    }
    match waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
        // Taken away before.
        Ok(_) | Err(rustix::io::Errno::CHILD) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn open_null() -> Result<OwnedFd, SysError> {
    let null = File::options().read(true).write(true).open("/dev/null");
    null.map(OwnedFd::from).map_err(|e| SysError::on("open", "/dev/null", e))
}

/// What the process is born with. The cgroup namespace it makes itself, later: it shows the group that
/// it is made in as the root. The network namespace is supplied, see [`supply`].
fn namespaces(identity: &Identity) -> i32 {
    let own = if identity.has_user_namespace() { libc::CLONE_NEWUSER } else { 0 };
    own | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS
}

fn check_single_thread() -> Result<(), ConfineError> {
    match threads_settled(1, ENDING) {
        Ok(1) => Ok(()),
        Ok(count) => Err(ConfineError::Threads { count }),
        Err(e) => Err(ConfineError::Sys(SysError::on("readdir", "/proc/self/task", e))),
    }
}

/// Caps keep such a plan from being made; a plan from elsewhere is refused here.
pub(super) fn check_supported(plan: &Plan) -> Result<(), ConfineError> {
    let refused = match plan {
        Plan { root: Root::Image { .. } | Root::Bare, .. } => "an image as root",
        Plan { network: Network::Host | Network::Bridge | Network::Allow, .. } => "a network",
        Plan { seccomp: Some(Seccomp::File(_)), .. } => "a system call filter from a file",
        Plan { runtime: Some(_), .. } => "another runtime",
        _ => return Ok(()),
    };
    Err(ConfineError::Unsupported { what: refused })
}

/// In a user namespace files of others cannot be copied up.
pub(crate) fn check_owners(plan: &Plan) -> Result<(), ConfineError> {
    const NAMED: usize = 5;
    let us = Ids::ours();
    if us.uid == 0 {
        return Ok(());
    }
    let workspace = &plan.workspace.source.real;
    let paths = strangers(workspace, us, NAMED)
        .map_err(|e| ConfineError::Sys(SysError::on("stat", workspace.display(), e)))?;
    if paths.is_empty() { Ok(()) } else { Err(ConfineError::Strangers { paths }) }
}

fn make_cgroup(found: &Survey, plan: &Plan, run_id: &str) -> Result<Cgroup, ConfineError> {
    let given_up = |c: &Controller| plan.relaxed.iter().any(|r| r.guarantee == c.guarantee());
    let wanted: Vec<_> = Controller::ALL.into_iter().filter(|c| !given_up(c)).collect();
    Cgroup::make(found, run_id, &plan.limits, &wanted).map_err(|error| match error {
        CgroupError::Lacking { guarantee, lack } => ConfineError::Limit { guarantee, lack },
        CgroupError::Sys(error) => ConfineError::Sys(error),
    })
}

fn writes(plan: &Plan) -> seccomp::Writes {
    let on_host = plan.workspace.mode == Mode::Direct
        || plan.mounts.iter().any(|mount| mount.access == Access::Write);
    if on_host { seccomp::Writes::OnHost } else { seccomp::Writes::Staged }
}
