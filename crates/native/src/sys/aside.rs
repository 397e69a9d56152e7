//! A function that runs in a process of its own, in namespaces of its own, on this process's memory and
//! descriptors, while this process stands still.

use std::io;
use std::mem::{ManuallyDrop, MaybeUninit};

use super::SysError;

/// Runs `body` in a process that is in the new namespaces of `flags`, and returns what it returned. What it
/// opened is open here, too. The caller must have one thread.
pub(crate) fn aside<T>(
    flags: i32,
    subject: &'static str,
    body: impl FnOnce() -> T,
) -> Result<T, SysError> {
    struct Call<T, F> {
        body: ManuallyDrop<F>,
        answer: Option<T>,
    }
    extern "C" fn enter<T, F: FnOnce() -> T>(call: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the pointer is to the caller's local, which nobody else looks at until we have ended;
        // the body is taken out of it once, here.
        unsafe {
            let call = &mut *call.cast::<Call<T, F>>();
            call.answer = Some(ManuallyDrop::take(&mut call.body)());
        }
        0
    }
    fn entry<T, F: FnOnce() -> T>(
        _: &Call<T, F>,
    ) -> extern "C" fn(*mut libc::c_void) -> libc::c_int {
        enter::<T, F>
    }
    let mut stack = Stack::new();
    let mut call = Call { body: ManuallyDrop::new(body), answer: None };
    let flags = flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::SIGCHLD;
    let function = entry(&call);
    // SAFETY: with CLONE_VFORK the kernel resumes this process, whose only thread this is, after the new
    // one has ended. So the two never run at once: on the memory that they share this is like a call on
    // another stack, which is freed after it. A panic cannot leave an extern "C" function.
    let pid = unsafe { libc::clone(function, stack.top(), flags, (&raw mut call).cast()) };
    if pid < 0 {
        let error = io::Error::last_os_error();
        // SAFETY: no process was made, so that nobody has taken the body.
        unsafe { ManuallyDrop::drop(&mut call.body) };
        return Err(SysError::on("clone", subject, error));
    }
    // Its answer says how it went.
    take_away(pid);
    call.answer.ok_or_else(|| {
        SysError::on(
            "clone",
            subject,
            io::Error::other("the process was killed before it was done"),
        )
    })
}

/// Waits for the end of a child of ours that nobody else waits for, whatever its end is.
pub(super) fn take_away(pid: i32) {
    // SAFETY: no status is asked for.
    while unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

/// A stack of 64 KiB for such a process, aligned as processors want it. Only what is used of it becomes memory.
#[derive(Debug)]
pub(super) struct Stack(Box<[MaybeUninit<u128>]>);

impl Stack {
    pub(super) fn new() -> Self {
        Self(Box::new_uninit_slice(4096))
    }

    /// Where it begins: stacks grow downwards.
    pub(super) fn top(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr_range().end.cast()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;

    use super::*;

    // Each test has a process of its own, but the harness waits in another thread, which is asleep then.
    #[test]
    fn what_it_made_is_ours() {
        let word = String::from("there and back");
        let answer = aside(0, "test", || {
            let pid = std::process::id();
            (pid, word, File::open("/proc/self/status").unwrap())
        });
        let (pid, word, mut file) = answer.unwrap();
        assert_ne!(pid, std::process::id());
        assert_eq!(word, "there and back");
        assert!(file.read_to_string(&mut String::new()).is_err(), "its process is gone");
    }

    #[test]
    fn what_cannot_be_made_is_an_error() {
        let kept = std::rc::Rc::new(());
        let inside = kept.clone();
        // CLONE_SIGHAND, CLONE_THREAD without the rest make no sense to the kernel.
        let answer = aside(libc::CLONE_NEWNS | libc::CLONE_FS, "test", move || drop(inside));
        assert!(answer.is_err());
        assert_eq!(std::rc::Rc::strong_count(&kept), 1, "the body is dropped once");
    }
}
