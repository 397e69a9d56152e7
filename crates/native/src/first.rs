//! The first process of a container: starts the command, passes signals on, takes away what dies, and ends as the
//! command ended.
//!
//! A command that is itself the first process of a namespace is deaf to most signals, and nobody takes away
//! what its children leave. The engine confined it already; on top of the engine's system call filter it puts the
//! native sandbox's own, which lets through less. For a session it takes orders as the first process of a
//! native sandbox does ([`serve`]).

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use cofferdam_core::plan::HOME;
use cofferdam_core::receipt::Probe;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{DumpableBehavior, Pid, Signal, kill_process, set_dumpable_behavior};
use rustix::stdio::stdin;
use rustix::termios::isatty;

use crate::cgroup;
use crate::channel::Channel;
use crate::confined::ConfineError;
use crate::init;
use crate::line;
use crate::process::StartError;
use crate::prove::{self, Ground};
use crate::report::{End, Facts};
use crate::seccomp::{self, Program};
use crate::supervise::{Status, status_of};
use crate::sys::init::end_all_others;
use crate::sys::{self, Reaped, SysError, Used, privilege};

const HEARD: [i32; 12] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGWINCH,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGCHLD,
];

/// Where files stand that a home begins with, in the container, and which those are. Beside them the
/// [`line`] to the owner.
pub const SKELETON: &str = "/run/cofferdam/home";
pub(crate) const FURNISHED: [&str; 2] = [".config/git/config", ".config/git/ignore"];

/// Where a file stands with variables that nobody is told of: each `NAME=VALUE`, ended by a NUL.
pub const VARIABLES: &str = "/run/cofferdam/variables";

/// What a container's first process has to do.
#[derive(Debug)]
pub struct Task<'a> {
    pub argv: &'a [OsString],
    /// Put on top of the engine's.
    pub filter: Option<&'static Program>,
    pub variables: Variables,
    pub owner: Owner,
}

/// Whether whoever owns the container waits to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The command begins when it says so, and ends with it.
    Listens,
    /// Where the container cannot reach this host's sockets: it is watched by the engine alone.
    IsFarAway,
}

/// Whether there are variables besides the ones that the engine was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variables {
    AsTold,
    AndThoseOfTheFile,
}

/// Runs a command to its end. To be called by a process that does nothing else. A filter that cannot be put on
/// ends it before the command is started.
pub fn run(task: &Task<'_>) -> Result<Status, StartError> {
    let Task { argv, filter, variables, owner } = *task;
    let Some((program, args)) = argv.split_first() else {
        return Err(StartError::NotFound { program: String::new() });
    };
    let owner = settle(filter, owner)?;
    let ground = match &owner {
        Some(owner) => try_what_is_forbidden(owner, filter)?.0,
        None => Ground::default(),
    };
    sys::block_signals(&HEARD)?;
    for signal in HEARD {
        sys::stop_ignoring(signal)?;
    }
    let signals = sys::signalfd(&HEARD)?;
    let mut command = Command::new(program);
    command.args(args);
    if variables == Variables::AndThoseOfTheFile {
        let text = fs::read(VARIABLES).map_err(|e| SysError::on("read", VARIABLES, e))?;
        command.envs(listed(&text));
    }
    // Keys that mean a signal are for the command alone: we would pass them on a second time.
    if isatty(stdin()) {
        sys::lead_the_terminal(&mut command);
    }
    // It hears every signal that we hold back.
    sys::die_with_parent(&mut command);
    if let Some(owner) = &owner
        && !line::may_begin(owner)?
    {
        return Err(abandoned().into());
    }
    let spawned = command.spawn();
    let child = spawned.map_err(|source| StartError::of_spawn(source, program, Path::new("")))?;
    let pid = Pid::from_child(&child);
    let mut strays = Used::default();
    loop {
        if let Some(reaped) = take_dead(pid, &mut strays)? {
            if let Some(owner) = &owner {
                // They end with us in any case, a moment later; so what they used is known.
                if std::process::id() == 1 {
                    strays = strays.and(end_all_others()?);
                }
                let used = reaped.used.and(strays);
                let again = prove::again(&ground);
                // The group goes with us: afterwards nobody could ask it.
                let pids_refused = cgroup::refused_in_here();
                line::tell_end(owner, End { pids_refused, again, used, ..End::of(reaped) });
            }
            return Ok(status_of(reaped.status));
        }
        let mut fds = vec![PollFd::new(&signals, PollFlags::IN)];
        fds.extend(owner.iter().map(|owner| PollFd::new(owner, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(SysError::new("poll", errno).into()),
        }
        // It says nothing after the beginning, so that this is its end. Ours is that of all in here.
        if fds.get(1).is_some_and(|owner| !owner.revents().is_empty()) {
            return Err(abandoned().into());
        }
        while let Some(number) = sys::read_signal(signals.as_fd())? {
            if let Some(signal) = Signal::from_named_raw(number).filter(|s| *s != Signal::CHILD) {
                // One that is dead already needs no signal.
                kill_process(pid, signal).ok();
            }
        }
    }
}

/// Takes orders from the container's owner until that is gone. To be called by a process that does nothing else.
pub fn serve(filter: Option<&'static Program>) -> Result<(), SysError> {
    let owner = settle(filter, Owner::Listens)?.ok_or_else(abandoned)?;
    let (ground, probes) = try_what_is_forbidden(&owner, filter).map_err(|error| match error {
        StartError::Sys(error) => error,
        other => SysError::on("try", "what is forbidden", io::Error::other(other.to_string())),
    })?;
    let facts = Facts { probes, ..Facts::default() };
    init::run(facts, &ground, owner.as_fd()).map_err(|e| SysError::on("serve", "a session", e))
}

/// As the first process of a native sandbox does. What succeeded is told to the owner, and ends us.
fn try_what_is_forbidden(
    owner: &Channel,
    filter: Option<&'static Program>,
) -> Result<(Ground, Vec<Probe>), StartError> {
    let asked = line::asked(owner)?.ok_or_else(abandoned)?;
    let ground = Ground { is_filtered: filter.is_some(), ..asked };
    let tried = prove::prove(&ground);
    line::answer(owner, &tried)?;
    match tried {
        Ok(probes) => Ok((ground, probes)),
        Err(violation) => Err(ConfineError::Violated { violation }.into()),
    }
}

/// Makes of this process the first of a container: nobody looks into it, the home is furnished, the owner is
/// reached, and the filter is on.
fn settle(filter: Option<&'static Program>, owner: Owner) -> Result<Option<Channel>, SysError> {
    // Nobody inside looks into us, as nobody looks into the first process of a native sandbox.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| SysError::new("prctl (dumpable)", errno))?;
    // Podman without root leaves the limit as it is, whatever it was asked for.
    privilege::no_core_dumps()?;
    furnish(Path::new(SKELETON), Path::new(HOME))?;
    let owner = match owner {
        Owner::Listens => Some(line::reach(Path::new(SKELETON))?),
        Owner::IsFarAway => None,
    };
    if let Some(filter) = filter {
        seccomp::no_new_privileges()?;
        seccomp::load(filter)?;
    }
    Ok(owner)
}

fn abandoned() -> SysError {
    SysError::on("read", "the container's owner", io::Error::from(io::ErrorKind::ConnectionReset))
}

fn listed(text: &[u8]) -> Vec<(OsString, OsString)> {
    let pair = |entry: &[u8]| {
        let equals = entry.iter().position(|byte| *byte == b'=')?;
        let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        Some((text(&entry[..equals]), text(&entry[equals + 1..])))
    };
    text.split(|byte| *byte == 0).filter_map(pair).collect()
}

/// A memory file system is empty when an engine has mounted it.
fn furnish(skeleton: &Path, home: &Path) -> Result<(), SysError> {
    for name in FURNISHED {
        let (from, to) = (skeleton.join(name), home.join(name));
        let dir = to.parent().unwrap_or(home);
        fs::create_dir_all(dir).map_err(|e| SysError::on("mkdir", dir.display(), e))?;
        fs::copy(&from, &to).map_err(|e| SysError::on("copy", to.display(), e))?;
    }
    Ok(())
}

/// Takes away everything that is dead; how the command ended, if it did. What had lost its parent is among the strays.
fn take_dead(command: Pid, strays: &mut Used) -> Result<Option<Reaped>, SysError> {
    let mut ended = None;
    loop {
        let reaped = match sys::reap(-1) {
            Ok(Some(reaped)) => reaped,
            Ok(None) => return Ok(ended),
            Err(error) if error.source.raw_os_error() == Some(libc::ECHILD) => return Ok(ended),
            Err(error) => return Err(error),
        };
        // A command that lets itself be traced by its parent stops where others would die.
        if libc::WIFSTOPPED(reaped.status) {
            continue;
        }
        if reaped.pid == command.as_raw_nonzero().get() {
            ended = Some(reaped);
        } else {
            *strays = strays.and(reaped.used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_whatever_is_in_them() {
        let found = listed(b"A=1\0B=x=y\nz\0\0C=\0");
        let found: Vec<_> = found.iter().map(|(n, v)| (n.to_str(), v.to_str())).collect();
        let wanted = [("A", "1"), ("B", "x=y\nz"), ("C", "")];
        assert_eq!(found, wanted.map(|(n, v)| (Some(n), Some(v))));
    }

    #[test]
    fn a_home_is_furnished_or_it_is_said_why_not() {
        let dir = tempfile::tempdir().unwrap();
        let (skeleton, home) = (dir.path().join("skel"), dir.path().join("home"));
        assert!(furnish(&skeleton, &home).is_err());
        fs::create_dir_all(skeleton.join(".config/git")).unwrap();
        for name in FURNISHED {
            fs::write(skeleton.join(name), name).unwrap();
        }
        furnish(&skeleton, &home).unwrap();
        assert_eq!(fs::read_to_string(home.join(".config/git/ignore")).unwrap(), FURNISHED[1]);
    }
}
