//! A network of its own for a runner, and the one cable that leads out of it. Both are the kernel's, and go with the
//! process that holds the network.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cofferdam_testkit::wait_until;

/// Addresses for tests of networks (RFC 2544), which no host routes anywhere.
const RANGE: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const LINKS: u32 = 1 << 15;

pub(crate) struct Cable {
    holder: Child,
    near: String,
    far: String,
    /// Of this side.
    pub(crate) here: IpAddr,
}

impl Cable {
    /// Laid and plugged in at both ends.
    pub(crate) fn lay() -> Self {
        let mut holder = Command::new("unshare");
        holder.args(["--net", "sleep", "600"]).stdin(Stdio::null());
        let holder = holder.spawn().unwrap();
        let net = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
        let (pid, own) = (holder.id().to_string(), net("self"));
        assert!(wait_until(Duration::from_secs(10), || net(&pid) != own));
        let number = std::process::id() % LINKS;
        let [here, there] = [1, 2].map(|end| Ipv4Addr::from(RANGE + number * 4 + end));
        let (near, far) = (format!("cable{number}a"), format!("cable{number}b"));
        ip(&["link", "add", &near, "type", "veth", "peer", "name", &far, "netns", &pid]);
        let cable = Self { holder, near, far, here: here.into() };
        ip(&["address", "add", &format!("{here}/30"), "dev", &cable.near]);
        ip(&["link", "set", &cable.near, "up"]);
        cable.inside(&["ip", "address", "add", &format!("{there}/30"), "dev", &cable.far]);
        cable.plug_in();
        cable
    }

    pub(crate) fn pull(&self) {
        self.inside(&["ip", "link", "set", &self.far, "down"]);
    }

    pub(crate) fn plug_in(&self) {
        self.inside(&["ip", "link", "set", &self.far, "up"]);
    }

    /// What starts `command` at the far end, with the same environment.
    pub(crate) fn command(&self, command: &Command) -> Command {
        let mut inside = self.enter();
        inside.arg(command.get_program()).args(command.get_args());
        if let Some(dir) = command.get_current_dir() {
            inside.current_dir(dir);
        }
        inside.env_clear();
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside
    }

    fn enter(&self) -> Command {
        let mut enter = Command::new("nsenter");
        enter.arg(format!("--net=/proc/{}/ns/net", self.holder.id()));
        enter
    }

    fn inside(&self, words: &[&str]) {
        succeed(self.enter().args(words));
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        // A cable goes with either of its ends.
        self.holder.kill().unwrap();
        self.holder.wait().unwrap();
        Command::new("ip").args(["link", "delete", &self.near]).stderr(Stdio::null()).status().ok();
    }
}

fn ip(words: &[&str]) {
    succeed(Command::new("ip").args(words));
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
