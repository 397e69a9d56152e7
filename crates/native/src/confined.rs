//! Starts a command in a sandbox of its own.
//!
//! [`start`] gets everything ready, makes a process with new namespaces, and waits until that process
//! has confined itself by the [recipe](crate::recipe) and executed the command, or failed to. Either
//! all of the plan is in force when it returns, or nothing ran and the error says why.
//!
//! Deliberately absent: any way to start with less. What the plan gives up by name it lists itself.

mod error;
mod holdings;

use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cofferdam_core::mount::Access;
use cofferdam_core::plan::{Plan, Root};
use cofferdam_core::receipt::Holding;
use cofferdam_core::spec::{Mode, Network, Seccomp, Terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};

use crate::cgroup::{Cgroup, CgroupError, Controller};
use crate::confirm::network_namespace;
use crate::identity::{Identity, Ids, strangers};
use crate::init::{self, Order};
use crate::process::{Process, Reach, StartError, StdinKind};
use crate::recipe::{self, Kit, Step};
use crate::report::{Facts, Report};
use crate::seccomp;
use crate::sys::clone::{Child, clone_into, threads};
use crate::sys::init::Image;
use crate::sys::{SysError, keep_dead_children};
use crate::workspace;
pub use error::ConfineError;

/// What to start, and where its traces go.
#[derive(Debug)]
pub struct Confinement<'a> {
    pub plan: &'a Plan,
    pub run_id: &'a str,
    /// The run's directory, which exists. In stage mode the changes end up in `upper` in it.
    pub state: &'a Path,
    pub stdin: StdinKind,
}

/// A command that runs in its sandbox.
#[derive(Debug)]
pub struct Confined {
    pub process: Process,
    pub hold: Hold,
    /// What is in force, as read back. What the plan gave up stands in the plan.
    pub receipt: Vec<Holding>,
    /// Settings by name, as read back.
    pub effective: Vec<(&'static str, String)>,
}

/// What has to be kept until the command has ended, and let go when its result is told: letting go of
/// a mount namespace takes longer than most commands.
#[derive(Debug)]
pub struct Hold {
    mounts: Option<OwnedFd>,
    cgroup: Cgroup,
}

impl Hold {
    /// Takes the sandbox down and says what of it would not go. To be called after the command ended.
    pub fn finish(mut self) -> Vec<String> {
        self.mounts = None;
        self.cgroup.remove()
    }
}

/// Tells the program, and whoever looks at a process, which run it belongs to.
pub(crate) const RUN_VARIABLE: &str = "COFFERDAM_RUN";

/// Longer than any confinement takes on a host that works at all.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// Starts the command of the plan, confined as the plan says.
pub fn start(confinement: &Confinement<'_>) -> Result<Confined, StartError> {
    let Confinement { plan, run_id, state, stdin } = *confinement;
    check_single_thread()?;
    check_supported(plan)?;
    keep_dead_children().map_err(ConfineError::Sys)?;
    let meta = fs::symlink_metadata(&plan.workspace.source.real)
        .map_err(|e| SysError::on("stat", plan.workspace.source.real.display(), e))
        .map_err(ConfineError::Sys)?;
    let identity = Identity::choose(Ids::of(&meta)).map_err(ConfineError::Sys)?;
    if plan.workspace.mode == Mode::Stage {
        check_owners(plan, &identity)?;
        workspace::make_layers(state, &meta)
            .map_err(|e| SysError::on("mkdir", state.display(), e))
            .map_err(ConfineError::Sys)?;
    }
    let cgroup = make_cgroup(plan, run_id)?;
    let filter = plan.seccomp.is_some().then(|| seccomp::program(writes(plan)));
    let order = order(plan, run_id)?;
    let streams = Streams::new(stdin).map_err(ConfineError::Sys)?;
    let (reports, report) = pipe().map_err(ConfineError::Sys)?;

    let kit = Kit {
        plan,
        state,
        identity: &identity,
        cgroup: &cgroup,
        filter,
        host_network: network_namespace().map_err(ConfineError::Sys)?,
        streams: streams.inner()?,
        report: report.as_fd(),
    };
    let child = clone_into(namespaces(&identity), cgroup.birth(), || first_process(&kit, &order))
        .map_err(ConfineError::Sys)?;
    drop(report);
    // Only for speed: without it, the end of the command is seen after its mounts are taken down.
    let mounts = File::open(format!("/proc/{}/ns/mnt", child.pid)).ok().map(OwnedFd::from);

    match await_start(plan, &reports) {
        Ok(facts) => {
            let oom = cgroup.oom_count();
            let (receipt, effective) = holdings::of(plan, &facts, &cgroup);
            let process = streams.process(child, Reach::Init { reports, oom });
            Ok(Confined { process, hold: Hold { mounts, cgroup }, receipt, effective })
        }
        Err(error) => {
            // The error stands, whatever becomes of the process; the kernel ends it with us at last.
            end(&child).ok();
            Err(error)
        }
    }
}

/// The life of the new process. Whatever it has to say goes through the pipe.
fn first_process(kit: &Kit<'_>, order: &Order) -> i32 {
    let answer = match recipe::carry_out(kit) {
        Ok(facts) => init::run(facts, order, kit.report),
        Err(failed) => init::send(&Report::Failed(failed), kit.report),
    };
    i32::from(answer.is_err())
}

fn await_start(plan: &Plan, reports: &OwnedFd) -> Result<Facts, StartError> {
    let mut fds = [PollFd::new(reports, PollFlags::IN)];
    loop {
        match poll(&mut fds, Some(&PATIENCE)) {
            Ok(0) => return Err(ConfineError::Stuck.into()),
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(ConfineError::Sys(SysError::new("poll", e)).into()),
        }
    }
    let from = reports.try_clone().map(File::from);
    let report = from
        .and_then(Report::receive)
        .map_err(|e| ConfineError::Sys(SysError::on("read", "report", e)))?;
    match report {
        Some(Report::Started(facts)) => Ok(facts),
        Some(Report::NotExecuted { path, errno }) => Err(not_executed(path, errno)),
        Some(Report::Failed(failed)) if failed.step == Step::Workdir => Err(StartError::Workdir {
            path: plan.workdir.0.clone(),
            source: io::Error::from_raw_os_error(failed.errno),
        }),
        Some(Report::Failed(failed)) => Err(ConfineError::Step {
            step: failed.step,
            remedy: failed.step.remedy(&failed.call, failed.errno),
            call: failed.call,
            subject: failed.subject,
            source: io::Error::from_raw_os_error(failed.errno),
        }
        .into()),
        Some(Report::Ended(_)) | None => Err(ConfineError::Died.into()),
    }
}

fn not_executed(program: String, errno: i32) -> StartError {
    let source = io::Error::from_raw_os_error(errno);
    match errno {
        libc::ENOENT | libc::ENOTDIR => StartError::NotFound { program },
        libc::EACCES | libc::EISDIR | libc::ENOEXEC => {
            StartError::NotExecutable { program, source }
        }
        _ => StartError::Spawn { program, source },
    }
}

fn end(child: &Child) -> rustix::io::Result<()> {
    pidfd_send_signal(&child.pidfd, Signal::KILL)?;
    waitid(WaitId::PidFd(child.pidfd.as_fd()), WaitIdOptions::EXITED)?;
    Ok(())
}

/// What the process is born with. The cgroup namespace it makes itself, later: it shows the group that
/// it is made in as the root.
fn namespaces(identity: &Identity) -> i32 {
    let user = if identity.has_user_namespace() { libc::CLONE_NEWUSER } else { 0 };
    user | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
}

fn check_single_thread() -> Result<(), ConfineError> {
    match threads() {
        Ok(1) => Ok(()),
        Ok(count) => Err(ConfineError::Threads { count }),
        Err(e) => Err(ConfineError::Sys(SysError::on("readdir", "/proc/self/task", e))),
    }
}

/// Caps keep such a plan from being made; a plan from elsewhere is refused here.
fn check_supported(plan: &Plan) -> Result<(), ConfineError> {
    let refused = match plan {
        Plan { root: Root::Image { .. } | Root::Bare, .. } => "an image as root",
        Plan { network: Network::Host | Network::Bridge | Network::Allow, .. } => "a network",
        Plan { seccomp: Some(Seccomp::File(_)), .. } => "a system call filter from a file",
        Plan { terminal: Terminal::Tty, .. } => "a terminal",
        Plan { runtime: Some(_), .. } => "another runtime",
        _ => return Ok(()),
    };
    Err(ConfineError::Unsupported { what: refused })
}

fn check_owners(plan: &Plan, identity: &Identity) -> Result<(), ConfineError> {
    const NAMED: usize = 5;
    if !identity.has_user_namespace() {
        return Ok(());
    }
    let us = Ids { uid: identity.uid, gid: identity.gid };
    let workspace = &plan.workspace.source.real;
    let paths = strangers(workspace, us, NAMED)
        .map_err(|e| ConfineError::Sys(SysError::on("stat", workspace.display(), e)))?;
    if paths.is_empty() { Ok(()) } else { Err(ConfineError::Strangers { paths }) }
}

fn make_cgroup(plan: &Plan, run_id: &str) -> Result<Cgroup, ConfineError> {
    let given_up = |c: &Controller| plan.relaxed.iter().any(|r| r.guarantee == c.guarantee());
    let wanted: Vec<_> = Controller::ALL.into_iter().filter(|c| !given_up(c)).collect();
    Cgroup::make(run_id, &plan.limits, &wanted).map_err(|error| match error {
        CgroupError::Lacking { guarantee, lack } => ConfineError::Limit { guarantee, lack },
        CgroupError::Sys(error) => ConfineError::Sys(error),
    })
}

fn writes(plan: &Plan) -> seccomp::Writes {
    let on_host = plan.workspace.mode == Mode::Direct
        || plan.mounts.iter().any(|mount| mount.access == Access::Write);
    if on_host { seccomp::Writes::OnHost } else { seccomp::Writes::Staged }
}

/// The command, its arguments and its whole environment.
fn order(plan: &Plan, run_id: &str) -> Result<Order, StartError> {
    let program = plan.command.first().map(|arg| arg.0.clone()).unwrap_or_default();
    let text = |bytes: &[u8]| {
        CString::new(bytes).map_err(|_| ConfineError::Unsupported { what: "a NUL byte" })
    };
    let argv: Result<Vec<_>, _> = plan.command.iter().map(|arg| text(arg.0.as_bytes())).collect();
    let env: Result<Vec<_>, _> = plan
        .env
        .iter()
        // The run's own name cannot be taken by another.
        .filter(|(name, _)| name.as_str() != RUN_VARIABLE)
        .map(|(name, value)| format!("{name}={}", value.reveal()))
        .chain([format!("{RUN_VARIABLE}={run_id}")])
        .map(|variable| text(variable.as_bytes()))
        .collect();
    let search = plan
        .env
        .iter()
        .find(|(name, _)| name.as_str() == "PATH")
        .map_or(cofferdam_core::plan::SYSTEM_PATH, |(_, value)| value.reveal());
    Ok(Order { program, search: OsString::from(search), image: Image::new(argv?, env?) })
}

fn pipe() -> Result<(OwnedFd, OwnedFd), SysError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|e| SysError::new("pipe", e))
}

/// Both ends of the command's standard streams.
struct Streams {
    stdin: (Option<OwnedFd>, Input),
    stdout: (OwnedFd, OwnedFd),
    stderr: (OwnedFd, OwnedFd),
}

enum Input {
    Ours,
    Made(OwnedFd),
}

impl Streams {
    fn new(kind: StdinKind) -> Result<Self, SysError> {
        let stdin = match kind {
            StdinKind::Inherit => (None, Input::Ours),
            StdinKind::Pipe => {
                let (theirs, ours) = pipe()?;
                (Some(ours), Input::Made(theirs))
            }
            StdinKind::Empty => {
                let null =
                    File::open("/dev/null").map_err(|e| SysError::on("open", "/dev/null", e))?;
                (None, Input::Made(null.into()))
            }
        };
        Ok(Self { stdin, stdout: pipe()?, stderr: pipe()? })
    }

    /// What the command gets.
    fn inner(&self) -> Result<[BorrowedFd<'_>; 3], StartError> {
        let stdin = match &self.stdin.1 {
            Input::Ours => rustix::stdio::stdin(),
            Input::Made(fd) => fd.as_fd(),
        };
        Ok([stdin, self.stdout.1.as_fd(), self.stderr.1.as_fd()])
    }

    /// What stays with us; the command's ends are closed here.
    fn process(self, child: Child, reach: Reach) -> Process {
        let pid = Pid::from_raw(child.pid).unwrap_or(Pid::INIT);
        Process {
            pid,
            pidfd: child.pidfd,
            stdin: self.stdin.0,
            stdout: self.stdout.0,
            stderr: self.stderr.0,
            reach,
        }
    }
}
