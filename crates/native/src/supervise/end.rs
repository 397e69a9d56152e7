//! How a command ended: as its own parent saw it, or as the first process of its sandbox reported it.

use std::fs::File;
use std::os::fd::BorrowedFd;

use super::Status;
use crate::report::{End, Report};
use crate::sys::{Reaped, SysError};

/// Of a status as `wait` has it.
pub(crate) fn status_of(status: i32) -> Status {
    if libc::WIFEXITED(status) {
        Status::Exited(libc::WEXITSTATUS(status))
    } else {
        Status::Signaled(libc::WTERMSIG(status))
    }
}

/// The end of the command as the sandbox's first process reported it. One that ended without a report
/// was killed, and the command with it.
pub(super) fn reported_end(reports: BorrowedFd<'_>, first: Reaped) -> Result<Reaped, SysError> {
    Ok(reported(reports, first.pid)?.unwrap_or(Reaped { status: libc::SIGKILL, ..first }))
}

/// The command's end as the next report has it; `None` where it is none, or there is none.
pub(super) fn reported(reports: BorrowedFd<'_>, pid: i32) -> Result<Option<Reaped>, SysError> {
    let fail = |e| SysError::on("read", "report", e);
    let from = reports.try_clone_to_owned().map(File::from).map_err(fail)?;
    Ok(match Report::receive(from).map_err(fail)? {
        Some(Report::Ended(End { status, used, again, pids_refused: _ })) => {
            Some(Reaped { pid, status, used, again })
        }
        _ => None,
    })
}
