//! Where the supervisor of one command hears what is wanted of it: from the client that waits for it, and
//! from the session itself.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::time::Duration;

use cofferdam_native::SysError;
use cofferdam_native::channel::Channel;
use cofferdam_native::signals::{Pause, Requests};
use rustix::event::{PollFd, PollFlags};

/// What a command hears when whoever waited for it is gone.
const HANG_UP: i32 = 1;

#[derive(Debug)]
pub(super) struct Petitions<'a> {
    /// Bytes that are signals.
    pub(super) arriving: OwnedFd,
    /// Who waits for the end; messages of four bytes are signals.
    pub(super) client: Option<&'a Channel>,
    pub(super) is_gone: Cell<bool>,
}

impl Petitions<'_> {
    fn heard_from_client(&self) -> Result<Option<i32>, SysError> {
        let Some(client) = self.client.filter(|_| !self.is_gone.get()) else { return Ok(None) };
        if !client.is_ready(Some(Duration::ZERO))? {
            return Ok(None);
        }
        let said = client.receive().ok().flatten().and_then(|message| {
            let number = <[u8; 4]>::try_from(message.bytes.as_slice()).ok()?;
            Some(i32::from_le_bytes(number))
        });
        if said.is_none() {
            self.is_gone.set(true);
        }
        Ok(said.or(Some(HANG_UP)))
    }
}

impl Requests for Petitions<'_> {
    fn interest<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        fds.push(PollFd::new(&self.arriving, PollFlags::IN));
        if let Some(client) = self.client.filter(|_| !self.is_gone.get()) {
            fds.push(PollFd::new(client, PollFlags::IN));
        }
    }

    fn next(&self) -> Result<Option<i32>, SysError> {
        let mut byte = [0];
        match rustix::io::read(&self.arriving, &mut byte) {
            Ok(1) => Ok(Some(i32::from(byte[0]))),
            _ => self.heard_from_client(),
        }
    }

    /// Whoever asked for it says when it is to go on.
    fn pause(&self) -> Result<Pause, SysError> {
        Ok(Pause::Lasts)
    }
}
