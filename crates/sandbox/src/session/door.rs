//! The socket of a session: in the run's own directory, for its owner alone.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use cofferdam_native::channel::Channel;
use cofferdam_native::connect::{bound, is_same_user, listen_in, reach_in};

/// In the run's directory, while its session is held.
pub(crate) const SOCKET: &str = "socket";

/// How long anybody may take to say what they want, and a full queue to be accepted from.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn open(run_dir: &Path) -> io::Result<UnixListener> {
    listen_in(run_dir, SOCKET, 0o600)
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
    reach_in(run_dir, SOCKET, PATIENCE).map(into_channel)
}

fn into_channel(stream: UnixStream) -> Channel {
    Channel::from(std::os::fd::OwnedFd::from(stream))
}
