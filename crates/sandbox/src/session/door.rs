//! The socket of a session: in the run's own directory, for its owner alone.
//!
//! Reached through a descriptor of the directory: a socket's path may have only some hundred bytes, and that of a
//! state directory may be longer.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cofferdam_native::channel::Channel;
use cofferdam_native::connect::{bound, is_same_user, unix_stream};

/// In the run's directory, while its session is held.
pub(crate) const SOCKET: &str = "socket";

/// How long anybody may take to say what they want, and a full queue to be accepted from.
const PATIENCE: Duration = Duration::from_secs(5);

fn path(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", dir.as_raw_fd()))
}

pub(super) fn open(run_dir: &Path) -> io::Result<UnixListener> {
    let dir = File::open(run_dir)?;
    let listener = UnixListener::bind(path(&dir))?;
    fs::set_permissions(run_dir.join(SOCKET), Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Whoever knocks, if it is the very user who holds the session. Others are not even answered.
pub(super) fn accept(listener: &UnixListener) -> io::Result<Option<Channel>> {
    let stream = match listener.accept() {
        Ok((stream, _)) => stream,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Err(error) => return Err(error),
    };
    if !is_same_user(&stream)? {
        return Ok(None);
    }
    stream.set_nonblocking(false)?;
    bound(&stream, PATIENCE)?;
    Ok(Some(into_channel(stream)))
}

pub(super) fn connect(run_dir: &Path) -> io::Result<Channel> {
    let dir = File::open(run_dir)?;
    let stream = unix_stream(&path(&dir), PATIENCE)?;
    Ok(into_channel(stream))
}

fn into_channel(stream: UnixStream) -> Channel {
    Channel::from(std::os::fd::OwnedFd::from(stream))
}
