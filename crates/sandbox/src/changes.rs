//! What runs changed: found, sealed, and looked at.
//!
//! - [`ChangeSet`]: a sealed manifest with its objects; never written to once it is sealed.
//! - [`Objects`]: contents by their hashes.
//! - [`seal`]: makes a set of what a run left behind, by way of `capture`.
//! - [`resume`]: lets a run begin with what an earlier one changed.
//! - [`copy`]: a place to work in where there can be no overlay.
//! - `bases`: what the host's files held before both sides changed them.
//! - [`History`]: commits that were made inside.
//!
//! A sealed set is a directory that holds `manifest` and `objects/`. It can be copied to another host.

pub(crate) mod bases;
mod capture;
pub mod copy;
mod deposit;
mod duplicate;
mod git;
mod history;
mod objects;
pub mod resume;
pub mod seal;
mod set;

pub use capture::CaptureError;
pub use git::GitError;
pub use history::{Commit, History, HistoryError};
pub use objects::Objects;
pub use seal::{SealError, SealRequest, Sealed};
pub use set::{ChangeSet, SetError};
