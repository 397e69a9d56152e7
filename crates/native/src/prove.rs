//! What a confined process tries itself, before it starts anything: each thing is forbidden, and one that succeeds
//! is a [`Violation`].
//!
//! In this very process, without another, by a handful of system calls: the quick ones cost some microseconds. What is
//! tried does no harm where it succeeds; the sandbox is given up then. The first process of a container does the
//! same by the same code.
//!
//! Deliberately absent: any packet. A datagram socket that is connected only has the kernel look for a route.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use cofferdam_core::receipt::{Act, Again, Probe, Violation};
use cofferdam_core::spec::Proof;
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, read};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use crate::attempt::{Answer, CALLS};
use crate::sys::attempt::others;

/// What is forbidden in a sandbox, as far as that differs from one to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ground {
    pub proof: Proof,
    /// Whether there is no network at all.
    pub is_alone: bool,
    /// Whether a filter of ours is on.
    pub is_filtered: bool,
    /// What is hidden, as it is seen inside.
    pub hidden: Vec<PathBuf>,
}

/// Tries all that is to be tried.
pub(crate) fn prove(ground: &Ground) -> Result<Vec<Probe>, Violation> {
    let mut trial = Trial { probes: Vec::with_capacity(8) };
    trial.refused(Act::WriteOutside, write_outside())?;
    if ground.is_alone {
        trial.refused(Act::ReachNetwork, reach_network())?;
    }
    trial.refused(Act::SignalOthers, signal_others())?;
    trial.refused(Act::GainCapability, gain_capability())?;
    trial.refused(Act::RaiseLimit, raise_limit())?;
    let is_quick = ground.proof.is_quick();
    let hidden = if is_quick { ground.hidden.get(..1) } else { Some(&ground.hidden[..]) };
    if let Some([first, rest @ ..]) = hidden {
        let answer = open_blocked(first)
            .and_then(|refused| rest.iter().try_fold(refused, |_, path| open_blocked(path)));
        trial.refused(Act::OpenBlocked, answer)?;
    }
    let sockets = if is_quick { &ENGINES[..1] } else { &ENGINES[..] };
    let answer = sockets.iter().try_fold(Refused::default(), |_, path| reach_engine(path));
    trial.refused(Act::ReachEngine, answer)?;
    if !is_quick && ground.is_filtered {
        trial.refused(Act::MakeCalls, make_calls())?;
    }
    Ok(trial.probes)
}

/// Tries it once more, where that was asked for: nobody of the command is left.
pub(crate) fn again(ground: &Ground) -> Again {
    if ground.proof != Proof::Paranoid {
        return Again::NotAsked;
    }
    match prove(ground) {
        Ok(_) => Again::Refused,
        Err(violation) => Again::Succeeded(violation.act),
    }
}

struct Trial {
    probes: Vec<Probe>,
}

impl Trial {
    fn refused(&mut self, act: Act, answer: Result<Refused, Done>) -> Result<(), Violation> {
        match answer {
            Ok(Refused(answer)) => {
                self.probes.push(Probe { act, answer, again: false });
                Ok(())
            }
            Err(Done(what)) => Err(Violation { act, what }),
        }
    }
}

/// What the kernel said.
#[derive(Debug, Default)]
struct Refused(String);

/// What was done.
#[derive(Debug)]
struct Done(String);

fn told(what: &str, errno: Errno) -> Refused {
    Refused(format!("{what}: {}", std::io::Error::from(errno)))
}

/// A name that nobody else has.
const NAME: &str = "/usr/.cofferdam-probe";

fn write_outside() -> Result<Refused, Done> {
    let path = if weakened(Weakness::ProbeWrite) { "/tmp/.cofferdam-probe" } else { NAME };
    let path = if weakened(Weakness::ProbesAfter) { "/tmp/made/probe" } else { path };
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    match openat(CWD, path, flags, Mode::RUSR) {
        Err(errno) => Ok(told(path, errno)),
        Ok(_) => {
            // It is given up anyway; what it leaves, where that is the host's, is removed.
            unlinkat(CWD, path, AtFlags::empty()).ok();
            Err(Done(path.to_owned()))
        }
    }
}

/// Of those that are set aside for documents, which nobody has. Both kinds: a host may have a route for one of them only.
const ADDRESSES: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
];

fn reach_network() -> Result<Refused, Done> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if weakened(Weakness::ProbeNetwork) { reach(&[loopback]) } else { reach(&ADDRESSES) }
}

/// What was said of the first; none of them may be reached.
fn reach(addresses: &[IpAddr]) -> Result<Refused, Done> {
    let mut said = None;
    for to in addresses {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
        match socket.and_then(|socket| connect(&socket, &SocketAddr::new(*to, 9))) {
            Err(errno) => said = said.or_else(|| Some(told(&to.to_string(), errno))),
            Ok(()) => return Err(Done(format!("there is a route to {to}"))),
        }
    }
    Ok(said.unwrap_or_default())
}

/// Nobody else is in here yet, so that nobody can be found.
fn signal_others() -> Result<Refused, Done> {
    let _other = weakened(Weakness::ProbeProcess)
        .then(|| std::process::Command::new("/bin/sleep").arg("1").spawn());
    match others() {
        Err(Errno::SRCH) => Ok(Refused("kill: nobody else is there".to_owned())),
        Err(_) | Ok(()) => Err(Done("somebody else is there".to_owned())),
    }
}

fn gain_capability() -> Result<Refused, Done> {
    let wanted = CapabilitySet::SYS_ADMIN | CapabilitySet::SETUID;
    let sets = CapabilitySets {
        effective: wanted,
        permitted: wanted,
        inheritable: CapabilitySet::empty(),
    };
    match set_capabilities(None, sets) {
        Err(errno) => Ok(told("capset", errno)),
        Ok(()) => Err(Done("CAP_SYS_ADMIN".to_owned())),
    }
}

/// A program that dumps core has the host write a file.
fn raise_limit() -> Result<Refused, Done> {
    let now = getrlimit(Resource::Core);
    let more = Rlimit { current: now.current, maximum: now.maximum.map(|limit| limit + 1) };
    let answer = if now.maximum.is_none() { Ok(()) } else { setrlimit(Resource::Core, more) };
    match answer {
        Err(errno) => Ok(told("setrlimit", errno)),
        Ok(()) => Err(Done("the limit of core dumps".to_owned())),
    }
}

/// It must not be writable, and hold nothing.
fn open_blocked(path: &Path) -> Result<Refused, Done> {
    let shown = || Done(path.display().to_string());
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let refused = match openat(CWD, path, flags | OFlags::WRONLY, Mode::empty()) {
        Err(errno) => told("open", errno),
        Ok(_) => return Err(shown()),
    };
    // One that cannot even be read holds nothing for anybody.
    match openat(CWD, path, flags | OFlags::RDONLY, Mode::empty()) {
        Ok(found) if gives_something(&found) => Err(shown()),
        _ => Ok(refused),
    }
}

/// A file gives what can be read of it; a directory the names in it, and room for another.
fn gives_something(found: &OwnedFd) -> bool {
    match read(found, &mut [0; 1]) {
        Err(Errno::ISDIR) => has_names(found) || has_room(found),
        answer => answer.is_ok_and(|bytes| bytes > 0),
    }
}

fn has_names(directory: &OwnedFd) -> bool {
    let names = Dir::read_from(directory).into_iter().flatten().flatten();
    names.map(|entry| entry.file_name().to_owned()).any(|name| name != c"." && name != c"..")
}

fn has_room(directory: &OwnedFd) -> bool {
    let (name, flags) = (".cofferdam-probe", OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC);
    let made = openat(directory, name, flags | OFlags::WRONLY, Mode::RUSR).is_ok();
    if made {
        // As above: it is given up anyway.
        unlinkat(directory, name, AtFlags::empty()).ok();
    }
    made
}

const ENGINES: [&str; 4] = [
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
];

fn reach_engine(path: &str) -> Result<Refused, Done> {
    let _listener = weakened(Weakness::ProbeSocket).then(|| UnixListener::bind("/tmp/engine"));
    let path = if weakened(Weakness::ProbeSocket) { "/tmp/engine" } else { path };
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let answer = socket.and_then(|socket| connect(&socket, &SocketAddrUnix::new(path)?));
    match answer {
        Err(errno) => Ok(told(path, errno)),
        Ok(()) => Err(Done(path.to_owned())),
    }
}

fn make_calls() -> Result<Refused, Done> {
    match CALLS.iter().find(|call| call.make() == Answer::Reached) {
        None => Ok(Refused(format!("all {} refused", CALLS.len()))),
        Some(call) => Err(Done(call.name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_directory_that_shows_its_names_or_takes_new_ones_is_not_hidden() {
        let dir = tempfile::tempdir().unwrap();
        let (full, empty) = (dir.path().join("full"), dir.path().join("empty"));
        fs::create_dir_all(full.join("key")).unwrap();
        fs::create_dir(&empty).unwrap();
        assert!(open_blocked(&full).is_err(), "its names can be listed");
        assert!(open_blocked(&empty).is_err(), "something can be made in it");
        assert_eq!(fs::read_dir(&empty).unwrap().count(), 0, "what was tried is gone again");
        assert!(open_blocked(&dir.path().join("missing")).is_ok());
    }

    #[test]
    fn every_address_is_tried_and_none_may_be_reached() {
        let nobody = IpAddr::V4(Ipv4Addr::BROADCAST);
        // Without leave to broadcast, the kernel refuses that one.
        assert!(reach(&[nobody]).is_ok());
        assert!(reach(&[nobody, IpAddr::V4(Ipv4Addr::LOCALHOST)]).is_err());
    }
}
