//! A Docker engine of our own, for as long as something is measured or drilled; and what engines leave.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::cargo::works;
use crate::ending::{Kept, keep};
use crate::place::Place;
use crate::provide::{is_there, package};

/// How long an engine may take to come up.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct PrivateEngine {
    host: String,
    top: PathBuf,
    process: Child,
    kept: Kept,
}

impl PrivateEngine {
    /// With its own state, which goes with the place, and no bridge: a second engine on one host would take
    /// the first one's away.
    pub(crate) fn start(place: &Place) -> Result<Self> {
        for (program, package_of) in [("dockerd", "docker.io"), ("busybox", "busybox-static")] {
            if !is_there(program) {
                package(package_of).with_context(|| format!("{program} is missing"))?;
            }
        }
        let top = place.workspace().join("engine");
        fs::create_dir(&top).with_context(|| format!("cannot make {}", top.display()))?;
        let host = format!("unix://{}", top.join("socket").display());
        let kept = keep(&top, "-TERM");
        let process = daemon(&host, &top)?;
        kept.are(&[process.id()]);
        let mut engine = Self { host, top, process, kept };
        engine.wait(1)?;
        Ok(engine)
    }

    pub(crate) fn host(&self) -> String {
        self.host.clone()
    }

    /// Without a chance to clean up; then anew, with all that it had. It answers when this returns.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.process.kill().context("dockerd cannot be killed")?;
        self.process.wait().context("dockerd is lost")?;
        self.forget_containerd()?;
        self.start_anew()?;
        // Whoever watches over one on a host starts it anew as well.
        self.wait(3)
    }

    fn start_anew(&mut self) -> Result<()> {
        self.process = daemon(&self.host, &self.top)?;
        self.kept.are(&[self.process.id()]);
        Ok(())
    }

    /// Its containerd dies with it, and leaves a note of its number. Whatever process or thread has that number next, the
    /// engine takes for its containerd, and waits for it in vain.
    fn forget_containerd(&self) -> Result<()> {
        let note = self.top.join("exec/containerd/containerd.pid");
        let Ok(pid) = fs::read_to_string(&note) else { return Ok(()) };
        let program = format!("/proc/{}/exe", pid.trim());
        let deadline = Instant::now() + PATIENCE;
        while fs::read_link(&program).is_ok_and(|path| path.ends_with("containerd")) {
            if Instant::now() >= deadline {
                bail!("the private engine's containerd outlives it");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        fs::remove_file(&note).with_context(|| format!("cannot remove {}", note.display()))
    }

    /// Until it answers. It may end so many times, less one.
    fn wait(&mut self, mut starts: usize) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !works(client(&self.host).args(["version", "--format", "x"])) {
            if let Some(status) = self.process.try_wait().context("dockerd is lost")? {
                starts -= 1;
                if starts > 0 {
                    self.start_anew()?;
                    continue;
                }
                let said = fs::read_to_string(self.top.join("log")).unwrap_or_default();
                let said = said.lines().last().unwrap_or_default();
                bail!("a private dockerd ended at once: {status}: {said}");
            }
            if Instant::now() >= deadline {
                bail!("a private dockerd does not answer");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

fn daemon(host: &str, top: &Path) -> Result<Child> {
    let log = fs::File::create(top.join("log")).context("cannot make a log")?;
    Command::new("dockerd")
        .args(["--host", host, "--bridge", "none", "--iptables=false"])
        .arg("--data-root")
        .arg(top.join("data"))
        .arg("--exec-root")
        .arg(top.join("exec"))
        .arg("--pidfile")
        .arg(top.join("pid"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .context("cannot start dockerd")
}

/// The engine's own client.
pub(crate) fn client(host: &str) -> Command {
    let mut command = Command::new("docker");
    command.args(["--host", host]).stdin(Stdio::null());
    command
}

impl Drop for PrivateEngine {
    fn drop(&mut self) {
        // Asked, not killed: it has mounts and processes of its own to end.
        let pid = self.process.id().to_string();
        if !works(Command::new("kill").args(["-TERM", &pid])) {
            eprintln!("xtask: the private engine (pid {pid}) cannot be stopped");
        } else if let Err(error) = self.process.wait() {
            eprintln!("xtask: the private engine cannot be waited for: {error}");
        }
        end_shims(&self.top);
        unmount_below(&self.top);
    }
}

/// An engine that was killed forgets some of those that held its containers, and they wait for it for ever. They are known by the
/// socket that they were to tell it over, which was in its own directory.
pub(crate) fn end_shims(dir: &Path) {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in entries {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let name = process.file_name();
        if is_shim(&line, dir) && !works(Command::new("kill").arg("-KILL").arg(&name)) {
            eprintln!("xtask: {} of the private engine stays", name.display());
        }
    }
}

fn is_shim(line: &[u8], dir: &Path) -> bool {
    let mut words = line.split(|byte| *byte == 0).map(|word| Path::new(OsStr::from_bytes(word)));
    words.next().is_some_and(|program| program.ends_with("containerd-shim-runc-v2"))
        && words.any(|word| word.starts_with(dir))
}

/// What an engine that was killed once may have left in its own directory. Whether nothing is mounted there now.
pub(crate) fn unmount_below(dir: &Path) -> bool {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = text.lines().filter_map(|line| line.split(' ').nth(4));
    let mut points: Vec<&str> = points.filter(|point| Path::new(point).starts_with(dir)).collect();
    points.reverse();
    for point in points {
        if !works(Command::new("umount").args(["-l", point])) {
            eprintln!("xtask: {point} is still mounted; nothing is removed");
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shim_of_this_engine_is_one() {
        let line = b"/usr/bin/containerd-shim-runc-v2\0-id\0a\0-address\0/place/engine/exec/sock\0";
        assert!(is_shim(line, Path::new("/place/engine")));
        assert!(!is_shim(line, Path::new("/place/eng")));
        assert!(!is_shim(b"less\0/place/engine/log\0", Path::new("/place/engine")));
    }
}
