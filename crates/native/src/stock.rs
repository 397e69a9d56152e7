//! What a process that makes many sandboxes keeps for those to come: roots, maps of owners, and a network for the next.
//!
//! Nothing of it tells one sandbox of another: what is kept can be written by nobody, or has been nobody's yet. A sandbox
//! that is made without it comes to the same.

use crate::identity::{Maps, effective_uid};
use crate::network::NextNetwork;
use crate::template::Templates;

#[derive(Debug, Default)]
pub struct Stock {
    pub(crate) roots: Templates,
    pub(crate) owners: Maps,
    pub(crate) network: NextNetwork,
}

impl Stock {
    /// Whether there is something to make for the next one. The network of an ordinary user's sandbox is made with it.
    pub fn has_gaps(&self) -> bool {
        effective_uid() == 0 && self.network.is_missing()
    }

    /// Makes what the next one needs, for when there is time. The calling process must have one thread.
    pub fn make_ready(&self) {
        if self.has_gaps() {
            self.network.make_ready();
        }
    }
}
