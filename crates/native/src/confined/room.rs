//! A sandbox that stands and takes commands, several at once, until it is ended.
//!
//! Each command has streams and a channel of its own; what one leaves running lives on in the sandbox. All of
//! them share its limits, its workspace and its processes: they are not walled off from one another.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cofferdam_core::plan::Plan;
use cofferdam_core::receipt::Holding;
use rustix::process::{Pid, Signal, pidfd_send_signal};

use super::streams::{NULL, Streams};
use super::waiting::{Notes, Waiting, await_started, is_gone};
use super::{ConfineError, holdings};
use crate::cgroup::{Counters, Tally};
use crate::channel::Channel;
use crate::line::Caller;
use crate::order::{Family, Order};
use crate::process::{Process, Reach, Since, StartError};
use crate::sys::SysError;

#[derive(Debug)]
pub struct Room {
    /// One word at a time.
    control: Mutex<Channel>,
    pidfd: OwnedFd,
    pid: i32,
    tally: Arc<Tally>,
    /// What a command reads that nobody gives anything.
    null: File,
    /// What an image has for every command; none where there is no image.
    image_env: Vec<(String, String)>,
    /// What is in force, as read back.
    pub receipt: Vec<Holding>,
    /// Settings by name, as read back.
    pub effective: Vec<(&'static str, String)>,
}

/// A command that was started in a room.
#[derive(Debug)]
pub struct Guest {
    pub process: Process,
    /// The number of its first process, as the sandbox sees it.
    pub leader: i32,
}

impl Room {
    pub(super) fn new(waiting: Waiting, plan: &Plan) -> Result<Self, SysError> {
        let Waiting { pidfd, control, notes, parent: _ } = waiting;
        let Notes { pid, facts, in_force, counters } = notes;
        let (receipt, effective) = holdings::of(plan, &facts, &in_force);
        let (control, image_env) = (Mutex::new(control), Vec::new());
        let (tally, null) = (Arc::new(Tally::open(&counters)), null()?);
        Ok(Self { control, pidfd, pid, tally, null, image_env, receipt, effective })
    }

    /// A container that an engine made, whose first process is this program's. `kills` and `refusals` are the files in
    /// which the kernel counts whom it killed there for want of memory, and how many processes it would not start.
    pub fn of_container(
        caller: Caller,
        image_env: Vec<(String, String)>,
        (kills, refusals): (Option<PathBuf>, Option<PathBuf>),
        receipt: Vec<Holding>,
    ) -> Result<Self, SysError> {
        let (control, pidfd, pid) = caller.into_parts()?;
        let tally = Arc::new(Tally::open(&Counters { kills, refusals }));
        let control = Mutex::new(control);
        let (null, effective) = (null()?, Vec::new());
        Ok(Self { control, pidfd, pid, tally, null, image_env, receipt, effective })
    }

    /// Starts the command of `plan`, whose profile must be that of the sandbox, under this number.
    /// The standard input, where there is one, must be an unnamed pipe: the program is given no file of the host.
    pub fn start(
        &self,
        plan: &Plan,
        run_id: &str,
        exec: u64,
        stdin: Option<OwnedFd>,
    ) -> Result<Guest, StartError> {
        let order =
            Order::of(plan, run_id, Some(exec))?.with_image_env(&self.image_env).encode()?;
        let duplicate = |e| SysError::new("dup", e);
        let stdin = match stdin {
            Some(stdin) => stdin,
            None => self.null.try_clone().map_err(duplicate)?.into(),
        };
        let (ours, theirs) = Streams::given(stdin).map_err(ConfineError::Sys)?;
        let (channel, end) = Channel::pair().map_err(ConfineError::Sys)?;
        let pidfd = self.pidfd.try_clone().map_err(duplicate)?;
        let since = Since::now(self.tally.clone());
        let [stdin, stdout, stderr] = theirs.descriptors();
        let sent = self.lock().send(&order, &[stdin, stdout, stderr, end.as_fd()]);
        sent.map_err(|e| if is_gone(&e) { ConfineError::Died } else { ConfineError::Sys(e) })?;
        // Held open here, they would never end.
        drop((theirs, end));
        let (leader, _) = await_started(plan, &channel)?;
        let process = Process {
            pid: Pid::from_raw(self.pid).unwrap_or(Pid::INIT),
            pidfd,
            stdin: None,
            stdout: ours.stdout,
            stderr: Some(ours.stderr),
            terminal: None,
            reach: Reach::Member { channel, since },
            stay: None,
        };
        Ok(Guest { process, leader })
    }

    /// Ends all that a command left running, as far as it can be told from the rest.
    pub fn end_family(&self, leader: i32, exec: u64) -> Result<(), SysError> {
        self.lock().send(&Family { leader, exec }.encode(), &[])
    }

    /// Ends the sandbox with everything in it.
    pub fn end(&self) -> Result<(), SysError> {
        match pidfd_send_signal(&self.pidfd, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(errno) => Err(SysError::on("kill", self.pid, errno)),
        }
    }

    /// Becomes readable when the sandbox is dead.
    pub fn death(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    fn lock(&self) -> MutexGuard<'_, Channel> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn null() -> Result<File, SysError> {
    File::open(NULL).map_err(|e| SysError::on("open", NULL, e))
}
