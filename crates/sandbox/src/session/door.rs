//! The socket of a session: in the run's own directory, for its owner alone.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use cofferdam_native::channel::Channel;
use cofferdam_native::connect::{bound, is_same_user, listen_in, reach_in, shut};

/// In the run's directory, while its session is held.
pub(crate) const SOCKET: &str = "socket";

/// How long anybody may take to say what they want, and a full queue to be accepted from.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn open(run_dir: &Path) -> io::Result<UnixListener> {
    let listener = listen_in(run_dir, SOCKET, 0o600)?;
    listener.set_nonblocking(false)?;
    Ok(listener)
}

/// Nobody is let in any more, and whoever waits for somebody to knock is let go.
pub(super) fn close(listener: &UnixListener) {
    shut(listener);
}

/// Waits for whoever knocks; somebody if it is the very user who holds the session. Others are not even answered.
pub(super) fn accept(listener: &UnixListener) -> io::Result<Option<Channel>> {
    let (stream, _) = listener.accept()?;
    if !is_same_user(&stream)? {
        return Ok(None);
    }
    bound(&stream, PATIENCE)?;
    Ok(Some(into_channel(stream)))
}

pub(super) fn connect(run_dir: &Path) -> io::Result<Channel> {
    reach_in(run_dir, SOCKET, PATIENCE).map(into_channel)
}

fn into_channel(stream: UnixStream) -> Channel {
    Channel::from(std::os::fd::OwnedFd::from(stream))
}
