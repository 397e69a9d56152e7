//! A command that was started; and starting one on the bare host, as the leader of its own process group.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::fs::{FileType, Stat, major, minor};
use rustix::process::{Pid, PidfdFlags, pidfd_open, set_child_subreaper};

use crate::apart::Stay;
use crate::cgroup::Tally;
use crate::channel::Channel;
use crate::confined::ConfineError;
use crate::descendants::Bystanders;
use crate::interpreter;
use crate::sys::{self, SysError};
use crate::terminal::Size;

/// What to start: the whole environment, nothing inherited.
#[derive(Debug, Clone)]
pub struct Launch {
    pub argv: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub workdir: PathBuf,
    pub stdin: StdinKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdinKind {
    /// Our own standard input, as it is.
    Inherit,
    /// A pipe that the supervisor fills: for a terminal, which a process group in the background may
    /// not read from.
    Pipe,
    Empty,
    /// With output and errors, a terminal of its own of this size; only in a sandbox.
    Terminal(Size),
}

/// A command that runs. It can be signalled, and waited for, with all that it started.
#[derive(Debug)]
pub struct Process {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: OwnedFd,
    /// A terminal has none apart.
    pub(crate) stderr: Option<OwnedFd>,
    /// The master end of its terminal, where it has one.
    pub(crate) terminal: Option<OwnedFd>,
    pub(crate) reach: Reach,
    /// Held until it is over, or known to last.
    pub(crate) stay: Option<Stay>,
}

/// What `pid` is, and so how the command is reached through it.
#[derive(Debug)]
pub(crate) enum Reach {
    /// The command itself, leader of its process group. Not confined.
    Group { bystanders: Bystanders },
    /// The first process of a sandbox, which passes signals on and reports the command's end.
    Init { reports: OwnedFd, tally: Tally, parent: Parent },
    /// The first process of a sandbox that takes many commands; this one has a channel of its own.
    Member { channel: Channel, since: Since },
}

/// Who came up against a limit in a sandbox since a command began. Whose fault it was is not known.
#[derive(Debug)]
pub(crate) struct Since {
    tally: Arc<Tally>,
    kills: u64,
    refusals: u64,
}

impl Since {
    pub(crate) fn now(tally: Arc<Tally>) -> Self {
        Self { kills: tally.kills(), refusals: tally.refusals(), tally }
    }

    pub(crate) fn any_killed(&self) -> bool {
        self.tally.kills() > self.kills
    }

    pub(crate) fn refusals(&self) -> u64 {
        self.tally.refusals().saturating_sub(self.refusals)
    }
}

/// Whose child a sandbox's first process is, and so who takes it away when it is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    Us,
    Launcher,
}

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{program}: not found")]
    NotFound { program: String },
    #[error("{program}: cannot be executed")]
    NotExecutable { program: String, source: io::Error },
    /// The program is there, and what would execute it is not.
    #[error("{program}: {lack}")]
    NoInterpreter { program: String, lack: String },
    #[error("cannot enter {path}")]
    Workdir { path: PathBuf, source: io::Error },
    /// Its sandbox did not come to be.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    #[error(transparent)]
    Sys(#[from] SysError),
    #[error("cannot start {program}")]
    Spawn { program: String, source: io::Error },
}

impl StartError {
    /// Of a program that could not be spawned in `workdir`, which is there.
    pub(crate) fn of_spawn(source: io::Error, argv0: &OsStr, workdir: &Path) -> Self {
        let program = argv0.display().to_string();
        match source.kind() {
            io::ErrorKind::NotFound => match interpreter::lacking(argv0, workdir) {
                Some(lack) => Self::NoInterpreter { program, lack },
                None => Self::NotFound { program },
            },
            io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory => {
                Self::NotExecutable { program, source }
            }
            _ if source.raw_os_error() == Some(libc::ENOEXEC) => {
                Self::NotExecutable { program, source }
            }
            _ => Self::Spawn { program, source },
        }
    }
}

impl Process {
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Starts the command. From here on, descendants that lose their parent become our children, so
    /// that none of them can slip away.
    pub fn start(launch: &Launch) -> Result<Self, StartError> {
        // Looked at before, because a spawn does not say which of the two was missing.
        std::fs::read_dir(&launch.workdir)
            .map_err(|source| StartError::Workdir { path: launch.workdir.clone(), source })?;
        sys::keep_dead_children()?;
        let bystanders = Bystanders::now();
        set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|e| SysError::new("prctl (subreaper)", e))?;
        let Some((argv0, args)) = launch.argv.split_first() else {
            return Err(StartError::NotFound { program: String::new() });
        };
        let mut command = Command::new(argv0);
        command
            .args(args)
            .env_clear()
            .envs(launch.env.iter().map(|(k, v)| (k, v)))
            .current_dir(&launch.workdir)
            .process_group(0)
            .stdin(match launch.stdin {
                StdinKind::Inherit => Stdio::inherit(),
                StdinKind::Pipe => Stdio::piped(),
                StdinKind::Empty | StdinKind::Terminal(_) => Stdio::null(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        sys::die_with_parent(&mut command);
        let spawned = command.spawn();
        let mut child =
            spawned.map_err(|source| StartError::of_spawn(source, argv0, &launch.workdir))?;
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty())
            .map_err(|e| SysError::on("pidfd_open", child.id(), e))?;
        let stdin = child.stdin.take().map(OwnedFd::from);
        match (child.stdout.take(), child.stderr.take()) {
            (Some(stdout), Some(stderr)) => {
                let (stdout, stderr) = (stdout.into(), OwnedFd::from(stderr));
                let reach = Reach::Group { bystanders };
                let (stderr, terminal, stay) = (Some(stderr), None, None);
                Ok(Self { pid, pidfd, stdin, stdout, stderr, terminal, reach, stay })
            }
            _ => unreachable!("both streams were asked for as pipes"),
        }
    }
}

/// Whether a descriptor's status is that of `/dev/null`, which takes whatever it is given and gives nothing.
pub fn is_null_device(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
        && (major(stat.st_rdev), minor(stat.st_rdev)) == (1, 3)
}
