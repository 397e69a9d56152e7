//! Sandboxes kept ready, by profile.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::str::FromStr;

use cofferdam_core::plan::Profile;
use cofferdam_native::confined::Prepared;
use cofferdam_native::witness::Witness;

use super::place::Place;

/// How many sandboxes are kept ready for one profile. None means that each is made when asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth(usize);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no depth: use a number from 0 to {most}", most = Depth::MOST)]
pub struct NotADepth(String);

impl Depth {
    /// Each takes some memory, a few mounts and a process.
    const MOST: usize = 64;

    pub(super) fn get(self) -> usize {
        self.0
    }
}

impl Default for Depth {
    fn default() -> Self {
        Self(4)
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Depth {
    type Err = NotADepth;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let depth = text.parse().ok().filter(|depth| *depth <= Self::MOST);
        depth.map(Self).ok_or_else(|| NotADepth(text.to_owned()))
    }
}

/// A sandbox that stands, in its place, and what the host looked like when it was made.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) prepared: Prepared,
    /// What was read back of it, as it is told.
    pub(super) notes: Vec<u8>,
    pub(super) place: Place,
    pub(super) witness: Witness,
}

impl Ready {
    /// Ends it and says what would not go.
    pub(super) fn discard(self) -> Vec<String> {
        let mut left = self.prepared.discard();
        // Its place names its groups: it stays while they do.
        if left.is_empty() {
            left.extend(self.place.remove());
        }
        left
    }
}

/// A profile, and the bytes that it was asked for by.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) bytes: Vec<u8>,
    pub(super) profile: Profile,
}

/// Those of one profile, oldest first.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) asked: Rc<Asked>,
    pub(super) ready: VecDeque<Ready>,
    /// Cleared where one could not be made: then none is tried until the profile is asked for again.
    pub(super) is_filled: bool,
}

impl Shelf {
    pub(super) fn new(asked: Rc<Asked>) -> Self {
        Self { asked, ready: VecDeque::new(), is_filled: true }
    }

    /// The first that is as good as a new one, its traces moved to `dir`. Those before it go to `trash`.
    pub(super) fn take(
        &mut self,
        now: &Witness,
        dir: &Path,
        trash: &mut Vec<Ready>,
    ) -> Option<Ready> {
        let plan = self.asked.profile.plan();
        while let Some(ready) = self.ready.pop_front() {
            let (seen, is_alive) = ((&ready.witness, now), ready.prepared.is_alive());
            if ready.place.give_if_good(seen, is_alive, dir, plan) {
                return Some(ready);
            }
            trash.push(ready);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depth_is_a_small_number() {
        assert_eq!("0".parse(), Ok(Depth(0)));
        assert_eq!("64".parse(), Ok(Depth(64)));
        for bad in ["", "-1", "65", "four"] {
            assert!(bad.parse::<Depth>().is_err(), "{bad}");
        }
        assert_eq!(Depth::default().to_string().parse(), Ok(Depth::default()));
    }
}
