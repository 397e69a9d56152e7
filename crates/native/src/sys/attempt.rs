//! One system call by its number, made to see what comes of it.

use std::io;

/// No pointer of anybody's: the kernel answers EFAULT where it gets as far as looking.
pub(crate) const NOWHERE: usize = 1;

/// Makes the call, and returns its answer or its errno. For calls that a filter should refuse, with arguments
/// that the kernel itself refuses.
pub(crate) fn call(number: libc::c_long, args: [usize; 6]) -> Result<i64, i32> {
    let [a, b, c, d, e, f] = args;
    // SAFETY: every pointer among the arguments of `attempt::CALLS` is `NOWHERE` or null, where nothing of
    // this process lies, so that no call can read or write memory that Rust knows of; none of them maps,
    // unmaps or forks with these arguments.
    match unsafe { libc::syscall(number, a, b, c, d, e, f) } {
        -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
        answer => Ok(answer),
    }
}

/// Whether a process other than ourselves and the namespace's first one could be signalled: no signal is sent.
/// ESRCH where there is nobody.
pub(crate) fn others() -> rustix::io::Result<()> {
    // SAFETY: signal 0 only has the kernel look whom it would reach.
    match unsafe { libc::kill(-1, 0) } {
        0 => Ok(()),
        _ => Err(rustix::io::Errno::from_io_error(&io::Error::last_os_error())
            .unwrap_or(rustix::io::Errno::IO)),
    }
}
