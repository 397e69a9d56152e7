//! A workspace, a run's directory, a plan to change, and what came of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use cofferdam_core::backend::Backend;
use cofferdam_core::caps::Guarantee;
use cofferdam_core::mount::{HostKind, HostPath, Identity};
use cofferdam_core::plan::{PLAN_VERSION, Plan, Relaxed, Root, WORKSPACE, WorkspacePlan};
use cofferdam_core::quantity::{ByteSize, Cpus, Span};
use cofferdam_core::spec::{Limits, Mode, Network, Purpose, Seccomp, Staging, Terminal};
use cofferdam_native::confined::{Confinement, Handed, Running, start};
use cofferdam_native::process::{StartError, StdinKind};
use cofferdam_native::signals::Signals;
use cofferdam_native::stock::Stock;
use cofferdam_native::supervise::{Ended, Notice, Passage, Patience, StreamName, Watch, supervise};

pub(crate) struct Sandbox {
    top: tempfile::TempDir,
    pub(crate) plan: Plan,
    pub(crate) run: String,
    pub(crate) wall: Duration,
    pub(crate) grace: Duration,
    /// Of a maker of many.
    pub(crate) stock: Option<Rc<Stock>>,
}

pub(crate) struct Done {
    pub(crate) ended: Ended,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) receipt: Vec<cofferdam_core::receipt::Holding>,
    pub(crate) left: Vec<String>,
    /// Processes of the run that there were when its end was told.
    pub(crate) alive: Vec<u32>,
}

impl Sandbox {
    /// A staged workspace with a file and a directory in it, that will run `script` in a shell.
    pub(crate) fn new(script: &str) -> Self {
        Self::with_command(&["/bin/sh", "-c", script])
    }

    pub(crate) fn with_command(argv: &[&str]) -> Self {
        let top = tempfile::tempdir().expect("a directory");
        let workspace = top.path().join("work, a:b");
        fs::create_dir_all(workspace.join("dir")).expect("a workspace");
        fs::write(workspace.join("file"), "host\n").expect("a file");
        fs::write(workspace.join("dir/inner"), "inner\n").expect("a file");
        fs::create_dir(top.path().join("state")).expect("a run's directory");
        let plan = plan(&workspace, argv);
        let run = format!("test{}", top.path().display()).replace(['/', '.'], "-");
        let (wall, grace) = (Duration::from_secs(20), Duration::from_millis(300));
        Self { top, plan, run, wall, grace, stock: None }
    }

    pub(crate) fn mode(mut self, mode: Mode) -> Self {
        self.plan.workspace.mode = mode;
        self
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.plan.workspace.source.real.0.clone()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.top.path().join("state")
    }

    pub(crate) fn upper(&self) -> PathBuf {
        self.state().join("upper")
    }

    pub(crate) fn top(&self) -> &Path {
        self.top.path()
    }

    pub(crate) fn start(&self, stdin: StdinKind) -> Result<(Running, Handed), StartError> {
        let state = self.state();
        let asked = Confinement { plan: &self.plan, run_id: &self.run, state: &state, stdin };
        start(&asked, self.stock.as_deref())
    }

    pub(crate) fn try_run(&self) -> Result<Done, StartError> {
        let signals = Signals::take().expect("signals");
        let (Running { process, receipt, .. }, handed) = self.start(StdinKind::Empty)?;
        let mut kept = Kept::default();
        let passage = Passage { stdout: None, stderr: None, stdin: None };
        let patience = Patience { wall: self.wall, idle: None, grace: self.grace, disk: None };
        let ended = supervise(process, passage, patience, &signals, &mut kept).expect("supervised");
        let alive = carriers(&format!("COFFERDAM_RUN={}", self.run));
        let left = handed.finish();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&kept.stdout), text(&kept.stderr));
        Ok(Done { ended, stdout, stderr, receipt, alive, left })
    }

    /// Runs it, and sees that nothing is left of it.
    pub(crate) fn run(&self) -> Done {
        let done = self.try_run().unwrap_or_else(|e| panic!("{}", chain(&e)));
        assert!(done.left.is_empty(), "{:?}", done.left);
        self.assert_nothing_left();
        done
    }

    pub(crate) fn assert_nothing_left(&self) {
        for controller in ["memory", "pids", "cpu", "unified", ""] {
            let dir = Path::new("/sys/fs/cgroup").join(controller);
            let dir = dir.join(format!("cofferdam.{}", self.run));
            assert!(!dir.exists(), "{}", dir.display());
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
        let top = self.top.path().display().to_string();
        assert!(!mounts.contains(&top), "{mounts}");
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        open_up(&self.state().join("work"));
    }
}

/// Live processes with this variable. A dead one shows no environment.
fn carriers(variable: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|env| env.split(|b| *b == 0).any(|var| var == variable.as_bytes()))
    })
    .collect()
}

/// The kernel leaves its scratch space without any permission; without root it must be given some
/// before it can be removed.
pub(crate) fn open_up(dir: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    if fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir()) {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).expect("chmod");
        for entry in fs::read_dir(dir).expect("a directory").flatten() {
            open_up(&entry.path());
        }
    }
}

pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

pub(crate) fn host_path(path: &Path) -> HostPath {
    let meta = fs::metadata(path).expect("it exists");
    HostPath {
        asked: path.into(),
        real: path.canonicalize().expect("it exists").into(),
        kind: if meta.is_dir() { HostKind::Directory } else { HostKind::File },
        identity: Identity { device: meta.dev(), inode: meta.ino() },
    }
}

fn plan(workspace: &Path, argv: &[&str]) -> Plan {
    // Without root no group can be made on a host that does not give any away.
    let relaxed = if crate::is_root() {
        Vec::new()
    } else {
        [Guarantee::MemoryLimit, Guarantee::CpuLimit, Guarantee::PidsLimit]
            .map(|guarantee| Relaxed { guarantee, reason: "given up by name".into() })
            .into()
    };
    Plan {
        version: PLAN_VERSION,
        backend: Backend::Native,
        purpose: Purpose::Command,
        command: argv.iter().map(|arg| (*arg).into()).collect(),
        workdir: WORKSPACE.into(),
        workspace: WorkspacePlan {
            source: host_path(workspace),
            target: WORKSPACE.into(),
            mode: Mode::Stage,
            staging: Staging::Overlay,
        },
        repository: None,
        from: None,
        result: None,
        root: Root::Host { readonly: true },
        mounts: Vec::new(),
        toolchains: Vec::new(),
        tmpfs: BTreeMap::from([("/tmp".into(), ByteSize::mib(8))]),
        blocked: Vec::new(),
        env: BTreeMap::new(),
        network: Network::None,
        allow_hosts: Vec::new(),
        limits: Limits {
            memory: ByteSize::mib(256),
            cpus: Cpus { millis: 1500 },
            pids: 64,
            timeout: Span::secs(20),
            idle_timeout: None,
            stop_grace: Span::secs(1),
            output: ByteSize::mib(1),
            disk_reserve: ByteSize(0),
        },
        seccomp: Some(Seccomp::Default),
        proof: Default::default(),
        runtime: None,
        terminal: Terminal::Streams,
        commands: Default::default(),
        relaxed,
        overrides: Vec::new(),
    }
}

#[derive(Default)]
struct Kept {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Watch for Kept {
    fn output(&mut self, stream: StreamName, bytes: &[u8]) {
        match stream {
            StreamName::Stdout => self.stdout.extend(bytes),
            StreamName::Stderr => self.stderr.extend(bytes),
        }
    }

    fn notice(&mut self, _: &Notice) {}
}

/// A descriptor that a careless caller left open for children.
pub(crate) fn leaky_descriptor() -> OwnedFd {
    let file = fs::File::open("/etc/hostname").expect("a file");
    let fd = OwnedFd::from(file);
    rustix_clear_cloexec(&fd);
    fd
}

fn rustix_clear_cloexec(fd: &OwnedFd) {
    rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty()).expect("fcntl");
}
