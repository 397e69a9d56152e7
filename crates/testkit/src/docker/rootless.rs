//! An engine without root, for one test: Podman's service, or Docker's daemon, as the user without privileges, who has an account and a range of ids
//! in a mount namespace of the engine's own. The host's files about accounts stay as they are.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Engine, Which, signal, unmount_below};
use crate::unprivileged::ID;
use crate::wait_until;

#[derive(Debug)]
pub struct Rootless {
    which: Which,
    dir: tempfile::TempDir,
    service: Child,
}

/// Lays the files about accounts over the host's, and becomes the user.
const START: &str = r#"set -e
for name in passwd group subuid subgid; do mount --bind "$1/$name" "/etc/$name"; done
cd "$1/home"
exec setpriv --reuid "$2" --regid "$2" --clear-groups env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    HOME="$1/home" XDG_RUNTIME_DIR="$1/run" "#;

const PODMAN: &str = r#"podman --runtime runc --cgroup-manager cgroupfs --storage-driver vfs \
    system service --time=0 "unix://$1/sock/podman.sock""#;

/// As Docker's own script for it does, without a network. What the host has in `/run` is a link in there, and has to go
/// before the daemon makes its own.
const DOCKER: &str = r#"rootlesskit --state-dir="$1/run/kit" --net=host --copy-up=/etc --copy-up=/run \
    --propagation=rslave /bin/sh -c 'rm -f /run/docker /run/containerd /run/xtables.lock; exec dockerd "$@"' sh \
    --rootless --host "unix://$1/sock/docker.sock" --data-root "$1/home/data" --exec-root "$1/run/exec" \
    --pidfile "$1/run/docker.pid" --bridge none --iptables=false --ip6tables=false --storage-driver vfs"#;

impl Rootless {
    pub fn podman() -> Self {
        Self::start(Which::Podman)
    }

    pub fn docker() -> Self {
        Self::start(Which::Docker)
    }

    fn start(which: Which) -> Self {
        let open = fs::Permissions::from_mode(0o711);
        let dir =
            tempfile::Builder::new().prefix("cofferdam-rootless-").permissions(open).tempdir();
        let dir = dir.expect("a temporary directory can be made");
        let at = |name: &str| dir.path().join(name);
        let home = at("home");
        for (name, line) in [
            ("passwd", format!("tester:x:{ID}:{ID}::{}:/bin/sh\n", home.display())),
            ("group", format!("tester:x:{ID}:\n")),
            ("subuid", "tester:2000000:65536\n".to_owned()),
            ("subgid", "tester:2000000:65536\n".to_owned()),
        ] {
            let text = fs::read_to_string(format!("/etc/{name}")).unwrap_or_default();
            fs::write(at(name), text + &line).expect("a file can be written");
        }
        for name in ["home", "run", "sock"] {
            fs::create_dir(at(name)).expect("a directory can be made");
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o700)).expect("it is ours");
            chown(at(name), Some(ID), Some(ID)).expect("root can give a directory away");
        }
        let log = fs::File::create(at("log")).expect("a log can be made");
        let program = match which {
            Which::Docker => DOCKER,
            Which::Podman => PODMAN,
        };
        let service = Command::new("unshare")
            .args(["--mount", "--", "/bin/sh", "-c", &format!("{START}{program}"), "sh"])
            .arg(dir.path())
            .arg(ID.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn();
        let service = service.unwrap_or_else(|e| panic!("cannot start unshare: {e}"));
        let rootless = Self { which, dir, service };
        let engine = rootless.engine();
        let answers = || {
            let mut client = Command::new("docker");
            client.args(["-H", &engine.address(), "version"]);
            client.stdout(Stdio::null()).stderr(Stdio::null());
            client.status().is_ok_and(|status| status.success())
        };
        let log = || fs::read_to_string(rootless.dir.path().join("log")).unwrap_or_default();
        assert!(wait_until(Duration::from_secs(60), answers), "it does not answer:\n{}", log());
        rootless
    }

    pub fn engine(&self) -> Engine {
        Engine { which: self.which, socket: self.socket() }
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join(format!("sock/{}.sock", self.which.name()))
    }
}

impl Drop for Rootless {
    fn drop(&mut self) {
        signal("-TERM", self.service.id());
        self.service.wait().expect("it can be waited for");
        // Podman goes on in a child, which its parent does not always take along. Where it did, there is no group any more.
        let group = format!("-{}", self.service.id());
        let mut kill = Command::new("kill");
        kill.args(["-KILL", "--", &group]).stderr(Stdio::null()).status().ok();
        // A process of its own keeps its namespaces.
        let pause = self.dir.path().join("run/libpod/tmp/pause.pid");
        if let Some(pid) = fs::read_to_string(pause).ok().and_then(|pid| pid.trim().parse().ok()) {
            signal("-KILL", pid);
        }
        unmount_below(self.dir.path());
    }
}
