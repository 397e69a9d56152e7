//! Every system call that needs unsafe code. Each wrapper says which call failed, on what, and why.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use cofferdam_core::receipt::Again;
use cofferdam_core::record::Usage;

/// A system call that failed.
#[derive(Debug, thiserror::Error)]
#[error("{call}{}", subject.as_deref().map(|s| format!(" ({s})")).unwrap_or_default())]
pub struct SysError {
    pub call: &'static str,
    /// What it was about: a path, a pid.
    pub subject: Option<String>,
    pub source: io::Error,
}

impl SysError {
    pub(crate) fn new(call: &'static str, source: impl Into<io::Error>) -> Self {
        Self { call, subject: None, source: source.into() }
    }

    pub(crate) fn on(
        call: &'static str,
        subject: impl ToString,
        source: impl Into<io::Error>,
    ) -> Self {
        Self { call, subject: Some(subject.to_string()), source: source.into() }
    }

    fn last(call: &'static str) -> Self {
        Self::new(call, io::Error::last_os_error())
    }
}

/// A set of signals as the kernel takes it.
fn signal_set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: sigset_t is plain data; sigemptyset initialises it before anything reads it, and both
    // calls only write to the local that they are given.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, *signal);
        }
        set
    }
}

/// A thread's signal mask as it was, to be put back.
pub(crate) struct SignalMask(libc::sigset_t);

impl std::fmt::Debug for SignalMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignalMask")
    }
}

/// Blocks `signals` for this thread and returns the mask as it was.
pub(crate) fn block_signals(signals: &[i32]) -> Result<SignalMask, SysError> {
    let set = signal_set(signals);
    let mut old = signal_set(&[]);
    // SAFETY: both pointers are to initialised locals that outlive the call.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut old) } {
        0 => Ok(SignalMask(old)),
        errno => Err(SysError::new("pthread_sigmask", io::Error::from_raw_os_error(errno))),
    }
}

pub(crate) fn restore_signals(mask: &SignalMask) -> Result<(), SysError> {
    // SAFETY: the set was written by the kernel in `block_signals`; no old mask is asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &mask.0, std::ptr::null_mut()) } {
        0 => Ok(()),
        errno => Err(SysError::new("pthread_sigmask", io::Error::from_raw_os_error(errno))),
    }
}

/// Whether whoever started us had this signal ignored, as `nohup` does.
pub(crate) fn is_ignored(signal: i32) -> Result<bool, SysError> {
    // SAFETY: a null new action only asks; the kernel fills the old one, which is plain data.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut old) != 0 {
            return Err(SysError::last("sigaction"));
        }
        Ok(old.sa_sigaction == libc::SIG_IGN)
    }
}

/// A descriptor from which blocked signals are read.
pub(crate) fn signalfd(signals: &[i32]) -> Result<OwnedFd, SysError> {
    let set = signal_set(signals);
    // SAFETY: the set is initialised; -1 asks for a new descriptor, which nobody else owns.
    unsafe {
        let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 { Err(SysError::last("signalfd")) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Who connected a socket: the process, 0 where it cannot be seen from here, and the user. See unix(7), SO_PEERCRED.
pub(crate) fn peer(socket: BorrowedFd<'_>) -> Result<(i32, u32), SysError> {
    // SAFETY: ucred is plain data of exactly the size that is said, which the kernel fills.
    unsafe {
        let mut peer: libc::ucred = std::mem::zeroed();
        let mut size = libc::socklen_t::try_from(std::mem::size_of::<libc::ucred>()).unwrap_or(0);
        let to = (&raw mut peer).cast();
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        match libc::getsockopt(socket.as_raw_fd(), level, option, to, &raw mut size) {
            0 => Ok((peer.pid, peer.uid)),
            _ => Err(SysError::last("getsockopt (SO_PEERCRED)")),
        }
    }
}

/// The next pending signal, if there is one.
/// Bytes of what [`read_signal`] reads.
pub(crate) const SIGNAL_RECORD: usize = std::mem::size_of::<libc::signalfd_siginfo>();

pub(crate) fn read_signal(fd: BorrowedFd<'_>) -> Result<Option<i32>, SysError> {
    // SAFETY: signalfd_siginfo is plain data of exactly the size that is asked for.
    unsafe {
        let mut info: libc::signalfd_siginfo = std::mem::zeroed();
        let size = std::mem::size_of::<libc::signalfd_siginfo>();
        let got = libc::read(fd.as_raw_fd(), (&raw mut info).cast(), size);
        if got == size.cast_signed() {
            return Ok(i32::try_from(info.ssi_signo).ok());
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(SysError::new("read (signalfd)", error)),
        }
    }
}

/// Sees to it that dead children stay until they are waited for. Whoever started us may have had their
/// end ignored, and then the kernel forgets how they ended.
pub(crate) fn keep_dead_children() -> Result<(), SysError> {
    stop_ignoring(libc::SIGCHLD)
}

/// Gives a signal its default meaning. One that is ignored is not even read from a descriptor.
pub(crate) fn stop_ignoring(signal: i32) -> Result<(), SysError> {
    // SAFETY: the default action has no handler, so nothing of ours runs at any time because of it.
    if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
        return Err(SysError::last("signal"));
    }
    Ok(())
}

/// How a child ended and what it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reaped {
    pub(crate) pid: i32,
    /// As `waitpid` gives it.
    pub(crate) status: i32,
    pub(crate) used: Used,
    pub(crate) again: Again,
}

impl Reaped {
    /// Killed, as far as anybody can tell who was not there.
    pub(crate) fn unknown(pid: i32) -> Self {
        Self { pid, status: libc::SIGKILL, used: Used::default(), again: Again::NotAsked }
    }
}

/// What a process used, and those of its descendants that it has waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) user_micros: u64,
    pub(crate) system_micros: u64,
    /// Of the largest among them.
    pub(crate) max_rss_bytes: u64,
}

impl Used {
    fn of(usage: &libc::rusage) -> Self {
        Self {
            user_micros: micros(usage.ru_utime),
            system_micros: micros(usage.ru_stime),
            // Linux counts it in KiB.
            max_rss_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        }
    }

    /// As it is recorded. What an ordinary process used is all that is known of it.
    pub(crate) fn over(self, wall: Duration, pids_refused: u64) -> Usage {
        Usage {
            wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            user_ms: self.user_micros / 1000,
            system_ms: self.system_micros / 1000,
            max_rss_bytes: self.max_rss_bytes,
            pids_refused,
        }
    }

    /// Both together. Who has lost its parent was waited for by nobody else, so that nothing counts twice.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            user_micros: self.user_micros.saturating_add(other.user_micros),
            system_micros: self.system_micros.saturating_add(other.system_micros),
            max_rss_bytes: self.max_rss_bytes.max(other.max_rss_bytes),
        }
    }
}

/// Takes one dead child away, or says that none is dead yet. `-1` means any child.
pub(crate) fn reap(pid: i32) -> Result<Option<Reaped>, SysError> {
    match wait(pid, libc::WNOHANG) {
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
        Err(error) => Err(SysError::on("wait4", pid, error)),
        Ok(reaped) => Ok(reaped),
    }
}

/// Takes one dead child away. None where none is dead and `flags` say not to wait for one.
fn wait(pid: i32, flags: i32) -> io::Result<Option<Reaped>> {
    // SAFETY: status and usage are plain data that the kernel fills.
    unsafe {
        let mut status = 0;
        let mut usage: libc::rusage = std::mem::zeroed();
        match libc::wait4(pid, &mut status, flags, &mut usage) {
            -1 => Err(io::Error::last_os_error()),
            0 => Ok(None),
            pid => Ok(Some(Reaped { pid, status, used: Used::of(&usage), again: Again::NotAsked })),
        }
    }
}

fn micros(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
}

/// Makes the command's first process hear every signal and die when this thread does, and not outlive
/// a parent that died between the fork and this call.
pub(crate) fn die_with_parent(command: &mut Command) {
    let parent = std::process::id().cast_signed();
    let none = signal_set(&[]);
    // SAFETY: the closure runs between fork and exec and makes only system calls; it does not allocate.
    unsafe {
        command.pre_exec(move || {
            // We hold signals back to pass them on; the command must not start out deaf to them.
            match libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()) {
                0 => {}
                errno => return Err(io::Error::from_raw_os_error(errno)),
            }
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::getppid() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
}

/// Makes the command's first process the leader of a process group of its own, to which the terminal at its
/// standard input belongs. To be called before [`die_with_parent`], which lets it hear signals again.
pub(crate) fn lead_the_terminal(command: &mut Command) {
    let stop = signal_set(&[libc::SIGTTOU]);
    // SAFETY: the closure runs between fork and exec and makes only system calls; it does not allocate.
    unsafe {
        command.pre_exec(move || {
            // Whoever is not in the terminal's group is stopped for asking, unless deaf to it.
            match libc::pthread_sigmask(libc::SIG_BLOCK, &stop, std::ptr::null_mut()) {
                0 => {}
                errno => return Err(io::Error::from_raw_os_error(errno)),
            }
            if libc::setpgid(0, 0) != 0 || libc::tcsetpgrp(0, libc::getpid()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

/// Runs `attempt` in a forked child and returns the errno it ends with, 0 for success. For probes that
/// would change the calling process. The caller must be single-threaded.
pub(crate) fn try_in_child(attempt: impl FnOnce() -> Result<(), i32>) -> Result<i32, SysError> {
    // SAFETY: this process has one thread, so the child's memory is consistent; the child leaves by
    // _exit without running destructors or flushing buffers that belong to the parent.
    unsafe {
        match libc::fork() {
            -1 => Err(SysError::last("fork")),
            0 => {
                let code = attempt().err().unwrap_or(0);
                libc::_exit(code)
            }
            pid => {
                let mut status = 0;
                loop {
                    if libc::waitpid(pid, &mut status, 0) == pid {
                        break;
                    }
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(SysError::on("waitpid", pid, error));
                    }
                }
                if libc::WIFEXITED(status) {
                    Ok(libc::WEXITSTATUS(status))
                } else {
                    let killed = io::Error::other("the probing process was killed");
                    Err(SysError::on("probe", pid, killed))
                }
            }
        }
    }
}

/// `unshare(2)`, answering with errno so that it can be used in a forked child.
pub(crate) fn unshare(flags: i32) -> Result<(), i32> {
    // SAFETY: changes only the calling process's own namespaces.
    match unsafe { libc::unshare(flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)),
    }
}

/// The same for a process that tells of what it cannot do.
pub(crate) fn leave_namespace(flag: i32, kind: &'static str) -> Result<(), SysError> {
    unshare(flag)
        .map_err(|errno| SysError::on("unshare", kind, io::Error::from_raw_os_error(errno)))
}

/// Enters the namespace that `namespace` is open on, which must be of the kind that `flag` names.
pub(crate) fn enter_namespace(namespace: BorrowedFd<'_>, flag: i32) -> Result<(), SysError> {
    // SAFETY: changes only the calling process's own namespaces.
    match unsafe { libc::setns(namespace.as_raw_fd(), flag) } {
        0 => Ok(()),
        _ => Err(SysError::last("setns")),
    }
}

/// The Landlock version this kernel speaks; 0 where it has none.
pub(crate) fn landlock_abi() -> u32 {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: a null attribute of size 0 with this flag only asks for the version.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(answer).unwrap_or(0)
}

/// Whether seccomp filters can be installed: the kernel says EFAULT to a null program only then.
pub(crate) fn seccomp_filters() -> bool {
    // SAFETY: the null program is never read past; the call must fail.
    let answer = unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, std::ptr::null::<u8>(), 0, 0)
    };
    answer == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// Raises a signal for this very process, unblocked for the moment: to stop as a shell expects.
pub fn stop_self() -> Result<(), SysError> {
    // SAFETY: SIGSTOP cannot be caught; the call returns after SIGCONT.
    match unsafe { libc::raise(libc::SIGSTOP) } {
        0 => Ok(()),
        _ => Err(SysError::last("raise")),
    }
}

pub(crate) mod aside;
pub(crate) mod attempt;
pub(crate) mod clone;
pub(crate) mod confine;
mod entry;
pub(crate) mod holder;
pub(crate) mod init;
pub(crate) mod mount;
pub(crate) mod privilege;
pub(crate) mod spawn;
