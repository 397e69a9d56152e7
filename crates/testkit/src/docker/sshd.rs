//! Another host before an engine: a real `sshd` with keys, settings and a port of its own, and the settings by which the
//! real `ssh` gets there.
//!
//! The engine's client on the far side finds the engine by a variable, as on a host with an unusual socket. The near side's
//! settings know several hosts: [`Sshd::FAR`], which lets us in, and others that do not.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Engine, free_port, signal};
use crate::{TestEnv, wait_until};

#[derive(Debug)]
pub struct Sshd {
    dir: tempfile::TempDir,
    daemon: Child,
    /// Takes connections, and says nothing.
    _silent: TcpListener,
}

/// With another `PATH` before the usual one.
const SSH: &str = "#!/bin/sh\nexec /usr/bin/ssh -F \"${0%/*}/../near\" \"$@\"\n";

impl Sshd {
    /// Lets us in.
    pub const FAR: &'static str = "far";
    /// Is the same, with one connection for all that goes there, as its users are advised.
    pub const SHARED: &'static str = "shared";
    /// Is the same, and nobody has seen its key before.
    pub const UNKNOWN: &'static str = "unknown";
    /// Is the same, and does not know our key.
    pub const LOCKED: &'static str = "locked";
    /// Answers nothing.
    pub const SILENT: &'static str = "silent";
    /// Does not listen.
    pub const DEAD: &'static str = "dead";

    pub fn before(engine: &Engine) -> Self {
        let dir = tempfile::Builder::new().prefix("cofferdam-sshd-").tempdir();
        let dir = dir.expect("a temporary directory can be made");
        for name in ["host", "user", "stranger"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(dir.path().join(name));
            assert!(keygen.status().is_ok_and(|status| status.success()), "ssh-keygen");
        }
        // Where it separates its privileges; a service makes it that has never run here.
        fs::create_dir_all("/run/sshd").expect("root can make it");
        let silent = TcpListener::bind("127.0.0.1:0").expect("the loopback is there");
        let port = free_port();
        let dead = free_port();
        near(dir.path(), port, silent.local_addr().expect("it is bound").port(), dead);
        let daemon = far(dir.path(), port, engine);
        let sshd = Self { dir, daemon, _silent: silent };
        let listens = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        let log = || fs::read_to_string(sshd.dir.path().join("log")).unwrap_or_default();
        assert!(wait_until(Duration::from_secs(30), listens), "sshd does not listen:\n{}", log());
        sshd
    }

    /// Cofferdam, which is told to use the engine of one of the hosts.
    pub fn cofferdam(&self, env: &TestEnv, host: &str) -> Command {
        let mut command = env.cofferdam();
        let bin = self.dir.path().join("bin");
        command.env("PATH", format!("{}:/usr/bin:/bin:/usr/sbin:/sbin", bin.display()));
        command.env("DOCKER_HOST", format!("ssh://{host}"));
        command
    }

    /// Cuts every connection that is open; new ones are let in. How many there were.
    pub fn cut(&self) -> usize {
        let children = format!("/proc/{0}/task/{0}/children", self.daemon.id());
        let children = fs::read_to_string(children).unwrap_or_default();
        let pids: Vec<u32> = children.split_whitespace().filter_map(|p| p.parse().ok()).collect();
        for pid in &pids {
            // One that ends by itself meanwhile is cut as well.
            let mut kill = Command::new("kill");
            kill.args(["-KILL", &pid.to_string()]).stderr(Stdio::null());
            kill.status().expect("kill can be started");
        }
        pids.len()
    }
}

/// What our side knows of hosts.
fn near(dir: &Path, port: u16, silent: u16, dead: u16) {
    let at = |name: &str| dir.join(name).display().to_string();
    let public = fs::read_to_string(at("host.pub")).expect("it was made");
    fs::write(at("known"), format!("[127.0.0.1]:{port} {public}")).expect("it can be written");
    let host = |name: &str, port: u16, key: &str, known: &str| {
        format!(
            "Host {name}\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {}\n \
             IdentitiesOnly yes\n IdentityAgent none\n UserKnownHostsFile {}\n \
             GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking ask\n",
            at(key),
            at(known)
        )
    };
    let shared = " ControlMaster auto\n ControlPersist 60\n ControlPath ";
    let text = [
        host(Sshd::FAR, port, "user", "known"),
        host(Sshd::SHARED, port, "user", "known") + shared + &at("control") + "\n",
        host(Sshd::UNKNOWN, port, "user", "nobody-known"),
        host(Sshd::LOCKED, port, "stranger", "known"),
        host(Sshd::SILENT, silent, "user", "known"),
        host(Sshd::DEAD, dead, "user", "known"),
    ];
    fs::write(at("near"), text.concat()).expect("it can be written");
    fs::create_dir(at("bin")).expect("a directory can be made");
    fs::write(at("bin/ssh"), SSH).expect("it can be written");
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(at("bin/ssh"), open).expect("it is ours");
}

/// The far side.
fn far(dir: &Path, port: u16, engine: &Engine) -> Child {
    let at = |name: &str| dir.join(name).display().to_string();
    let text = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
         StrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n\
         SetEnv DOCKER_HOST={}\nMaxStartups 100\n",
        at("host"),
        at("user.pub"),
        engine.address()
    );
    fs::write(at("far"), text).expect("it can be written");
    let log = fs::File::create(at("log")).expect("a log can be made");
    let mut command = Command::new("/usr/sbin/sshd");
    command.args(["-D", "-e", "-f", &at("far")]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().unwrap_or_else(|e| panic!("cannot start sshd: {e}"))
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.cut();
        signal("-TERM", self.daemon.id());
        self.daemon.wait().expect("it can be waited for");
    }
}
