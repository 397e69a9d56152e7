//! Sandboxes that the launcher has handed out before anybody asked for them.

use std::os::fd::OwnedFd;

use cofferdam_core::plan::Profile;
use cofferdam_native::confined::Received;
use cofferdam_native::witness::Witness;

use super::place::Place;

/// No more are kept. One of a profile is asked for, but threads that ask at once get one each.
const MOST: usize = 4;

/// The newest last.
#[derive(Debug, Default)]
pub(super) struct Hand(Vec<Ahead>);

#[derive(Debug)]
pub(super) struct Ahead {
    pub(super) profile: Box<Profile>,
    /// Where its layers are, until a run gets them.
    pub(super) place: Place,
    /// What the host looked like when it was made.
    pub(super) witness: Witness,
    pub(super) given: Given,
}

/// A sandbox that the launcher has given us, and what was read back of it.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) name: String,
    pub(super) received: Received,
    pub(super) notes: Vec<u8>,
}

impl Given {
    /// `None` where that is not what comes with a sandbox.
    pub(super) fn new(name: String, descriptors: Vec<OwnedFd>, notes: Vec<u8>) -> Option<Self> {
        let [pidfd, control] = <[OwnedFd; 2]>::try_from(descriptors).ok()?;
        Some(Self { name, received: Received { pidfd, control }, notes })
    }
}

impl Hand {
    pub(super) fn has(&self, profile: &Profile) -> bool {
        self.0.iter().any(|ahead| *ahead.profile == *profile)
    }

    pub(super) fn take(&mut self, profile: &Profile) -> Option<Ahead> {
        let at = self.0.iter().position(|ahead| *ahead.profile == *profile)?;
        Some(self.0.remove(at))
    }

    /// Keeps one, and gives back the oldest where there is no room.
    pub(super) fn keep(&mut self, ahead: Ahead) -> Option<Ahead> {
        self.0.push(ahead);
        (self.0.len() > MOST).then(|| self.0.remove(0))
    }
}
