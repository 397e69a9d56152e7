//! Leaves whoever started this process behind.

use std::fs::File;

use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdout};

use crate::sys::SysError;

/// Leaves the terminal's session, so that what is typed there does not reach us.
pub fn leave_terminal() -> Result<(), SysError> {
    setsid().map(|_| ()).map_err(|e| SysError::new("setsid", e))
}

/// Lets go of the standard output and error that we were started with: whoever waits for their end has heard
/// all that there is to hear.
pub fn let_go() -> Result<(), SysError> {
    let null = File::options().write(true).open("/dev/null");
    let null = null.map_err(|e| SysError::on("open", "/dev/null", e))?;
    dup2_stdout(&null).map_err(|e| SysError::on("dup2", "stdout", e))?;
    dup2_stderr(&null).map_err(|e| SysError::on("dup2", "stderr", e))
}
