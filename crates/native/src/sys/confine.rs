//! The calls by which a thread confines itself: seccomp and Landlock.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use super::SysError;

/// Puts a filter on the calling thread. Does not allocate.
pub(crate) fn load_filter(instructions: &[libc::sock_filter]) -> Result<(), SysError> {
    let Ok(len) = libc::c_ushort::try_from(instructions.len()) else {
        return Err(SysError::new("seccomp", io::Error::from_raw_os_error(libc::EINVAL)));
    };
    let program = libc::sock_fprog { len, filter: instructions.as_ptr().cast_mut() };
    // SAFETY: `program` names `len` initialised instructions that are borrowed for the whole call. The
    // kernel copies them and writes nothing back, so that the cast to mutable is never made use of.
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0_u64, &raw const program)
    };
    if answer == 0 { Ok(()) } else { Err(SysError::last("seccomp")) }
}

/// `struct landlock_ruleset_attr`. Kernels that know fewer fields accept it while the rest is zero.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Handled {
    pub(crate) fs: u64,
    pub(crate) net: u64,
    pub(crate) scoped: u64,
}

/// An empty set of Landlock rules over what is handled.
pub(crate) fn landlock_ruleset(handled: Handled) -> Result<OwnedFd, SysError> {
    // SAFETY: the kernel reads exactly the size given from an initialised local. What it returns is a
    // new descriptor that nobody else owns.
    unsafe {
        let fd = libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const handled,
            size_of::<Handled>(),
            0_u32,
        );
        match libc::c_int::try_from(fd) {
            Ok(fd) if fd >= 0 => Ok(OwnedFd::from_raw_fd(fd)),
            _ => Err(SysError::last("landlock_create_ruleset")),
        }
    }
}

/// `struct landlock_path_beneath_attr`, which has no padding.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// Allows what `allowed` says on `parent` and, where it is a directory, on all beneath it.
pub(crate) fn landlock_allow(
    ruleset: BorrowedFd<'_>,
    parent: BorrowedFd<'_>,
    allowed: u64,
) -> Result<(), SysError> {
    const LANDLOCK_RULE_PATH_BENEATH: libc::c_int = 1;
    let rule = PathBeneath { allowed, parent: parent.as_raw_fd() };
    // SAFETY: the kernel reads an initialised local of the layout that this type of rule has; both
    // descriptors are open for as long as they are borrowed.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            LANDLOCK_RULE_PATH_BENEATH,
            &raw const rule,
            0_u32,
        )
    };
    if answer == 0 { Ok(()) } else { Err(SysError::last("landlock_add_rule")) }
}

/// Holds the calling thread to the rules, for good.
pub(crate) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> Result<(), SysError> {
    // SAFETY: takes no pointers; changes only the credentials of the calling thread.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) };
    if answer == 0 { Ok(()) } else { Err(SysError::last("landlock_restrict_self")) }
}

/// Makes a call by its number, for tests of the filter.
#[cfg(test)]
pub(crate) fn call(number: libc::c_long, args: [usize; 6]) -> Result<i64, rustix::io::Errno> {
    let [a, b, c, d, e, f] = args;
    // SAFETY: in tests only, which pass numbers, null, or strings that outlive the call; where the
    // kernel would write through an argument, they pass null.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    match io::Error::last_os_error().raw_os_error() {
        Some(errno) if answer == -1 => Err(rustix::io::Errno::from_raw_os_error(errno)),
        _ => Ok(answer),
    }
}

/// `getpid` as a 32-bit program asks for it.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) fn foreign_getpid() -> i32 {
    const GETPID_OF_I386: i32 = 20;
    let mut register = GETPID_OF_I386;
    // SAFETY: the call takes no arguments and touches no memory of ours.
    unsafe { std::arch::asm!("int 0x80", inout("eax") register, options(nostack)) };
    register
}
