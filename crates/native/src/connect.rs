//! Connecting to somebody else's socket without waiting for ever, and who is at the other end.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;

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

/// Whether the process at the other end belongs to the user that this one acts as. Asked of the kernel.
pub fn is_same_user(socket: impl AsFd) -> io::Result<bool> {
    Ok(socket_peercred(socket)?.uid == geteuid())
}

/// From here on neither reading nor writing waits longer.
pub fn bound(socket: impl AsFd, patience: Duration) -> io::Result<()> {
    set_socket_timeout(&socket, Timeout::Recv, Some(patience))?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    Ok(())
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
        assert!(start.elapsed() < Duration::from_secs(1));
        drop(queued);
    }
}
