//! What a process that makes many sandboxes keeps for those to come: roots, maps of owners, networks.
//!
//! Nothing of it tells one sandbox of another: what is kept is as good as new, or can be written by nobody. One that is
//! made without it comes to the same.

use crate::identity::Maps;
use crate::network::Networks;
use crate::template::Templates;

#[derive(Debug, Default)]
pub struct Stock {
    pub(crate) roots: Templates,
    pub(crate) owners: Maps,
    pub(crate) networks: Networks,
}
