//! Messages with descriptors between two processes, over a pair of connected sockets.
//!
//! A frame is a length and that many bytes; descriptors travel with its beginning. Who holds the far end
//! is known from the pair alone: nothing has a name that another could connect to.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use crate::sys::SysError;

/// No message is larger.
pub const LARGEST: usize = 4 << 20;
/// Descriptors in one message, at most.
const DESCRIPTORS: usize = 4;

/// One end. Closed when dropped, which the far end sees as the end of messages.
#[derive(Debug)]
pub struct Channel(OwnedFd);

/// A message as it arrived.
#[derive(Debug)]
pub struct Message {
    pub bytes: Vec<u8>,
    pub descriptors: Vec<OwnedFd>,
}

impl Channel {
    /// Two ends of one channel. No program that is executed inherits either.
    pub fn pair() -> Result<(Self, Self), SysError> {
        let (one, other) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .map_err(|e| SysError::new("socketpair", e))?;
        Ok((Self(one), Self(other)))
    }

    pub fn send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), SysError> {
        send(self.0.as_fd(), bytes, descriptors).map_err(|e| SysError::new("sendmsg", e))
    }

    /// The next message, or `None` where the far end is closed.
    pub fn receive(&self) -> Result<Option<Message>, SysError> {
        receive(self.0.as_fd()).map_err(|e| SysError::new("recvmsg", e))
    }

    /// Whether there is something to receive, an end included, within this time.
    pub fn is_ready(&self, within: Option<Duration>) -> Result<bool, SysError> {
        let timeout = within.and_then(|within| Timespec::try_from(within).ok());
        loop {
            let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(count) => return Ok(count > 0),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(SysError::new("poll", errno)),
            }
        }
    }
}

impl From<OwnedFd> for Channel {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl From<Channel> for OwnedFd {
    fn from(channel: Channel) -> Self {
        channel.0
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub(crate) fn send(
    to: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= LARGEST);
    let length = length.ok_or(Errno::MSGSIZE)?.to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::TOOBIG.into());
    }
    // The descriptors go with the first bytes, whatever follows is plain.
    let mut sent = 0;
    let whole = length.len() + bytes.len();
    while sent < whole {
        let head = &length[sent.min(length.len())..];
        let body = &bytes[sent.saturating_sub(length.len())..];
        let parts = [IoSlice::new(head), IoSlice::new(body)];
        match sendmsg(to, &parts, &mut control, SendFlags::NOSIGNAL) {
            Ok(count) => sent += count,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        control.clear();
    }
    Ok(())
}

pub(crate) fn receive(from: BorrowedFd<'_>) -> io::Result<Option<Message>> {
    let mut descriptors = Vec::new();
    let mut length = [0; 4];
    let mut got = 0;
    while got < length.len() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut length[got..])];
        match recvmsg(from, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(message) if message.bytes == 0 && got == 0 => return Ok(None),
            Ok(message) if message.bytes == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(message) => got += message.bytes,
            Err(Errno::INTR) => continue,
            Err(Errno::CONNRESET) if got == 0 => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = part {
                descriptors.extend(fds);
            }
        }
    }
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
    if length > LARGEST {
        return Err(Errno::MSGSIZE.into());
    }
    let mut bytes = vec![0; length];
    let mut got = 0;
    while got < length {
        match rustix::io::read(from, &mut bytes[got..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => got += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(Some(Message { bytes, descriptors }))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;

    use super::*;

    #[test]
    fn bytes_and_descriptors_arrive_and_an_end_is_no_message() {
        let (one, other) = Channel::pair().unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let large = vec![7; 300_000];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                one.send(b"with", &[writer.as_fd()]).unwrap();
                one.send(&large, &[]).unwrap();
                one.send(b"", &[]).unwrap();
            });
            let first = other.receive().unwrap().unwrap();
            assert_eq!((first.bytes.as_slice(), first.descriptors.len()), (&b"with"[..], 1));
            rustix::io::write(&first.descriptors[0], b"through").unwrap();
            let second = other.receive().unwrap().unwrap();
            assert!(second.bytes == large && second.descriptors.is_empty());
            assert!(other.receive().unwrap().unwrap().bytes.is_empty());
        });
        drop((one, writer));
        assert!(other.receive().unwrap().is_none());
        let mut text = String::new();
        File::from(reader).read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }

    #[test]
    fn what_is_too_large_is_neither_sent_nor_believed() {
        let (one, other) = Channel::pair().unwrap();
        assert!(one.send(&vec![0; LARGEST + 1], &[]).is_err());
        assert!(!other.is_ready(Some(Duration::ZERO)).unwrap());
        rustix::io::write(&one, &u32::MAX.to_le_bytes()).unwrap();
        assert!(other.receive().is_err());
        drop(other);
        assert!(one.send(b"x", &[]).is_err());
    }
}
