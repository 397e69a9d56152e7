//! A sandbox that waits for its order, and the giving of it.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use cofferdam_core::plan::Plan;
use cofferdam_core::receipt::Holding;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::prepare::{check_supported, is_alive};
use super::streams::{Streams, Theirs};
use super::{ConfineError, holdings};
use crate::cgroup::{Counters, InForce, Tally};
use crate::channel::{Channel, Message};
use crate::order::Order;
use crate::process::{Parent, Process, Reach, StartError, StdinKind};
use crate::recipe::Step;
use crate::report::{Facts, Report};
use crate::sys::SysError;

/// What was read back when the sandbox was made, for whoever gives it its order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Notes {
    pub(super) pid: i32,
    pub(super) facts: Facts,
    pub(super) in_force: Vec<InForce>,
    pub(super) counters: Counters,
}

/// The order is given once: it uses the sandbox up.
#[derive(Debug)]
pub struct Waiting {
    pub(super) pidfd: OwnedFd,
    pub(super) control: Channel,
    pub(super) notes: Notes,
    pub(super) parent: Parent,
}

/// A sandbox that another process made and handed to us. Its order does not wait until we know what was read back.
#[derive(Debug)]
pub struct Received {
    pub pidfd: OwnedFd,
    pub control: OwnedFd,
}

/// Such a sandbox with its order.
#[derive(Debug)]
pub struct Sent {
    pidfd: OwnedFd,
    control: Channel,
    ordered: Ordered,
}

impl Received {
    /// Whether it still waits.
    pub fn is_alive(&self) -> bool {
        is_alive(self.pidfd.as_fd())
    }

    /// Has it carry out an order for a plan whose profile must be that of the sandbox.
    pub fn order(self, draft: Draft) -> Result<Sent, StartError> {
        let control = Channel::from(self.control);
        let ordered = draft.send(&control).map_err(|e| match e {
            StartError::Confine(ConfineError::Sys(e)) if is_gone(&e) => ConfineError::Died.into(),
            other => other,
        })?;
        Ok(Sent { pidfd: self.pidfd, control, ordered })
    }
}

impl Sent {
    /// Waits until the command runs.
    pub fn started(self, notes: Notes, plan: &Plan) -> Result<Running, StartError> {
        let Self { pidfd, control, ordered } = self;
        Waiting { pidfd, control, notes, parent: Parent::Launcher }.run(ordered, plan)
    }
}

/// A command that was started in a sandbox.
#[derive(Debug)]
pub struct Running {
    pub process: Process,
    /// What is in force, as read back.
    pub receipt: Vec<Holding>,
    /// Settings by name, as read back.
    pub effective: Vec<(&'static str, String)>,
}

/// Longer than any confinement takes on a host that works at all.
const PATIENCE: Duration = Duration::from_secs(60);

impl Waiting {
    /// For handing it on.
    pub fn parts(&self) -> [BorrowedFd<'_>; 2] {
        [self.pidfd.as_fd(), self.control.as_fd()]
    }

    /// Waits until the order that was given is carried out.
    pub(super) fn run(self, ordered: Ordered, plan: &Plan) -> Result<Running, StartError> {
        let Self { pidfd, control, notes: Notes { pid, facts, in_force, counters }, parent } = self;
        // Opened before the command is over, it is only read then.
        let tally = Tally::open(&counters);
        let (receipt, effective) = holdings::of(plan, &facts, &in_force);
        let (_, descriptors) = await_started(plan, &control)?;
        let (stdin, stdout, stderr, terminal) = match ordered.ours {
            Some(Streams { stdin, stdout, stderr }) => (stdin, stdout, Some(stderr), None),
            None => {
                let Some(master) = descriptors.into_iter().next() else {
                    return Err(ConfineError::Died.into());
                };
                let again = || master.try_clone().map_err(|e| SysError::new("dup", e));
                (Some(again()?), again()?, None, Some(master))
            }
        };
        let process = Process {
            pid: Pid::from_raw(pid).unwrap_or(Pid::INIT),
            pidfd,
            stdin,
            stdout,
            stderr,
            terminal,
            reach: Reach::Init { reports: control.into(), tally, parent },
            stay: None,
        };
        Ok(Running { process, receipt, effective })
    }
}

/// An order with its streams, for a sandbox that may not be there yet.
#[derive(Debug)]
pub struct Draft {
    message: Vec<u8>,
    /// The command's ends and ours. Missing where it gets a terminal, whose master end comes with the answer.
    streams: Option<(Theirs, Streams)>,
}

impl Draft {
    pub fn new(plan: &Plan, run_id: &str, stdin: StdinKind) -> Result<Self, StartError> {
        check_supported(plan)?;
        let mut order = Order::of(plan, run_id, None)?;
        let streams = if let StdinKind::Terminal(size) = stdin {
            order.terminal = Some(size);
            None
        } else {
            let (ours, theirs) = Streams::new(stdin).map_err(ConfineError::Sys)?;
            Some((theirs, ours))
        };
        Ok(Self { message: order.encode()?, streams })
    }

    pub(super) fn send(self, control: &Channel) -> Result<Ordered, StartError> {
        let Some((theirs, ours)) = self.streams else {
            control.send(&self.message, &[]).map_err(ConfineError::Sys)?;
            return Ok(Ordered { ours: None });
        };
        // Held open here, the command's own ends would never end: they go with `theirs`.
        control.send(&self.message, &theirs.descriptors()).map_err(ConfineError::Sys)?;
        Ok(Ordered { ours: Some(ours) })
    }
}

/// An order that is on its way.
#[derive(Debug)]
pub(super) struct Ordered {
    ours: Option<Streams>,
}

/// Whether it says that nobody is at the other end any more.
pub(super) fn is_gone(error: &SysError) -> bool {
    matches!(error.source.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
        || error.source.raw_os_error() == Some(libc::ESRCH)
}

/// The number of the command's first process, and what came with it.
pub(super) fn await_started(
    plan: &Plan,
    control: &Channel,
) -> Result<(i32, Vec<OwnedFd>), StartError> {
    let (report, descriptors) = await_message(control)?;
    match report {
        Some(Report::Started { pid }) => Ok((pid, descriptors)),
        Some(Report::NotExecuted { path: program, lack: Some(lack), .. }) => {
            Err(StartError::NoInterpreter { program, lack })
        }
        Some(Report::NotExecuted { path, errno, lack: None }) => Err(not_executed(path, errno)),
        Some(Report::Failed(failed)) if failed.step == Step::Workdir => Err(StartError::Workdir {
            path: plan.workdir.0.clone(),
            source: io::Error::from_raw_os_error(failed.errno),
        }),
        _ => Err(ConfineError::Died.into()),
    }
}

pub(super) fn await_report(control: &Channel) -> Result<Option<Report>, ConfineError> {
    await_message(control).map(|(report, _)| report)
}

fn await_message(control: &Channel) -> Result<(Option<Report>, Vec<OwnedFd>), ConfineError> {
    if !control.is_ready(Some(PATIENCE)).map_err(ConfineError::Sys)? {
        return Err(ConfineError::Stuck);
    }
    let Some(Message { bytes, descriptors }) = control.receive().map_err(ConfineError::Sys)? else {
        return Ok((None, Vec::new()));
    };
    let garbled = || SysError::on("read", "report", io::Error::from(io::ErrorKind::InvalidData));
    let report = Report::parse(&bytes).ok_or_else(garbled).map_err(ConfineError::Sys)?;
    Ok((Some(report), descriptors))
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
