//! What the host's files held before they were changed on both sides.
//!
//! While a staged run goes on, [`BaseKeeper`] sees which paths appear in the upper directory and saves the
//! host's file of that path, as long as it still is what the run began with. If somebody edits that file
//! on the host before the run ends, there is still a base to merge from: sealing asks [`Saved`].
//!
//! Best effort on purpose, and bounded: what is missed has an unknown `before`, and so is a conflict where
//! it would otherwise have been a merge. A run never waits for it.

mod keeper;
mod saved;

pub(crate) use keeper::BaseKeeper;
pub(crate) use saved::Saved;

/// File in the run's directory: one JSON object a line, a path and what stood there.
pub(super) const BASES: &str = "bases";

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Base {
    path: cofferdam_core::changes::ChangePath,
    node: cofferdam_core::changes::Node,
}
