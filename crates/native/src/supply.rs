//! What a new process is given while it is already at work.
//!
//! Some of what a sandbox needs takes the kernel long to make and does not depend on the new process: its
//! parent makes it meanwhile, on another processor, and hands it over as descriptors. First the [`Ground`]
//! that the workspace stands on, then the [`Bounds`] that hold what will run. The process waits for each
//! where it needs it; without them it does not go on.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use crate::channel::{self, Channel, Message};
use crate::sys::SysError;

/// The directories of a staged workspace are there.
#[derive(Debug)]
pub(crate) struct Ground<Fd = OwnedFd> {
    /// The user namespace whose map the workspace's mounts are given.
    pub(crate) owners: Option<Fd>,
    /// The workspace itself, where its parent has made it, attached nowhere.
    pub(crate) workspace: Option<Fd>,
}

/// Where a process is to be.
#[derive(Debug)]
pub(crate) struct Bounds {
    /// The network namespace to enter.
    pub(crate) network: OwnedFd,
    /// Files of control groups to write itself into.
    pub(crate) tasks: Vec<OwnedFd>,
}

const GROUND: u8 = b'g';
const BOUNDS: u8 = b'b';

impl Ground<BorrowedFd<'_>> {
    pub(crate) fn send(&self, to: &Channel) -> Result<(), SysError> {
        let Self { owners, workspace } = self;
        let descriptors: Vec<_> = owners.iter().chain(workspace).copied().collect();
        let there = |fd: &Option<_>| u8::from(fd.is_some());
        to.send(&[GROUND, there(owners), there(workspace)], &descriptors)
    }
}

pub(crate) fn send_bounds(
    to: &Channel,
    network: BorrowedFd<'_>,
    tasks: &[OwnedFd],
) -> Result<(), SysError> {
    let tasks = tasks.iter().map(|file| file.as_fd());
    let all: Vec<_> = std::iter::once(network).chain(tasks).collect();
    to.send(&[BOUNDS], &all)
}

impl Ground {
    pub(crate) fn receive(from: BorrowedFd<'_>) -> Result<Self, SysError> {
        let Message { bytes, descriptors } = receive(from)?;
        let &[GROUND, owners @ (0 | 1), workspace @ (0 | 1)] = bytes.as_slice() else {
            return Err(garbled());
        };
        if descriptors.len() != usize::from(owners + workspace) {
            return Err(garbled());
        }
        let mut descriptors = descriptors.into_iter();
        let mut next = |is_there| if is_there == 1 { descriptors.next() } else { None };
        Ok(Self { owners: next(owners), workspace: next(workspace) })
    }
}

impl Bounds {
    pub(crate) fn receive(from: BorrowedFd<'_>) -> Result<Self, SysError> {
        let Message { bytes, descriptors } = receive(from)?;
        let mut descriptors = descriptors.into_iter();
        match (bytes.as_slice(), descriptors.next()) {
            (&[BOUNDS], Some(network)) => Ok(Self { network, tasks: descriptors.collect() }),
            _ => Err(garbled()),
        }
    }
}

fn receive(from: BorrowedFd<'_>) -> Result<Message, SysError> {
    let message = channel::receive(from).map_err(|e| SysError::on("recvmsg", "supply", e))?;
    // Whoever made us could not make the rest, and is gone or knows why.
    message.ok_or_else(|| {
        SysError::on("recvmsg", "supply", io::Error::from(io::ErrorKind::BrokenPipe))
    })
}

fn garbled() -> SysError {
    SysError::on("recvmsg", "supply", rustix::io::Errno::BADMSG)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn null() -> OwnedFd {
        File::open("/dev/null").unwrap().into()
    }

    #[test]
    fn each_arrives_as_itself_and_not_as_the_other() {
        let (parent, child) = Channel::pair().unwrap();
        let (network, tasks) = (null(), [null(), null(), null()]);
        let some = Some(network.as_fd());
        let sent = [(None, None), (some, None), (None, some), (some, some)];
        for (owners, workspace) in sent {
            Ground { owners, workspace }.send(&parent).unwrap();
        }
        send_bounds(&parent, network.as_fd(), &tasks).unwrap();
        send_bounds(&parent, network.as_fd(), &[]).unwrap();
        parent.send(&[BOUNDS], &[]).unwrap();
        for (owners, workspace) in sent {
            let ground = Ground::receive(child.as_fd()).unwrap();
            assert_eq!(ground.owners.is_some(), owners.is_some());
            assert_eq!(ground.workspace.is_some(), workspace.is_some());
        }
        assert_eq!(Bounds::receive(child.as_fd()).unwrap().tasks.len(), 3);
        assert!(Bounds::receive(child.as_fd()).unwrap().tasks.is_empty());
        assert!(Bounds::receive(child.as_fd()).is_err(), "there is no sandbox without a network");
        Ground { owners: None, workspace: None }.send(&parent).unwrap();
        assert!(Bounds::receive(child.as_fd()).is_err());
        // One that it speaks of is missing.
        parent.send(&[GROUND, 1, 1], &[network.as_fd()]).unwrap();
        assert!(Ground::receive(child.as_fd()).is_err());
        drop(parent);
        assert!(Ground::receive(child.as_fd()).is_err());
    }
}
