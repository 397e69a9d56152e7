//! A place of its own for one test.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use tempfile::TempDir;

use crate::backend::Backend;
use crate::finished::Finished;
use crate::leaks::{self, Leaks};
use crate::tree::TreeHash;
use crate::unprivileged::{User, others_can_enter};
use crate::wait::wait_until;

/// The system's own programs, and nothing out of the home of whoever runs the tests.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How long a finished run may take to let go of its last pieces. A mount namespace is torn down after
/// the answer is given; more than a moment for that is a leak.
const SETTLING: Duration = Duration::from_secs(2);

/// A temporary directory with a home, a state directory, a configuration directory and a workspace.
/// Dropping it fails the test if a process, a mount, a cgroup or a container of its runs is still there.
#[derive(Debug)]
pub struct TestEnv {
    dir: TempDir,
    top: PathBuf,
    binary: Option<PathBuf>,
    user: User,
    backend: Backend,
    /// Runs once seen in the state directory: a run that was discarded can still have left something.
    seen: Mutex<BTreeSet<String>>,
}

impl TestEnv {
    /// For tests of the libraries; [`TestEnv::with_binary`] is the one for commands.
    #[expect(clippy::new_without_default, reason = "making directories is not a default value")]
    pub fn new() -> Self {
        Self::make(None)
    }

    /// `TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))`
    pub fn with_binary(binary: impl Into<PathBuf>) -> Self {
        Self::make(Some(binary.into()))
    }

    fn make(binary: Option<PathBuf>) -> Self {
        // Said outright, so that the caller's umask makes no difference.
        let open = fs::Permissions::from_mode(0o755);
        let dir = tempfile::Builder::new().prefix("cofferdam-test-").permissions(open).tempdir();
        let dir = dir.expect("a temporary directory can be made");
        // The kernel reports mounts by real path.
        let top = dir.path().canonicalize().expect("the temporary directory has a real path");
        let env = Self {
            dir,
            top,
            binary,
            user: User::Caller,
            backend: Backend::of_the_tests(),
            seen: Mutex::new(BTreeSet::new()),
        };
        for dir in [env.home(), env.xdg("state"), env.config_dir(), env.workspace(), env.bin()] {
            fs::create_dir_all(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        }
        env
    }

    /// The same place, used and owned by somebody without privileges. Without effect where the tests
    /// do not run as root.
    #[must_use]
    pub fn unprivileged(mut self) -> Self {
        self.user = User::unprivileged();
        if self.user == User::Nobody {
            let closed = self.top.ancestors().skip(1).find(|dir| !others_can_enter(dir));
            if let Some(closed) = closed {
                panic!("{}: others cannot enter it; set TMPDIR elsewhere", closed.display());
            }
        }
        self.binary = self.binary.as_ref().map(|binary| self.user.reachable(binary, &self.bin()));
        self.user.own(&self.top);
        self
    }

    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    pub fn top(&self) -> &Path {
        &self.top
    }

    pub fn home(&self) -> PathBuf {
        self.top.join("home")
    }

    pub fn workspace(&self) -> PathBuf {
        self.top.join("workspace")
    }

    pub fn state_dir(&self) -> PathBuf {
        self.xdg("state").join("cofferdam")
    }

    pub fn config_dir(&self) -> PathBuf {
        self.xdg("config").join("cofferdam")
    }

    fn xdg(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    fn bin(&self) -> PathBuf {
        self.top.join("bin")
    }

    /// The host owner's settings.
    #[track_caller]
    pub fn host_config(&self, yaml: &str) {
        self.write(&self.config_dir().join("config.yaml"), yaml.as_bytes());
    }

    /// The settings that come with the project.
    #[track_caller]
    pub fn project_config(&self, yaml: &str) {
        self.file("cofferdam.yaml", yaml);
    }

    /// A file in the workspace, with the directories that lead to it, owned by who runs the binary.
    #[track_caller]
    pub fn file(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace().join(name);
        self.write(&path, content.as_ref());
        path
    }

    /// A symlink in the workspace, owned like a file.
    #[track_caller]
    pub fn symlink(&self, target: impl AsRef<Path>, name: impl AsRef<Path>) -> PathBuf {
        let path = self.workspace().join(name);
        std::os::unix::fs::symlink(target, &path)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        self.user.own(&path);
        path
    }

    #[track_caller]
    fn write(&self, path: &Path, content: &[u8]) {
        let parent = path.parent().expect("a file has a parent");
        let new = path.ancestors().skip(1).take_while(|dir| !dir.exists()).last();
        let new = new.unwrap_or(path).to_owned();
        fs::create_dir_all(parent).unwrap_or_else(|e| panic!("{}: {e}", parent.display()));
        fs::write(path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        self.user.own(&new);
    }

    /// The binary, in the workspace, with nothing of the caller's environment and no standard input.
    #[track_caller]
    pub fn cofferdam(&self) -> Command {
        let binary = self.binary.as_ref().expect("this TestEnv needs with_binary(…)");
        self.program(binary)
    }

    /// Any other program, in the same surroundings and as the same user: for one that starts the binary.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.home())
            .env("XDG_STATE_HOME", self.xdg("state"))
            .env("XDG_CONFIG_HOME", self.xdg("config"))
            // Wherever the host has an engine, a test has one only if it says so.
            .env("DOCKER_HOST", "unix:///nonexistent/docker.sock")
            .env("CONTAINER_HOST", "unix:///nonexistent/podman.sock")
            .current_dir(self.workspace())
            .stdin(Stdio::null());
        // A hole that this test is to notice, see `cargo xtask mutants`.
        if let Some(holes) = std::env::var_os("TEST_WEAKEN") {
            command.env("TEST_WEAKEN", holes);
        }
        if let Some(engine) = self.backend.engine() {
            engine.show_to(&mut command);
        }
        self.user.take_over(&mut command);
        command
    }

    /// Runs the binary to its end.
    #[track_caller]
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Finished {
        let mut command = self.cofferdam();
        command.args(args);
        self.finish(command)
    }

    /// Runs the binary where no sandbox can be made: as a root of a user namespace that lost every capability, as in
    /// a bare container.
    #[track_caller]
    pub fn run_where_nothing_is_usable(&self, args: &[&str]) -> Finished {
        let mut bare = self.program("unshare");
        bare.args(["--user", "--map-root-user", "setpriv", "--inh-caps=-all"]);
        bare.args(["--bounding-set=-all", "--"]);
        bare.arg(self.cofferdam().get_program()).args(args);
        self.finish(bare)
    }

    /// Runs a command made by [`TestEnv::cofferdam`] to its end.
    #[track_caller]
    pub fn finish(&self, mut command: Command) -> Finished {
        let args: Vec<OsString> = command.get_args().map(OsStr::to_owned).collect();
        let output = match command.output() {
            Ok(output) => output,
            Err(e) => panic!("cannot start {}: {e}", command.get_program().display()),
        };
        self.seen_runs();
        Finished::new(args, output)
    }

    pub fn seen_runs(&self) -> BTreeSet<String> {
        let mut seen = match self.seen.lock() {
            Ok(seen) => seen,
            Err(poisoned) => poisoned.into_inner(),
        };
        seen.extend(self.runs());
        seen.clone()
    }

    /// See [`TreeHash`]. A relative path is one in the workspace.
    #[track_caller]
    pub fn tree_hash(&self, path: impl AsRef<Path>) -> TreeHash {
        TreeHash::of(&self.workspace().join(path))
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        let runs = self.seen_runs();
        let mut left = Leaks::default();
        let settled = wait_until(SETTLING, || {
            left = leaks::find(&self.top, &runs);
            left.is_empty()
        });
        if !left.mounts.is_empty() {
            // Removing the tree would reach through the mount into what is mounted there.
            self.dir.disable_cleanup(true);
        }
        if std::thread::panicking() {
            return;
        }
        if !settled {
            panic!("left behind by this test:{}", left.lines());
        }
        if let Some(engine) = self.backend.engine() {
            assert_eq!(engine.left(&runs), Vec::<String>::new(), "left in the engine by this test");
        }
    }
}
