//! Engines of the tests' own: started before them, stopped after them, seen by nobody else.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::cargo::works;
use crate::ending::{Kept, keep};
use crate::engine::unmount_below;
use crate::provide::is_root;

/// Group of the unprivileged user that tests run as, who may use the engines as well.
const TEST_GROUP: u32 = 12345;
const PATIENCE: Duration = Duration::from_secs(60);

/// Both engines, each with a directory of its own.
#[derive(Debug)]
pub(crate) struct Engines {
    dir: PathBuf,
    daemons: Vec<Child>,
    kept: Kept,
}

impl Engines {
    /// Starts them. They need root; without it there is nothing to test with, and that is said.
    pub(crate) fn start() -> Result<Self> {
        if !is_root() {
            bail!("engines of the tests' own need root: run as root, or leave out --all-features");
        }
        let dir = std::env::temp_dir().join(format!("cofferdam-engines-{}", std::process::id()));
        fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o711))?;
        let kept = keep(&dir, "-TERM");
        let mut engines = Self { dir, daemons: Vec::new(), kept };
        let at = |name: &str| engines.dir.join(name);
        // No bridge: a second engine would take the first one's away.
        let mut docker = ends_with_us("dockerd");
        docker
            .arg("--host")
            .arg(format!("unix://{}", engines.docker().display()))
            .arg("--data-root")
            .arg(at("docker"))
            .arg("--exec-root")
            .arg(at("docker-exec"))
            .arg("--pidfile")
            .arg(at("docker.pid"))
            .args(["--bridge", "none", "--iptables=false", "--ip6tables=false"]);
        // crun refuses hosts with both kinds of control groups; runc does not.
        let mut podman = ends_with_us("podman");
        podman
            .arg("--root")
            .arg(at("podman"))
            .arg("--runroot")
            .arg(at("podman-run"))
            .args(["--runtime", "runc", "--cgroup-manager", "cgroupfs"])
            .args(["system", "service", "--time=0"])
            .arg(format!("unix://{}", engines.podman().display()));
        for (name, mut command) in [("docker.log", docker), ("podman.log", podman)] {
            let log = fs::File::create(at(name)).context("cannot make a log")?;
            // Podman's helpers leave files where they were started.
            command.current_dir(&engines.dir);
            command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
            engines.daemons.push(command.spawn().context("cannot start an engine")?);
            let pids: Vec<u32> = engines.daemons.iter().map(Child::id).collect();
            engines.kept.are(&pids);
        }
        for socket in [engines.docker(), engines.podman()] {
            wait_for(&socket)?;
            chown(&socket, Some(0), Some(TEST_GROUP))?;
            fs::set_permissions(&socket, fs::Permissions::from_mode(0o660))?;
        }
        Ok(engines)
    }

    pub(crate) fn docker(&self) -> PathBuf {
        self.dir.join("docker.sock")
    }

    pub(crate) fn podman(&self) -> PathBuf {
        self.dir.join("podman.sock")
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            // Asked, not killed: they unmount what they mounted.
            let pid = daemon.id().to_string();
            if !works(Command::new("kill").args(["-TERM", &pid])) {
                eprintln!("xtask: cannot stop process {pid}");
            }
            if let Err(error) = daemon.wait() {
                eprintln!("xtask: cannot wait for process {pid}: {error}");
            }
        }
        if !unmount_below(&self.dir) {
            return;
        }
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            eprintln!("xtask: {} is left: {error}", self.dir.display());
        }
    }
}

/// A program that is asked to end when this process does, however that ends.
fn ends_with_us(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", program]);
    command
}

fn wait_for(socket: &Path) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    let host = format!("unix://{}", socket.display());
    while Instant::now() < end {
        if works(Command::new("docker").args(["-H", &host, "version"])) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("{} does not answer; see the log beside it", socket.display())
}
