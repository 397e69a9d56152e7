//! Starts the program of an order, found as a shell finds it.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Access, access};

use crate::interpreter;
use crate::order::Order;
use crate::sys::spawn::{Ends, Image, spawn};

pub(super) struct NotExecuted {
    pub(super) path: String,
    pub(super) errno: i32,
    /// What a program that is there lacks.
    pub(super) lack: Option<String>,
}

/// What exists and may not be executed is passed over, but remembered.
pub(super) fn execute(order: Order, ends: Ends<'_>) -> Result<i32, NotExecuted> {
    let program = order.argv.first().map(|arg| OsStr::from_bytes(arg.as_bytes()).to_owned());
    let program = program.unwrap_or_default();
    let path = program.display().to_string();
    let mut failure = NotExecuted { path, errno: libc::ENOENT, lack: None };
    let image = Image::new(order.argv, order.env);
    for candidate in candidates(&program, &order.search) {
        let path = OsStr::from_bytes(candidate.as_bytes());
        let is_there = access(Path::new(path), Access::EXEC_OK);
        let answer = match is_there {
            Ok(()) => {
                spawn(&candidate, &image, ends).map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))
            }
            Err(errno) => Err(errno.raw_os_error()),
        };
        match answer {
            Ok(pid) => return Ok(pid),
            // A shell would not look any further either.
            Err(errno @ libc::ENOENT) if is_there.is_ok() => {
                let lack = Some(interpreter::missing(Path::new(path)));
                return Err(NotExecuted { path: path.display().to_string(), errno, lack });
            }
            Err(libc::ENOENT | libc::ENOTDIR) => {}
            Err(errno) => {
                failure = NotExecuted { path: path.display().to_string(), errno, lack: None };
                if errno != libc::EACCES {
                    break;
                }
            }
        }
    }
    Err(failure)
}

/// Where a program may be: itself where it has a slash, else below each directory of the search path.
fn candidates(program: &OsStr, search: &OsStr) -> Vec<CString> {
    let program = program.as_bytes();
    if program.contains(&b'/') {
        return CString::new(program).into_iter().collect();
    }
    search
        .as_bytes()
        .split(|byte| *byte == b':')
        // An empty entry means the current directory by old custom; here it means nothing.
        .filter(|dir| !dir.is_empty() && !program.is_empty())
        .filter_map(|dir| CString::new([dir, b"/", program].concat()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_searched_for_and_a_path_is_not() {
        let found = |program: &str, search: &str| -> Vec<String> {
            candidates(OsStr::new(program), OsStr::new(search))
                .into_iter()
                .map(|c| c.into_string().unwrap())
                .collect()
        };
        assert_eq!(found("sh", "/usr/bin::/bin"), ["/usr/bin/sh", "/bin/sh"]);
        assert_eq!(found("./sh", "/usr/bin"), ["./sh"]);
        assert_eq!(found("/bin/sh", ""), ["/bin/sh"]);
        assert!(found("", "/bin").is_empty());
    }
}
