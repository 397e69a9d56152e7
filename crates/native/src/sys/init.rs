//! The system calls of a first process: descriptors, what others see of it, waiting.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr;

use cofferdam_core::weaken::{Weakness, weakened};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::{SysError, Used, wait};
use crate::kernel_text;

/// Leaves exactly four descriptors open: `streams` as the standard ones, and `kept`, which must be one
/// that no program inherits. Whatever else this process owned must be dropped or forgotten before.
pub(crate) fn keep_only(
    streams: [BorrowedFd<'_>; 3],
    kept: BorrowedFd<'_>,
) -> Result<(), SysError> {
    if weakened(Weakness::Descriptors) {
        return Ok(());
    }
    let kept = kept.as_raw_fd().cast_unsigned();
    for (number, stream) in (0..).zip(streams) {
        // A stream that stands in the place of another would be lost half-way.
        let stands = stream.as_raw_fd();
        if (stands < 3 && stands != number) || kept < 3 {
            return Err(SysError::on("dup2", number, rustix::io::Errno::BADF));
        }
    }
    let [stdin, stdout, stderr] = streams;
    rustix::stdio::dup2_stdin(stdin).map_err(|e| SysError::on("dup2", "stdin", e))?;
    rustix::stdio::dup2_stdout(stdout).map_err(|e| SysError::on("dup2", "stdout", e))?;
    rustix::stdio::dup2_stderr(stderr).map_err(|e| SysError::on("dup2", "stderr", e))?;
    close_range(3, kept - 1)?;
    close_range(kept + 1, u32::MAX)
}

fn close_range(first: u32, last: u32) -> Result<(), SysError> {
    if first > last {
        return Ok(());
    }
    // SAFETY: as `keep_only` asks, nothing in this process still owns a descriptor in the range.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } {
        0 => Ok(()),
        _ => Err(SysError::new("close_range", io::Error::last_os_error())),
    }
}

/// Brings up the loopback interface of this network namespace, so that a program can reach itself.
pub(crate) fn loopback_up() -> Result<(), SysError> {
    const IFF_UP: libc::c_short = 1;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .map_err(|e| SysError::on("socket", "loopback", e))?;
    // SAFETY: ifreq is plain data; the name fits with its terminating zero, the flags are the member of
    // the union that both calls use.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes_with_nul()) {
            // Signed on some machines, and unsigned on others.
            *to = libc::c_char::from_ne_bytes([*from]);
        }
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request) != 0 {
            return Err(SysError::on("ioctl (SIOCGIFFLAGS)", "lo", io::Error::last_os_error()));
        }
        request.ifr_ifru.ifru_flags |= IFF_UP;
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) != 0 {
            return Err(SysError::on("ioctl (SIOCSIFFLAGS)", "lo", io::Error::last_os_error()));
        }
    }
    Ok(())
}

/// Overwrites the command line and the environment that this process was started with: both are the
/// caller's, and the first can be read by everybody who sees the process.
pub(crate) fn forget_arguments(shown_as: &str) -> Result<(), SysError> {
    let fail = |e| SysError::on("read", "/proc/self/stat", e);
    let stat = kernel_text::read("/proc/self/stat").map_err(fail)?;
    let Some([args, env]) = argument_areas(&stat) else {
        return Err(fail(io::ErrorKind::InvalidData.into()));
    };
    for (from, to) in [args, env] {
        let area = ptr::with_exposed_provenance_mut::<u8>(from);
        // SAFETY: the kernel says that the process's own strings are there, in memory that it made
        // writable for us. In this copy of the process nobody reads them: no environment is looked at
        // here, and a program that is started gets its own.
        unsafe { ptr::write_bytes(area, 0, to - from) };
    }
    let area = ptr::with_exposed_provenance_mut::<u8>(args.0);
    let length = shown_as.len().min((args.1 - args.0).saturating_sub(1));
    // SAFETY: as above; the name fits before the last byte, which stays zero.
    unsafe { ptr::copy_nonoverlapping(shown_as.as_ptr(), area, length) };
    Ok(())
}

/// Where the arguments and the environment lie, out of the text of a `/proc/PID/stat`: its fields 48 to
/// 51, counted from 1. See proc_pid_stat(5).
fn argument_areas(stat: &str) -> Option<[(usize, usize); 2]> {
    // The name in the second field may hold spaces and brackets.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(48 - 3).map(str::parse::<usize>);
    let mut next = || fields.next()?.ok();
    let (args, env) = ((next()?, next()?), (next()?, next()?));
    let good = |area: (usize, usize)| area.0 != 0 && area.0 <= area.1;
    (good(args) && good(env)).then_some([args, env])
}

/// A signal that arrived, and who sent it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived {
    pub(crate) signal: i32,
    /// 0 for a sender outside this pid namespace.
    pub(crate) sender: i32,
}

/// The next signal that arrived at a descriptor made by `signalfd`, if one did.
pub(crate) fn next_arrived(signals: BorrowedFd<'_>) -> Result<Option<Arrived>, SysError> {
    // SAFETY: signalfd_siginfo is plain data of exactly the size that is asked for.
    unsafe {
        let mut info: libc::signalfd_siginfo = std::mem::zeroed();
        let size = std::mem::size_of::<libc::signalfd_siginfo>();
        let got = libc::read(signals.as_raw_fd(), (&raw mut info).cast(), size);
        if got == size.cast_signed() {
            let signal = i32::try_from(info.ssi_signo).unwrap_or(0);
            return Ok(Some(Arrived { signal, sender: info.ssi_pid.cast_signed() }));
        }
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(SysError::new("read (signalfd)", error)),
    }
}

/// For a pid namespace's first process: ends every other process in the namespace, takes them all away, and says what they
/// used. Whoever has lost its parent here is our child, so that without a child we are alone.
pub(crate) fn end_all_others() -> Result<Used, SysError> {
    let mut used = Used::default();
    loop {
        match wait(-1, libc::WNOHANG) {
            Ok(None) => {}
            Ok(Some(reaped)) => {
                used = used.and(reaped.used);
                continue;
            }
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(used),
            Err(error) => return Err(SysError::new("wait4", error)),
        }
        // Nobody can slip through by being born meanwhile: a process that has such a signal pending makes
        // no other.
        // SAFETY: in a pid namespace of our own the number means all but ourselves.
        if unsafe { libc::kill(-1, libc::SIGKILL) } != 0 {
            let error = io::Error::last_os_error();
            // All of them are dead and only wait to be taken away.
            if error.raw_os_error() != Some(libc::ESRCH) {
                return Err(SysError::new("kill", error));
            }
        }
        // Until one of them is dead, which all are about to be.
        match wait(-1, 0) {
            Ok(reaped) => used = reaped.map_or(used, |reaped| used.and(reaped.used)),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ECHILD | libc::EINTR)) => {}
            Err(error) => return Err(SysError::new("wait4", error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_found_behind_any_name() {
        let zeros = "0 ".repeat(48 - 4);
        let stat = format!("7 (a) b (c) S {zeros}100 200 200 300 0\n");
        assert_eq!(argument_areas(&stat), Some([(100, 200), (200, 300)]));
        let hidden = format!("7 (a) S {zeros}0 0 0 0 0\n");
        assert_eq!(argument_areas(&hidden), None);
        assert_eq!(argument_areas("7 (a) S 1 2"), None);
    }

    #[test]
    fn our_own_areas_are_where_the_kernel_says() {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let [args, _] = argument_areas(&stat).unwrap();
        let line = std::fs::read("/proc/self/cmdline").unwrap();
        assert_eq!(args.1 - args.0, line.len());
    }
}
