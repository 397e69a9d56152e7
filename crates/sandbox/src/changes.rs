//! What runs changed: found, sealed, and looked at.
//!
//! - [`ChangeSet`]: a sealed manifest with its objects; never written to once it is sealed.
//! - [`Objects`]: contents by their hashes.
//!
//! A sealed set is a directory that holds `manifest` and `objects/`. It can be copied to another host.

mod objects;
mod set;

pub use objects::Objects;
pub use set::{ChangeSet, SetError};
