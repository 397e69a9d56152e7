//! An engine of our own, for as long as it is measured.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::super::place::Place;
use super::docker;
use crate::cargo::works;
use crate::provide::{is_there, package};

/// How long an engine may take to come up.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct PrivateEngine {
    host: String,
    process: Child,
}

impl PrivateEngine {
    /// With its own state, which goes with the place, and no bridge: a second engine on one host would take
    /// the first one's away.
    pub(super) fn start(place: &Place) -> Result<Self> {
        for (program, package_of) in [("dockerd", "docker.io"), ("busybox", "busybox-static")] {
            if !is_there(program) {
                package(package_of).with_context(|| format!("{program} is missing"))?;
            }
        }
        let top = place.workspace().join("engine");
        std::fs::create_dir(&top).with_context(|| format!("cannot make {}", top.display()))?;
        let host = format!("unix://{}", top.join("socket").display());
        let process = Command::new("dockerd")
            .args(["--host", &host, "--bridge", "none", "--iptables=false"])
            .arg("--data-root")
            .arg(top.join("data"))
            .arg("--exec-root")
            .arg(top.join("exec"))
            .arg("--pidfile")
            .arg(top.join("pid"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start dockerd")?;
        let mut engine = Self { host, process };
        let deadline = Instant::now() + PATIENCE;
        while !works(docker(&engine.host).args(["version", "--format", "x"])) {
            if let Some(status) = engine.process.try_wait().context("dockerd is lost")? {
                bail!("a private dockerd ended at once: {status}");
            }
            if Instant::now() >= deadline {
                bail!("a private dockerd does not answer");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(engine)
    }

    pub(super) fn host(&self) -> String {
        self.host.clone()
    }
}

impl Drop for PrivateEngine {
    fn drop(&mut self) {
        // Asked, not killed: it has mounts and processes of its own to end.
        let pid = self.process.id().to_string();
        if !works(Command::new("kill").args(["-TERM", &pid])) {
            eprintln!("xtask: the private engine (pid {pid}) cannot be stopped");
            return;
        }
        if let Err(error) = self.process.wait() {
            eprintln!("xtask: the private engine cannot be waited for: {error}");
        }
    }
}
