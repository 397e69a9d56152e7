//! The line between a container and whoever owns it: one connection, made by the container's first process.
//!
//! The owner listens ([`Line`]) in a directory that the container sees read-only. The first process connects
//! before anything else is started in there, and waits for a word. Whoever connects first is answered, and nobody
//! else: then the name and the listener are gone. Through a [`Caller`] the owner says when to begin, or gives the
//! orders of a session, and hears how the command ended. When the owner is gone, so is the container's command.
//!
//! Deliberately absent: any trust in what is said by whoever connects. It is the one with the number that the engine
//! gives, or it is not spoken with.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cofferdam_core::receipt::{Again, Probe, Violation};
use cofferdam_core::record::Usage;
use cofferdam_core::spec::Proof;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::channel::Channel;
use crate::connect::{listen_in, peer, unix_stream};
use crate::prove::Ground;
use crate::report::{End, Facts, Failed, Report};
use crate::supervise::Status;
use crate::supervise::status_of;
use crate::sys::SysError;

/// The socket's name, in the directory that the container sees.
pub const NAME: &str = "line";

/// What a command that is to begin is told.
const BEGIN: &[u8] = b"begin";

/// How long an owner may take to be reached: its queue is never full.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a container's first process is waited for.
#[derive(Debug)]
pub struct Line {
    listener: UnixListener,
    name: PathBuf,
}

/// The first process, at the other end.
#[derive(Debug)]
pub struct Caller {
    channel: Channel,
    pid: Option<i32>,
}

impl Line {
    /// Anybody who gets as far as the directory may connect: in the container that is one user, whose number
    /// there need not be its number here; on the host it is the owner alone.
    pub fn lay(dir: &Path) -> io::Result<Self> {
        Ok(Self { listener: listen_in(dir, NAME, 0o666)?, name: dir.join(NAME) })
    }

    /// Whoever connected first. After that nobody can.
    pub fn answer(&self) -> io::Result<Option<Caller>> {
        let stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        fs::remove_file(&self.name)?;
        stream.set_nonblocking(false)?;
        let pid = peer(&stream)?;
        Ok(Some(Caller { channel: Channel::from(OwnedFd::from(stream)), pid }))
    }
}

impl AsFd for Line {
    /// Readable when somebody can be answered.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Caller {
    /// Its number on this host, where it can be seen from here.
    pub fn pid(&self) -> Option<u64> {
        self.pid.and_then(|pid| u64::try_from(pid).ok())
    }

    /// Has the first process try what is forbidden in there, and says what it tried or what succeeded.
    pub fn prove(&self, ground: &Ground) -> Result<Result<Vec<Probe>, Violation>, SysError> {
        self.channel.send(&encode(ground), &[])?;
        if !self.channel.is_ready(Some(PATIENCE))? {
            return Err(SysError::on("read", "probes", io::Error::from(io::ErrorKind::TimedOut)));
        }
        let report = self.channel.receive()?.and_then(|message| Report::parse(&message.bytes));
        let violation = match report {
            Some(Report::Ready(facts)) => return Ok(Ok(facts.probes)),
            Some(Report::Failed(failed)) => failed.violation(),
            _ => None,
        };
        let garbled =
            || SysError::on("read", "probes", io::Error::from(io::ErrorKind::InvalidData));
        violation.map(Err).ok_or_else(garbled)
    }

    /// Lets the command begin.
    pub fn begin(&self) -> Result<(), SysError> {
        self.channel.send(BEGIN, &[])
    }

    /// How the command ended and what it used, once the container is over; `None` where the first process was
    /// killed before it could say so.
    pub fn end(&self, wall: Duration) -> Option<(Status, Usage, Again)> {
        if !self.channel.is_ready(Some(Duration::ZERO)).ok()? {
            return None;
        }
        let message = self.channel.receive().ok()??;
        let Some(Report::Ended(end)) = Report::parse(&message.bytes) else { return None };
        Some((status_of(end.status), end.used.over(wall, end.pids_refused), end.again))
    }

    /// The channel, and a handle of the process. It is that very process: it holds its end open, so that its
    /// number was nobody else's.
    pub(crate) fn into_parts(self) -> Result<(Channel, OwnedFd, i32), SysError> {
        let unseen = || {
            let source = io::Error::other("it counts processes in another namespace than we do");
            SysError::on("pidfd_open", "the container's first process", source)
        };
        let pid = self.pid.ok_or_else(unseen)?;
        let process = Pid::from_raw(pid).ok_or_else(unseen)?;
        let pidfd = pidfd_open(process, PidfdFlags::empty())
            .map_err(|errno| SysError::on("pidfd_open", pid, errno))?;
        match self.channel.is_ready(Some(PATIENCE))? {
            true => match self.channel.receive()?.and_then(|m| Report::parse(&m.bytes)) {
                Some(Report::Ready(_)) => Ok((self.channel, pidfd, pid)),
                _ => {
                    Err(SysError::on("read", "report", io::Error::from(io::ErrorKind::InvalidData)))
                }
            },
            false => Err(SysError::on("read", "report", io::Error::from(io::ErrorKind::TimedOut))),
        }
    }
}

/// In the container: the owner, who must be there.
pub(crate) fn reach(dir: &Path) -> Result<Channel, SysError> {
    let path = dir.join(NAME);
    let stream =
        unix_stream(&path, PATIENCE).map_err(|e| SysError::on("connect", path.display(), e))?;
    Ok(Channel::from(OwnedFd::from(stream)))
}

const PROVE: &str = "prove";
const ALONE: &str = "alone";

fn encode(ground: &Ground) -> Vec<u8> {
    let alone = if ground.is_alone { ALONE } else { "" };
    let head = [PROVE, ground.proof.name(), alone].map(str::as_bytes);
    let hidden = ground.hidden.iter().map(|path| path.as_os_str().as_bytes());
    head.into_iter().chain(hidden).collect::<Vec<_>>().join(&0)
}

fn decode(bytes: &[u8]) -> Option<Ground> {
    let mut words = bytes.split(|byte| *byte == 0);
    words.next().filter(|word| *word == PROVE.as_bytes())?;
    let proof = Proof::parse(std::str::from_utf8(words.next()?).ok()?)?;
    let is_alone = words.next()? == ALONE.as_bytes();
    let hidden = words.map(|path| OsStr::from_bytes(path).into()).collect();
    Some(Ground { proof, is_alone, is_filtered: false, hidden })
}

/// In the container: what the owner wants tried; `None` where it is gone.
pub(crate) fn asked(owner: &Channel) -> Result<Option<Ground>, SysError> {
    Ok(owner.receive()?.and_then(|message| decode(&message.bytes)))
}

/// In the container: tells what came of it.
pub(crate) fn answer(
    owner: &Channel,
    probes: &Result<Vec<Probe>, Violation>,
) -> Result<(), SysError> {
    let report = match probes {
        Ok(probes) => Report::Ready(Facts { probes: probes.clone(), ..Facts::default() }),
        Err(violation) => Report::Failed(Failed::violated(violation)),
    };
    owner.send(&report.encode(), &[])
}

/// In the container: waits until the owner lets the command begin; false where it is gone.
pub(crate) fn may_begin(owner: &Channel) -> Result<bool, SysError> {
    Ok(owner.receive()?.is_some_and(|message| message.bytes == BEGIN))
}

/// In the container: says how the command ended. An owner that is gone needs not be told.
pub(crate) fn tell_end(owner: &Channel, end: End) {
    owner.send(&Report::Ended(end).encode(), &[]).ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Used;

    #[test]
    fn one_caller_is_answered_and_then_nobody_can_call() {
        let dir = tempfile::tempdir().unwrap();
        let line = Line::lay(dir.path()).unwrap();
        assert!(line.answer().unwrap().is_none());
        let first = reach(dir.path()).unwrap();
        let second = reach(dir.path()).unwrap();
        let caller = line.answer().unwrap().unwrap();
        assert_eq!(caller.pid(), Some(u64::from(std::process::id())));
        assert!(reach(dir.path()).is_err(), "its name is gone");
        caller.begin().unwrap();
        assert!(may_begin(&first).unwrap());
        drop(line);
        assert!(!may_begin(&second).unwrap_or(false));
        let used = Used { user_micros: 5000, system_micros: 7000, max_rss_bytes: 4096 };
        let end = End { status: 3 << 8, used, pids_refused: 6, again: Again::Refused };
        assert!(caller.end(Duration::ZERO).is_none(), "it has not ended");
        tell_end(&first, end);
        let (status, usage, again) = caller.end(Duration::from_millis(9)).unwrap();
        assert_eq!(again, Again::Refused);
        assert_eq!(status, Status::Exited(3));
        assert_eq!((usage.wall_ms, usage.user_ms, usage.system_ms), (9, 5, 7));
        assert_eq!(usage.pids_refused, 6);
        drop(first);
        assert!(caller.end(Duration::ZERO).is_none());
    }

    #[test]
    fn what_is_to_be_tried_arrives_as_it_was_sent() {
        for hidden in [vec![], vec!["/workspace/.env".into(), "/workspace/a b".into()]] {
            for (proof, is_alone) in [(Proof::Quick, true), (Proof::Paranoid, false)] {
                let ground = Ground { proof, is_alone, is_filtered: false, hidden: hidden.clone() };
                assert_eq!(decode(&encode(&ground)), Some(ground));
            }
        }
        assert_eq!(decode(BEGIN), None);
    }

    #[test]
    fn an_owner_that_is_gone_lets_nothing_begin() {
        let dir = tempfile::tempdir().unwrap();
        assert!(reach(dir.path()).is_err());
        let line = Line::lay(dir.path()).unwrap();
        let first = reach(dir.path()).unwrap();
        drop(line.answer().unwrap().unwrap());
        assert!(!may_begin(&first).unwrap());
    }
}
