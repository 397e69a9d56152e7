//! What lies outside the sandbox of an attack and would notice: a canary, listeners, a process.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use cofferdam_core::attack::Word;

use super::AttackError;
use super::marks::fingerprint;

#[derive(Debug)]
pub(super) struct Surroundings {
    dir: PathBuf,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    datagram: UnixDatagram,
    hidden: UnixListener,
    victim: Mutex<Child>,
    home: String,
}

/// So long that nobody else sleeps as long.
const SLEEP: &str = "31536000";

impl Surroundings {
    pub(super) fn make(dir: &Path) -> Result<Self, AttackError> {
        let fail = AttackError::place(dir);
        let canary = dir.join("outside/canary");
        fs::write(&canary, "canary\n").map_err(&fail)?;
        let tcp = TcpListener::bind("127.0.0.1:0").map_err(&fail)?;
        let udp = UdpSocket::bind("127.0.0.1:0").map_err(&fail)?;
        let unix = UnixListener::bind(dir.join("unix")).map_err(&fail)?;
        let datagram = UnixDatagram::bind(dir.join("datagram")).map_err(&fail)?;
        let address = SocketAddr::from_abstract_name(name(dir)).map_err(&fail)?;
        let hidden = UnixListener::bind_addr(&address).map_err(&fail)?;
        tcp.set_nonblocking(true).map_err(&fail)?;
        udp.set_nonblocking(true).map_err(&fail)?;
        unix.set_nonblocking(true).map_err(&fail)?;
        datagram.set_nonblocking(true).map_err(&fail)?;
        hidden.set_nonblocking(true).map_err(&fail)?;
        let mut victim = Command::new("sleep");
        victim.arg(SLEEP).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let victim = Mutex::new(victim.spawn().map_err(&fail)?);
        let home = fingerprint(&dir.join("home"), &["cofferdam"])?;
        Ok(Self { dir: dir.to_owned(), tcp, udp, unix, datagram, hidden, victim, home })
    }

    pub(super) fn unix(&self) -> PathBuf {
        self.dir.join("unix")
    }

    pub(super) fn word(&self, word: Word) -> String {
        let port = |address: std::io::Result<std::net::SocketAddr>| {
            address.map(|address| address.port().to_string()).unwrap_or_default()
        };
        match word {
            Word::Tcp => port(self.tcp.local_addr()),
            Word::Udp => port(self.udp.local_addr()),
            Word::Unix => self.unix().display().to_string(),
            Word::Datagram => self.dir.join("datagram").display().to_string(),
            Word::Abstract => name(&self.dir),
            Word::Victim => match self.victim.lock() {
                Ok(victim) => victim.id().to_string(),
                Err(poisoned) => poisoned.into_inner().id().to_string(),
            },
            _ => String::new(),
        }
    }

    /// Whoever was reached, or is not what it was.
    pub(super) fn harm(&self) -> Option<String> {
        let mut byte = [0; 1];
        let reached = [
            ("a TCP listener of the host was reached", self.tcp.accept().is_ok()),
            ("a datagram arrived at the host", self.udp.recv(&mut byte).is_ok()),
            ("a socket of the host was reached", self.unix.accept().is_ok()),
            ("a datagram arrived at a socket of the host", self.datagram.recv(&mut byte).is_ok()),
            ("a socket without a path was reached", self.hidden.accept().is_ok()),
            ("a process of the host was killed", !self.victim_lives()),
            ("the canary was changed", !self.canary_is_whole()),
            ("the home was changed", !self.home_is_whole()),
        ];
        reached.into_iter().find(|(_, reached)| *reached).map(|(what, _)| what.to_owned())
    }

    fn victim_lives(&self) -> bool {
        let mut victim = match self.victim.lock() {
            Ok(victim) => victim,
            Err(poisoned) => poisoned.into_inner(),
        };
        matches!(victim.try_wait(), Ok(None))
    }

    fn canary_is_whole(&self) -> bool {
        let outside = self.dir.join("outside");
        let alone = fs::read_dir(&outside).is_ok_and(|entries| entries.count() == 1);
        alone && fs::read(outside.join("canary")).is_ok_and(|bytes| bytes == b"canary\n")
    }

    fn home_is_whole(&self) -> bool {
        fingerprint(&self.dir.join("home"), &["cofferdam"]).is_ok_and(|home| home == self.home)
    }
}

/// Names without a path are the whole host's: this one holds the place's own.
fn name(dir: &Path) -> String {
    dir.display().to_string().trim_start_matches('/').replace('/', "-")
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        let victim = match self.victim.get_mut() {
            Ok(victim) => victim,
            Err(poisoned) => poisoned.into_inner(),
        };
        // One that an attack killed is only taken away.
        victim.kill().ok();
        victim.wait().ok();
    }
}
