//! A connection to an engine, whatever carries it: to everybody who reads and writes it, it is a connected socket.
//!
//! On another host it is `ssh` that carries it, the user's own, with the user's settings, keys and known hosts. It asks
//! nobody anything, and on the far side the engine's client passes the bytes on to wherever its socket is. Or it is
//! this very program, started once more, which speaks TLS and alone holds the keys.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use cofferdam_core::inert::Inert;
use cofferdam_native::carrier::{self, Carrier};
use cofferdam_native::connect;

use super::endpoint::{Destination, Encrypted, Endpoint};

/// The word by which this program is told to be a connection in TLS: with a host, a port and a directory of keys.
pub const LINE: &str = "engine-line";

#[derive(Debug)]
pub(crate) struct Stream {
    socket: UnixStream,
    /// Ends with it.
    carrier: Option<(&'static str, Carrier)>,
}

impl Stream {
    /// Connects within `patience`. That a host is not reached shows only when something is read.
    pub(crate) fn open(to: &Endpoint, patience: Duration) -> io::Result<Self> {
        match to {
            Endpoint::Socket(path) => {
                Ok(Self { socket: connect::unix_stream(path, patience)?, carrier: None })
            }
            Endpoint::Tcp(address) => Ok(Self { socket: tcp(address, patience)?, carrier: None }),
            Endpoint::Ssh(destination) => Self::carried("ssh", ssh(destination)),
            Endpoint::Tls(encrypted) => Self::carried("TLS", line(encrypted)),
        }
    }

    fn carried(by: &'static str, command: Command) -> io::Result<Self> {
        // A socket that is missing is something else.
        let unstarted =
            |error: io::Error| io::Error::other(format!("{by} cannot be started: {error}"));
        let (socket, carrier) = carrier::start(command).map_err(unstarted)?;
        Ok(Self { socket, carrier: Some((by, carrier)) })
    }

    /// What whoever carries it had to say, where it broke off: other people's text.
    pub(crate) fn complaint(&mut self) -> Option<String> {
        let (by, carrier) = self.carrier.as_mut()?;
        let said = carrier.complaint();
        let said: String = String::from_utf8_lossy(&said).trim().chars().take(500).collect();
        let words = if said.is_empty() { "it ended without a word".to_owned() } else { said };
        Some(format!("{by}: {}", Inert::line(words.trim_start_matches("ssh: "))))
    }
}

/// A socket is a socket: what is done with it from here on is the same for every family.
fn tcp(address: &SocketAddr, patience: Duration) -> io::Result<UnixStream> {
    let stream = TcpStream::connect_timeout(address, patience)?;
    stream.set_nodelay(true)?;
    Ok(OwnedFd::from(stream).into())
}

/// Nothing of the caller's goes along but this connection: no agent, no display, no port, no terminal.
fn ssh(to: &Destination) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-T", "-a", "-x"]);
    for option in ["BatchMode=yes", "ConnectTimeout=10", "ClearAllForwardings=yes"] {
        command.args(["-o", option]);
    }
    if let Some(user) = &to.user {
        command.args(["-l", user]);
    }
    if let Some(port) = to.port {
        command.args(["-p", &port.to_string()]);
    }
    command.args(["--", &to.host, "docker", "system", "dial-stdio"]);
    command
}

/// Ourselves, also where the file has been replaced since. Of the caller's surroundings nothing is needed.
fn line(to: &Encrypted) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.env_clear().arg(LINE).arg("--").arg(&to.host).arg(to.port.to_string()).arg(&to.keys);
    command
}

impl Deref for Stream {
    type Target = UnixStream;

    fn deref(&self) -> &UnixStream {
        &self.socket
    }
}

impl DerefMut for Stream {
    fn deref_mut(&mut self) -> &mut UnixStream {
        &mut self.socket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_comes_after_all_flags() {
        let to = Destination { user: Some("me".into()), host: "box".into(), port: Some(2222) };
        let words: Vec<_> = ssh(&to).get_args().map(|word| word.display().to_string()).collect();
        assert_eq!(
            words.join(" "),
            "-T -a -x -o BatchMode=yes -o ConnectTimeout=10 -o ClearAllForwardings=yes \
             -l me -p 2222 -- box docker system dial-stdio"
        );
    }
}
