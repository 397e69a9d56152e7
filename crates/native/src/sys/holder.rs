//! A process beside this one that shares its memory: cheaper than a copy, and under a strict rule.
//!
//! What runs in it may only make system calls. It must not allocate, for the allocator of a process that
//! has one thread takes no locks, and must not panic.

use std::io;

use super::SysError;

/// Does nothing but keep a new user namespace alive until it is ended.
#[derive(Debug)]
pub(crate) struct Holder {
    pid: i32,
    /// Freed only after the process is reaped.
    _stack: Vec<u128>,
}

impl Holder {
    pub(crate) fn in_new_user_namespace() -> Result<Self, SysError> {
        extern "C" fn wait_for_end(parent: *mut libc::c_void) -> libc::c_int {
            // SAFETY: the calls touch no memory. The signal ends this process should its parent die; a
            // parent that died before the call is seen by its number, which stands in the pointer.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                while libc::getppid() as usize == parent.addr() {
                    libc::pause();
                }
            }
            0
        }
        let mut stack = vec![0_u128; 1024];
        let top = stack.as_mut_ptr_range().end.cast::<libc::c_void>();
        let parent = std::ptr::without_provenance_mut(std::process::id() as usize);
        let flags = libc::CLONE_VM | libc::CLONE_NEWUSER | libc::SIGCHLD;
        // SAFETY: the function makes three system calls and uses a few hundred bytes of a stack of
        // 16 KiB, which is aligned and lives until `Drop` has reaped the process; its argument is a
        // number.
        let pid = unsafe { libc::clone(wait_for_end, top, flags, parent) };
        if pid > 0 {
            Ok(Self { pid, _stack: stack })
        } else {
            Err(SysError::on("clone", "user namespace", io::Error::last_os_error()))
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Lets it end, without waiting.
    pub(crate) fn end(&self) {
        // SAFETY: the pid is that of our own child, which nobody but `Drop` reaps. It cannot fail, not
        // even where the child is dead already.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.end();
        // SAFETY: the pid is that of our own child, which nobody else reaps; no status is asked for.
        // After the wait it is gone and its stack can go too.
        while unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}
