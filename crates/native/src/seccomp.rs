//! The system call filter: which calls a sandboxed program may make, and the BPF program that says so.
//!
//! - [`Table`]: every call by name, in groups with a reason. What it does not name does not exist.
//! - [`compile`]: the table as a search tree over ranges of call numbers. The kernel runs a new filter
//!   once for every number to learn which calls need no check, so a list would cost a millisecond.
//! - [`load`]: puts it on the calling thread and all that it starts.
//!
//! A forbidden call fails with an errno instead of killing, so that programs can fall back or say what
//! is wrong. The filter sees registers, never memory: a call that hides what matters behind a pointer
//! (`clone3`, `openat2`, `io_uring_*`) is said not to exist, and callers use the older one.

mod program;
mod rule;
mod table;
mod tree;

use cofferdam_core::weaken::{Weakness, weakened};
use std::sync::OnceLock;

pub use program::{Arch, Program};
pub use rule::{Answer, Clause, Rule, Test, Verdict};
pub use table::{Call, Group, Table};
pub use tree::compile;

use crate::sys::{SysError, confine};

/// Where what the program writes ends up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Kept apart until they are applied, which never applies set-id bits.
    Staged,
    /// Some of them in the host's tree at once: direct mode, or a writable mount.
    OnHost,
}

/// The filter for this machine. Compiled at the first call: ask before a process is cloned, so that
/// [`load`] in the child allocates nothing.
pub fn program(writes: Writes) -> &'static Program {
    static STAGED: OnceLock<Program> = OnceLock::new();
    static ON_HOST: OnceLock<Program> = OnceLock::new();
    let kept = match writes {
        Writes::Staged => &STAGED,
        Writes::OnHost => &ON_HOST,
    };
    kept.get_or_init(|| compile(&Table::of(writes), Arch::HERE))
}

/// Puts the filter on the calling thread, for good. Does not allocate. Other threads of the process are
/// left alone. Needs [`no_new_privileges`] first: without it the kernel answers EACCES.
pub fn load(program: &Program) -> Result<(), SysError> {
    if weakened(Weakness::Filter) {
        return Ok(());
    }
    confine::load_filter(program.instructions())
}

/// From here on, for this thread and all that it starts, no exec gives privileges.
pub fn no_new_privileges() -> Result<(), SysError> {
    if weakened(Weakness::NoNewPrivileges) {
        return Ok(());
    }
    rustix::thread::set_no_new_privs(true)
        .map_err(|errno| SysError::new("prctl (no_new_privs)", errno))
}

#[cfg(test)]
mod tests;
