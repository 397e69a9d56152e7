//! Claims about container engines: real ones, of their own. `cargo xtask test` starts an engine for all tests
//! and says where its socket is; a test that has to kill one starts [`PrivateEngine`]; [`Rootless`] is one
//! without root; [`Sshd`] puts another host before an engine.

mod rootless;
mod sshd;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::unprivileged::ID;
use crate::{Authority, Finished, TestEnv, wait_until};
pub use rootless::Rootless;
pub use sshd::Sshd;

/// Which engine a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Docker,
    Podman,
}

impl Which {
    fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// The socket that the tests were told of. With the feature on, a missing engine is a failure.
    fn socket(self) -> PathBuf {
        let variable = match self {
            Self::Docker => "TEST_DOCKER_SOCKET",
            Self::Podman => "TEST_PODMAN_SOCKET",
        };
        match std::env::var_os(variable) {
            Some(socket) => socket.into(),
            None => panic!("{variable} names no socket: start the tests with `cargo xtask test`"),
        }
    }
}

/// An engine, and how it is used in a test.
#[derive(Debug, Clone)]
pub struct Engine {
    which: Which,
    socket: PathBuf,
}

impl Engine {
    /// The one that all tests share.
    pub fn shared(which: Which) -> Self {
        Self { which, socket: which.socket() }
    }

    /// `cofferdam` in the surroundings of `env`, which knows of this engine and no other.
    pub fn cofferdam(&self, env: &TestEnv) -> Command {
        let mut command = env.cofferdam();
        self.show_to(&mut command);
        command
    }

    /// Lets a command find this engine and no other.
    pub(crate) fn show_to(&self, command: &mut Command) {
        let (own, other) = match self.which {
            Which::Docker => ("DOCKER_HOST", "CONTAINER_HOST"),
            Which::Podman => ("CONTAINER_HOST", "DOCKER_HOST"),
        };
        command.env(own, self.address()).env(other, "unix:///nonexistent");
    }

    pub fn name(&self) -> &'static str {
        self.which.name()
    }

    fn run_command(&self, env: &TestEnv, flags: &[&str]) -> Command {
        let mut command = self.cofferdam(env);
        command.args(["run", "--quiet", "--sandbox", self.which.name()]).args(flags);
        command
    }

    /// Runs a shell script in a container, to its end.
    #[track_caller]
    pub fn run(&self, env: &TestEnv, flags: &[&str], script: &str) -> Finished {
        self.exec(env, flags, &["sh", "-c", script])
    }

    /// The same for a command of several words.
    #[track_caller]
    pub fn exec(&self, env: &TestEnv, flags: &[&str], words: &[&str]) -> Finished {
        let mut command = self.run_command(env, flags);
        command.arg("--").args(words);
        env.finish(command)
    }

    /// Starts a shell script in a container and returns at once.
    pub fn spawn(&self, env: &TestEnv, flags: &[&str], script: &str) -> Child {
        let mut command = self.run_command(env, flags);
        command.args(["--", "sh", "-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap_or_else(|e| panic!("cannot start cofferdam: {e}"))
    }

    /// Runs another command of cofferdam's.
    #[track_caller]
    pub fn command<A: AsRef<OsStr>>(
        &self,
        env: &TestEnv,
        args: impl IntoIterator<Item = A>,
    ) -> Finished {
        let mut command = self.cofferdam(env);
        command.args(args);
        env.finish(command)
    }

    /// As clients want it.
    pub fn address(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    /// What the engine's own client says. Podman is spoken with in Docker's language, as cofferdam does.
    #[track_caller]
    pub fn client(&self, args: &[&str]) -> String {
        let output = Command::new("docker")
            .args(["-H", &self.address()])
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|e| panic!("cannot start docker: {e}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        assert!(output.status.success(), "docker {args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Makes an image of busybox under these names of programs, in `/bin` where they are no paths, and a file
    /// `/made-for-this`; its id.
    #[track_caller]
    pub fn import_busybox(&self, name: &str, programs: &[&str], changes: &[&str]) -> String {
        let tree = tempfile::tempdir().expect("a temporary directory can be made");
        let image = tree.path().join("image");
        fs::create_dir_all(image.join("bin")).expect("it can be written to");
        fs::copy("/bin/busybox", image.join("bin/busybox")).expect("busybox is there");
        for program in programs {
            let path = match program.strip_prefix('/') {
                Some(path) => image.join(path),
                None => image.join("bin").join(program),
            };
            fs::create_dir_all(path.parent().unwrap_or(&image)).expect("it can be written to");
            symlink("/bin/busybox", path).expect("it can be written to");
        }
        fs::write(image.join("made-for-this"), "from the image\n").expect("it can be written to");
        let archive = tree.path().join("image.tar");
        let packed =
            Command::new("tar").arg("-C").arg(&image).arg("-cf").arg(&archive).arg(".").status();
        assert!(packed.is_ok_and(|status| status.success()), "tar");
        let mut words = vec!["import"];
        words.extend(changes.iter().flat_map(|change| ["--change", *change]));
        words.extend([archive.to_str().expect("temporary names are text"), name]);
        self.client(&words)
    }

    /// Containers and volumes of `runs` that are still there.
    #[track_caller]
    pub fn left(&self, runs: &BTreeSet<String>) -> Vec<String> {
        let ours = |line: &&str| line.split(' ').nth(1).is_some_and(|run| runs.contains(run));
        let label = "{{.Label \"cofferdam.run\"}}";
        let containers = format!("{{{{.ID}}}} {label}");
        let volumes = format!("{{{{.Name}}}} {label}");
        let mut found = Vec::new();
        for args in [
            ["ps", "-a", "--filter", "label=cofferdam.run", "--format", &containers].as_slice(),
            ["volume", "ls", "--filter", "label=cofferdam.run", "--format", &volumes].as_slice(),
        ] {
            found.extend(self.client(args).lines().filter(ours).map(str::to_owned));
        }
        found
    }
}

/// Tries a claim twice: as whoever runs the tests, and as a user without privileges who may use the engine.
/// Nothing is left in the engine afterwards.
pub fn as_root_and_as_user(binary: &str, which: Which, claim: impl Fn(&Engine, &TestEnv)) {
    let engine = Engine::shared(which);
    for env in [TestEnv::with_binary(binary), TestEnv::with_binary(binary).unprivileged()] {
        claim(&engine, &env);
        assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
    }
}

/// An engine of one test's own, to be killed.
#[derive(Debug)]
pub struct PrivateEngine {
    dir: tempfile::TempDir,
    net: Net,
    host: Host,
    daemon: Option<Child>,
}

/// What a private engine can give its containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Net {
    None,
    /// A bridge, in a network namespace of the engine's own: nothing in there leads to the host or beyond.
    Bridge,
}

/// What is different for a private engine.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Same,
    /// It is Podman's service instead.
    Podman,
    /// It is Podman's, with this runtime for all containers.
    PodmanWith(&'static str),
    /// It listens on a port of this host as well.
    Port(u16),
    /// That port is one in TLS, for whom the papers beside it vouch.
    Tls(u16),
    /// It has crun, and gVisor's runtime, which is `runsc`.
    Runtimes,
    /// It calls itself Docker Desktop, and does not see what is in this directory.
    Machine {
        unseen: PathBuf,
    },
}

impl Host {
    /// What starts the containers of one that is Podman's.
    fn podmans_runtime(&self) -> Option<&'static str> {
        match self {
            Self::Podman => Some("runc"),
            Self::PodmanWith(runtime) => Some(runtime),
            _ => None,
        }
    }
}

/// The name that an engine gives itself is that of its host.
const IN_A_MACHINE: &str = "mount --bind \"$1\" /etc/os-release && mount -t tmpfs none \"$2\" && shift 2 && \
                            exec dockerd \"$@\"";

/// crun refuses hosts with both kinds of control groups, so that the engine sees only the first of them. It sees no
/// mount that is made later either, as root's own runs would make it.
const WITHOUT_UNIFIED: &str =
    "test ! -d /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified; exec \"$@\"";

/// gVisor can do without anything of the hardware's.
const RUNSC: &str = "#!/bin/sh\nexec runsc --platform=ptrace --network=none \"$@\"\n";

impl PrivateEngine {
    pub fn start() -> Self {
        Self::with(Net::None, Host::Same)
    }

    /// Podman's service. What it started goes on without it.
    pub fn podman() -> Self {
        Self::with(Net::None, Host::Podman)
    }

    /// Podman's service with a runtime, `crun` or `runsc`, for users other than root.
    pub fn podman_with(runtime: &'static str) -> Self {
        Self::with(Net::None, Host::PodmanWith(runtime))
    }

    /// One with further runtimes, for users other than root.
    pub fn with_runtimes() -> Self {
        Self::with(Net::None, Host::Runtimes)
    }

    /// One that sees nothing of a directory, as one in a machine of its own.
    pub fn in_a_machine(unseen: &Path) -> Self {
        Self::with(Net::None, Host::Machine { unseen: unseen.to_owned() })
    }

    /// One that listens on a port of this host, too.
    pub fn with_port() -> Self {
        Self::with(Net::None, Host::Port(free_port()))
    }

    /// One that listens on a port of this host in TLS, as `localhost` and `127.0.0.1`, and takes only whom `authority`
    /// vouches for. It is at 127.0.0.2 as well, which its certificate is not for.
    pub fn with_tls(authority: &Authority) -> Self {
        let dir = Self::dir();
        authority.vouch(&dir.path().join("papers"), &["localhost", "127.0.0.1"]);
        Self::in_dir(dir, Net::None, Host::Tls(free_port()))
    }

    /// The port.
    pub fn port(&self) -> u16 {
        match self.host {
            Host::Port(port) | Host::Tls(port) => port,
            _ => panic!("it was started without one"),
        }
    }

    /// One with a network to be reached: its containers and itself, and nobody else.
    pub fn with_bridge() -> Self {
        Self::with(Net::Bridge, Host::Same)
    }

    fn with(net: Net, host: Host) -> Self {
        Self::in_dir(Self::dir(), net, host)
    }

    fn dir() -> tempfile::TempDir {
        let open = fs::Permissions::from_mode(0o711);
        let dir = tempfile::Builder::new().prefix("cofferdam-engine-").permissions(open).tempdir();
        dir.expect("a temporary directory can be made")
    }

    fn in_dir(dir: tempfile::TempDir, net: Net, host: Host) -> Self {
        let runsc = dir.path().join("runsc");
        fs::write(&runsc, RUNSC).expect("a file can be written");
        fs::set_permissions(&runsc, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let mut engine = Self { dir, net, host, daemon: None };
        engine.start_again();
        engine
    }

    /// With what it had before.
    pub fn start_again(&mut self) {
        let at = |name: &str| self.dir.path().join(name);
        let log = fs::File::options().create(true).append(true).open(at("log"));
        let unshared = |words: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(words);
            command
        };
        let mut command = match (self.net, &self.host) {
            (Net::Bridge, _) => unshared(&["--net", "--", "dockerd"]),
            (Net::None, Host::Podman) => Command::new("podman"),
            (Net::None, Host::Same | Host::Port(_) | Host::Tls(_)) => Command::new("dockerd"),
            (Net::None, Host::Runtimes) => {
                unshared(&["--mount", "--", "/bin/sh", "-c", WITHOUT_UNIFIED, "sh", "dockerd"])
            }
            (Net::None, Host::PodmanWith(_)) => {
                let conf = at("containers.conf");
                let text = format!("[engine.runtimes]\nrunsc = [{:?}]\n", at("runsc"));
                fs::write(&conf, text).expect("it can be written");
                let mut command =
                    unshared(&["--mount", "--", "/bin/sh", "-c", WITHOUT_UNIFIED, "sh", "podman"]);
                command.env("CONTAINERS_CONF", conf);
                command
            }
            (Net::None, Host::Machine { unseen }) => {
                let release = at("os-release");
                fs::write(&release, "PRETTY_NAME=\"Docker Desktop\"\n").expect("it can be written");
                let mut command = unshared(&["--mount", "--", "/bin/sh", "-c", IN_A_MACHINE, "sh"]);
                command.arg(release).arg(unseen);
                command
            }
        };
        if self.host == Host::Runtimes {
            command.args(["--add-runtime", "crun=/usr/bin/crun", "--add-runtime"]);
            command.arg(format!("runsc={}", at("runsc").display()));
        }
        if let Host::Port(port) = self.host {
            command.args(["--tls=false", "--host", &format!("tcp://127.0.0.1:{port}")]);
        }
        if let Host::Tls(port) = self.host {
            command.arg("--tlsverify");
            for address in ["127.0.0.1", "127.0.0.2"] {
                command.args(["--host", &format!("tcp://{address}:{port}")]);
            }
            for (flag, name) in
                [("--tlscacert", "ca.pem"), ("--tlscert", "cert.pem"), ("--tlskey", "key.pem")]
            {
                command.arg(flag).arg(at("papers").join(name));
            }
        }
        if let Some(runtime) = self.host.podmans_runtime() {
            command.arg("--root").arg(at("data")).arg("--runroot").arg(at("exec"));
            command.args(["--runtime", runtime, "--cgroup-manager", "cgroupfs"]);
            command.args(["system", "service", "--time=0", &self.engine().address()]);
        } else {
            if self.net == Net::None {
                command.args(["--bridge", "none"]);
            }
            command.args(["--host", &self.engine().address(), "--data-root"]).arg(at("data"));
            command.arg("--exec-root").arg(at("exec")).arg("--pidfile").arg(at("pid"));
            command.args(["--iptables=false", "--ip6tables=false"]);
        }
        let daemon = command
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.expect("a log can be made"))
            .spawn();
        self.daemon = Some(daemon.unwrap_or_else(|e| panic!("cannot start an engine: {e}")));
        let engine = self.engine();
        let answers = || {
            let mut client = Command::new("docker");
            client.args(["-H", &engine.address(), "version"]);
            client.stdout(Stdio::null()).stderr(Stdio::null());
            client.status().is_ok_and(|status| status.success())
        };
        assert!(
            wait_until(Duration::from_secs(30), answers),
            "the engine does not answer:\n{}",
            fs::read_to_string(at("log")).unwrap_or_default()
        );
        chown(self.socket(), Some(0), Some(ID)).expect("root can give a socket away");
        let for_group = fs::Permissions::from_mode(0o660);
        fs::set_permissions(self.socket(), for_group).expect("root can open a socket to a group");
    }

    pub fn engine(&self) -> Engine {
        let is_podman = self.host.podmans_runtime().is_some();
        let which = if is_podman { Which::Podman } else { Which::Docker };
        Engine { which, socket: self.socket() }
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("sock")
    }

    /// A program in the engine's network namespace.
    pub fn beside(&self, program: &str) -> Command {
        let pid = self.daemon.as_ref().expect("it runs").id().to_string();
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &pid, "--", program]);
        command
    }

    /// Without a chance to clean up.
    pub fn kill(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            daemon.kill().expect("it can be killed");
            daemon.wait().expect("it can be waited for");
        }
        // Its containerd dies with it and leaves its number behind, which soon is somebody else's: a daemon that finds
        // anybody under it starts none of its own, and waits in vain.
        let note = self.dir.path().join("exec/containerd/containerd.pid");
        if let Ok(pid) = fs::read_to_string(&note) {
            let is_gone = || {
                let program = fs::read_link(format!("/proc/{}/exe", pid.trim()));
                !program.is_ok_and(|path| path.ends_with("containerd"))
            };
            assert!(wait_until(Duration::from_secs(30), is_gone), "containerd {pid} lives on");
            fs::remove_file(note).expect("root can remove a file");
        }
    }

    /// Makes it deaf for as long as the guard lives.
    pub fn freeze(&self) -> Frozen {
        let pid = self.daemon.as_ref().expect("it runs").id();
        signal("-STOP", pid);
        // Its threads stop one by one, and any of them may still answer.
        assert!(wait_until(Duration::from_secs(10), || is_stopped(pid)), "{pid} goes on");
        Frozen(pid)
    }
}

impl Drop for PrivateEngine {
    fn drop(&mut self) {
        // Asked first: one that is killed leaves its own containerd and mounts behind.
        if self.daemon.is_none() {
            self.start_again();
        }
        if let Some(mut daemon) = self.daemon.take() {
            signal("-TERM", daemon.id());
            let gone = wait_until(Duration::from_secs(20), || {
                daemon.try_wait().is_ok_and(|status| status.is_some())
            });
            if !gone {
                self.dir.disable_cleanup(true);
            }
        }
        unmount_below(self.dir.path());
    }
}

/// One that nobody listens on now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback is there");
    listener.local_addr().expect("it is bound").port()
}

/// Wakes the engine up when it goes.
#[derive(Debug)]
pub struct Frozen(u32);

impl Drop for Frozen {
    fn drop(&mut self) {
        signal("-CONT", self.0);
    }
}

fn is_stopped(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut states = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    states.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
}

fn signal(name: &str, pid: u32) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "kill {name} {pid}");
}

/// An engine that was killed once may leave mounts in its own directory.
fn unmount_below(dir: &Path) {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut points: Vec<&str> = text.lines().filter_map(|line| line.split(' ').nth(4)).collect();
    points.retain(|point| Path::new(point).starts_with(dir));
    for point in points.into_iter().rev() {
        let status = Command::new("umount").args(["-l", point]).status();
        assert!(status.is_ok_and(|status| status.success()), "umount {point}");
    }
}
