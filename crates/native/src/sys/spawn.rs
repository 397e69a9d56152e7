//! Starts a program for a first process.
//!
//! Not by posix_spawn: that has to expect anything of its caller, and so sets each of 64 signals and asks for
//! the limits of descriptors at every start, which a filter makes dear. A first process knows how its signals stand,
//! for it has set them itself: see [`signals_as_at_birth`].

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr;

use super::aside::{Stack, take_away};
use super::{SysError, signal_set};

/// Has every signal do what it does by default, whatever whoever started us had it do. Only one that tells of a
/// reader that is gone stays ignored: a write that fails says so, too.
pub(crate) fn signals_as_at_birth() -> Result<(), SysError> {
    for signal in (1..=64).filter(|signal| *signal != libc::SIGPIPE) {
        match set_default(signal) {
            Ok(()) => {}
            // The two that cannot be caught.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            Err(error) => return Err(SysError::on("rt_sigaction", signal, error)),
        }
    }
    Ok(())
}

/// The kernel's own call: the library keeps two of the signals to itself.
fn set_default(signal: i32) -> io::Result<()> {
    // What the kernel takes: a handler, flags, a way back and a mask, all of them none.
    let action = [0_u64; 4];
    let none = ptr::null_mut::<u64>();
    let answer =
        // SAFETY: the action is initialised, and not shorter than what the kernel reads of it; the old one is not asked
        // for; a set of signals has eight bytes.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), none, 8_usize) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A program with its arguments and environment, laid out as the kernel wants them.
#[derive(Debug)]
pub(crate) struct Image {
    argv: Vec<CString>,
    env: Vec<CString>,
}

impl Image {
    pub(crate) fn new(argv: Vec<CString>, env: Vec<CString>) -> Self {
        Self { argv, env }
    }
}

/// What a program has as its standard streams.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ends<'a> {
    Streams(&'a [OwnedFd; 3]),
    /// All three are this terminal, which becomes the one that controls its session.
    Terminal(&'a CStr),
}

/// Starts `file` as the leader of a session of its own, with these as its standard streams and every signal
/// as at birth. The error is that of the `execve`, or of what had to be done before it.
///
/// The caller must have one thread, and no handler for any signal: see [`signals_as_at_birth`].
pub(crate) fn spawn(file: &CStr, image: &Image, ends: Ends<'_>) -> Result<i32, io::Error> {
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings.iter().map(|s| s.as_ptr()).chain([ptr::null()]).collect()
    };
    let (argv, env) = (pointers(&image.argv), pointers(&image.env));
    let mut stack = Stack::new();
    let mut start = Start {
        file: file.as_ptr(),
        argv: argv.as_ptr(),
        env: env.as_ptr(),
        ends,
        mask: signal_set(&[]),
        failure: None,
    };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: with CLONE_VFORK the kernel resumes this process, whose only thread this is, once the new one has become
    // another program or has ended. So the two never run at once on the memory that they share, and what the new one
    // is given lives long enough. It runs on a stack of its own and makes nothing but system calls; no handler of a
    // signal can run in it, for there is none.
    let pid = unsafe { libc::clone(begin, stack.top(), flags, (&raw mut start).cast()) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    match start.failure {
        None => Ok(pid),
        Some(errno) => {
            take_away(pid);
            Err(io::Error::from_raw_os_error(errno))
        }
    }
}

/// All that the new process needs, and what came of it.
struct Start<'a> {
    file: *const libc::c_char,
    argv: *const *const libc::c_char,
    env: *const *const libc::c_char,
    ends: Ends<'a>,
    mask: libc::sigset_t,
    failure: Option<i32>,
}

extern "C" fn begin(start: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the pointer is to the caller's local, which nobody else looks at until we have ended or become another.
    let start = unsafe { &mut *start.cast::<Start<'_>>() };
    let error = start.become_it();
    start.failure = Some(error.raw_os_error().unwrap_or(libc::EIO));
    127
}

impl Start<'_> {
    /// Returns only where that failed.
    fn become_it(&self) -> io::Error {
        self.prepare().map_or_else(
            |error| error,
            |()| {
                // SAFETY: the arrays end in null and point to strings that the caller holds.
                unsafe { libc::execve(self.file, self.argv, self.env) };
                io::Error::last_os_error()
            },
        )
    }

    fn prepare(&self) -> io::Result<()> {
        set_default(libc::SIGPIPE)?;
        // SAFETY: takes nothing.
        check(unsafe { libc::setsid() })?;
        match self.ends {
            Ends::Streams(streams) => {
                for (number, stream) in (0..).zip(streams) {
                    put(stream.as_raw_fd(), number)?;
                }
            }
            // Opened after the new session began, by its leader, it is that session's terminal.
            Ends::Terminal(path) => {
                // SAFETY: the path ends in a zero.
                let terminal = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
                check(terminal)?;
                for number in 0..3 {
                    put(terminal, number)?;
                }
            }
        }
        // SAFETY: the set is initialised, and the old one is not asked for.
        check(unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const self.mask, ptr::null_mut())
        })
    }
}

/// Has the program find `from` as `number`.
fn put(from: i32, number: i32) -> io::Result<()> {
    // SAFETY: only numbers are passed. What stands at the number is replaced in the new process alone, which has a table
    // of its own; what is there already must only be told to stay.
    check(unsafe {
        if from == number {
            libc::fcntl(number, libc::F_SETFD, 0)
        } else {
            libc::dup2(from, number)
        }
    })
}

fn check(answer: i32) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;

    use super::*;

    fn image(words: &[&str]) -> Image {
        Image::new(words.iter().map(|word| CString::new(*word).unwrap()).collect(), Vec::new())
    }

    fn nothing() -> OwnedFd {
        File::options().read(true).write(true).open("/dev/null").unwrap().into()
    }

    // Each test has a process of its own, but the harness waits in another thread, which is asleep then.
    #[test]
    fn a_program_has_its_streams_and_signals_as_at_birth_and_leads_a_session() {
        // SAFETY: no handler is set.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
        signals_as_at_birth().unwrap();
        let blocked = crate::sys::block_signals(&[libc::SIGTERM, libc::SIGCHLD]).unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let streams = [nothing(), writer.into(), nothing()];
        let image = image(&["sh", "-c", "cat /proc/self/status; ps -o sid= -p $$; echo $$"]);
        let pid = spawn(c"/bin/sh", &image, Ends::Streams(&streams)).unwrap();
        drop(streams);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let line = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            u64::from_str_radix(line.rsplit('\t').next().unwrap(), 16).unwrap()
        };
        assert_eq!((line("SigIgn:"), line("SigBlk:")), (0, 0), "{text}");
        let numbers: Vec<i32> =
            text.lines().rev().take(2).map(|line| line.trim().parse().unwrap()).collect();
        assert_eq!(numbers, [pid, pid]);
        crate::sys::restore_signals(&blocked).unwrap();
    }

    #[test]
    fn what_is_no_program_is_an_error_and_leaves_nobody() {
        let streams = [nothing(), nothing(), nothing()];
        let ends = Ends::Streams(&streams);
        let missing = spawn(c"/nowhere/at/all", &image(&["all"]), ends).unwrap_err();
        assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
        let folder = spawn(c"/usr", &image(&["usr"]), ends).unwrap_err();
        assert_eq!(folder.raw_os_error(), Some(libc::EACCES));
        // SAFETY: no status is asked for.
        assert_eq!(unsafe { libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG) }, -1);
    }
}
