//! Sockets with a name: listening in a directory, connecting without waiting for ever, and who is at the other
//! end.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, connect, shutdown,
    socket_with,
};
use rustix::process::geteuid;

use crate::sys;

/// Connects within `patience`, or fails with `WouldBlock`.
///
/// The standard library's connect has no bound: where the listener's queue is full because nobody
/// accepts, it blocks. The kernel takes the send timeout as the bound of a connect (unix(7), socket(7)).
pub fn unix_stream(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    connect(&socket, &address)?;
    Ok(UnixStream::from(socket))
}

/// Listens under a name in a directory, without ever waiting for whoever connects. `mode` says who may.
pub fn listen_in(dir: &Path, name: &str, mode: u32) -> io::Result<UnixListener> {
    let opened = File::open(dir)?;
    let listener = UnixListener::bind(within(&opened, name))?;
    fs::set_permissions(dir.join(name), Permissions::from_mode(mode))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Connects to what listens under a name in a directory.
pub fn reach_in(dir: &Path, name: &str, patience: Duration) -> io::Result<UnixStream> {
    unix_stream(&within(&File::open(dir)?, name), patience)
}

/// Through a descriptor of the directory: a socket's path may have only some hundred bytes, and that of a state
/// directory may be longer.
fn within(dir: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", dir.as_raw_fd()))
}

/// The number of the process that connected, as this process counts; `None` for one that it cannot see.
pub fn peer(socket: impl AsFd) -> io::Result<Option<i32>> {
    let (pid, _) = sys::peer(socket.as_fd()).map_err(|error| error.source)?;
    Ok((pid > 0).then_some(pid))
}

/// Whether the process at the other end belongs to the user that this one acts as. Asked of the kernel.
pub fn is_same_user(socket: impl AsFd) -> io::Result<bool> {
    let (_, uid) = sys::peer(socket.as_fd()).map_err(|error| error.source)?;
    Ok(uid == geteuid().as_raw())
}

/// Whether whoever listens at the other end is the host's root, as far as the kernel can say so here: where ids are mapped, it
/// cannot.
pub fn is_roots(socket: impl AsFd) -> io::Result<bool> {
    let (_, uid) = sys::peer(socket.as_fd()).map_err(|error| error.source)?;
    let map = fs::read_to_string("/proc/self/uid_map")?;
    Ok(uid == 0 && map.split_whitespace().eq(["0", "0", "4294967295"]))
}

/// From here on neither reading nor writing waits longer.
pub fn bound(socket: impl AsFd, patience: Duration) -> io::Result<()> {
    set_socket_timeout(&socket, Timeout::Recv, Some(patience))?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    Ok(())
}

/// From here on nobody can connect to this listener, and whoever waits for that is told that it is over.
pub fn shut(listener: impl AsFd) {
    // It fails only where there is nothing left to end.
    shutdown(listener, Shutdown::Both).ok();
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_listener_is_reached_and_a_missing_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let missing = unix_stream(&path, Duration::from_secs(1)).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).unwrap();
        let stream = unix_stream(&path, Duration::from_secs(1)).unwrap();
        assert!(listener.accept().is_ok());
        drop(stream);
    }

    #[test]
    fn a_listener_of_ours_is_roots_only_where_we_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let _listener = UnixListener::bind(&path).unwrap();
        let stream = unix_stream(&path, Duration::from_secs(1)).unwrap();
        let is_mapped = fs::read_to_string("/proc/self/uid_map").unwrap().lines().count() != 1;
        assert_eq!(is_roots(&stream).unwrap(), geteuid().is_root() && !is_mapped);
    }

    #[test]
    fn who_waits_at_a_listener_that_is_shut_is_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| listener.accept().map(|_| ()));
            std::thread::sleep(Duration::from_millis(50));
            shut(&listener);
            assert!(waiting.join().unwrap().is_err());
        });
        assert!(unix_stream(&path, Duration::from_secs(1)).is_err());
    }

    #[test]
    fn a_full_queue_ends_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        // One fits into a queue of none; nobody accepts it.
        rustix::net::listen(&listener, 0).unwrap();
        let queued = unix_stream(&path, Duration::from_secs(1)).unwrap();
        let start = Instant::now();
        let error = unix_stream(&path, Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(start.elapsed() < Duration::from_secs(10));
        drop(queued);
    }
}
