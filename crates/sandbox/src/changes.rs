//! What runs changed: found, sealed, and looked at.
//!
//! - [`ChangeSet`]: a sealed manifest with its objects; never written to once it is sealed.
//! - [`Objects`]: contents by their hashes.
//! - [`History`]: commits that were made inside.
//!
//! A sealed set is a directory that holds `manifest` and `objects/`. It can be copied to another host.

mod git;
mod history;
mod objects;
mod set;

pub use git::GitError;
pub use history::{Commit, History, HistoryError};
pub use objects::Objects;
pub use set::{ChangeSet, SetError};
