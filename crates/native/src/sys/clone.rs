//! New processes with namespaces of their own.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::SysError;

/// A child as its parent sees it.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pid: i32,
    pub(crate) pidfd: OwnedFd,
}

/// Starts `body` in a copy of this process that has the namespaces in `flags`, born into `cgroup` where
/// there is one. The child ends with what `body` returns; it never comes back here. It has no `kept_back`:
/// our end of what it is told through, whose end it could not see if it held it open itself.
///
/// The caller must be single-threaded: the child may allocate and must find no lock held.
pub(crate) fn clone_into(
    flags: i32,
    cgroup: Option<BorrowedFd<'_>>,
    kept_back: BorrowedFd<'_>,
    body: impl FnOnce() -> i32,
) -> Result<Child, SysError> {
    let mut pidfd: RawFd = -1;
    // SAFETY: without CLONE_VM the child has its own copy of all memory, on the same stack address, as
    // after fork; this process has one thread, so nothing in the copy is half-changed. The kernel
    // writes the descriptor into a local that lives through the call.
    let pid = unsafe { raw_clone(flags, cgroup, &mut pidfd) };
    match pid {
        Err(error) => Err(SysError::new("clone", error)),
        Ok(0) => {
            // SAFETY: it is open in the child's own table of descriptors, and whoever owns it is a copy in the
            // child that never runs a destructor.
            unsafe { libc::close(kept_back.as_raw_fd()) };
            // A panic must not unwind into what the parent was doing when it called us.
            let code = catch_unwind(AssertUnwindSafe(body)).unwrap_or(101);
            // SAFETY: ends the child without running destructors or flushing the parent's buffers.
            unsafe { libc::_exit(code) }
        }
        // SAFETY: CLONE_PIDFD made it for us, and nobody else owns it.
        Ok(pid) => Ok(Child { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } }),
    }
}

/// # Safety
///
/// As for `fork`: in a process with threads the child may only make system calls.
unsafe fn raw_clone(
    flags: i32,
    cgroup: Option<BorrowedFd<'_>>,
    pidfd: &mut RawFd,
) -> Result<i32, io::Error> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    #[repr(C)]
    #[derive(Default)]
    struct CloneArgs {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }
    let pidfd: *mut RawFd = pidfd;
    let all = u64::from((flags | libc::CLONE_PIDFD).cast_unsigned());
    let args = CloneArgs {
        flags: all | if cgroup.is_some() { CLONE_INTO_CGROUP } else { 0 },
        pidfd: pidfd as u64,
        exit_signal: u64::from(libc::SIGCHLD.cast_unsigned()),
        cgroup: cgroup.map_or(0, |fd| u64::from(fd.as_raw_fd().cast_unsigned())),
        ..CloneArgs::default()
    };
    // SAFETY: the arguments are initialised and of the size that is passed; no new stack is asked for.
    let answer =
        unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<CloneArgs>()) };
    if answer >= 0 {
        return Ok(i32::try_from(answer).unwrap_or(i32::MAX));
    }
    let error = io::Error::last_os_error();
    // A container engine's filter may know only the older call, which cannot place into a cgroup.
    if error.raw_os_error() != Some(libc::ENOSYS) || cgroup.is_some() {
        return Err(error);
    }
    let old = libc::c_long::from(flags | libc::CLONE_PIDFD | libc::SIGCHLD);
    // SAFETY: a null stack means the caller's, copied; with CLONE_PIDFD the third argument is where the
    // descriptor goes. The last two are unused, so their order, which differs by machine, is moot.
    let answer = unsafe { libc::syscall(libc::SYS_clone, old, 0usize, pidfd, 0usize, 0usize) };
    if answer >= 0 {
        Ok(i32::try_from(answer).unwrap_or(i32::MAX))
    } else {
        Err(io::Error::last_os_error())
    }
}

/// How many threads this process has. More than one, and it must not be copied. The kernel counts them as
/// the directories of a directory, which each has two links besides.
pub(crate) fn threads() -> io::Result<u64> {
    let links = std::fs::metadata("/proc/self/task")?.nlink();
    links.checked_sub(2).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// [`threads`], once there are no more than `wanted` or `patience` is over: a thread that was waited for has only
/// done its work, and is counted until it is gone, which takes a while where the processors are busy.
pub(crate) fn threads_settled(wanted: u64, patience: Duration) -> io::Result<u64> {
    let deadline = Instant::now() + patience;
    loop {
        let count = threads()?;
        if count <= wanted || Instant::now() >= deadline {
            return Ok(count);
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn threads_are_counted() {
        let before = threads().unwrap();
        assert_eq!(before, std::fs::read_dir("/proc/self/task").unwrap().count() as u64);
        let (let_go, held) = channel::<()>();
        let other = std::thread::spawn(move || held.recv());
        assert_eq!(threads().unwrap(), before + 1);
        assert_eq!(threads_settled(before, Duration::from_millis(20)).unwrap(), before + 1);
        drop(let_go);
        assert!(other.join().unwrap().is_err());
    }

    /// A scope is over when its threads have done their work, and then they are still there.
    #[test]
    fn a_thread_that_has_done_its_work_is_waited_for() {
        let before = threads().unwrap();
        for _ in 0..500 {
            std::thread::scope(|scope| {
                scope.spawn(|| ());
            });
            assert_eq!(threads_settled(before, Duration::from_secs(10)).unwrap(), before);
        }
    }
}
