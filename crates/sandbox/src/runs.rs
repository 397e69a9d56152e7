//! The run store: one directory a run, readable by a person, safe under many processes at once.
//!
//! `runs/<id>/`: `plan.json`, `record.json`, `stdout`, `stderr`, and what a backend keeps. A record is
//! replaced whole; only the run's owner writes it, or whoever found the owner dead.

pub(crate) mod evidence;
pub(crate) mod last_words;
mod output;
mod owner;
mod scribe;
mod store;

pub use output::KeptOutput;
pub use store::{FindError, Store};

pub(crate) use output::OutputKeeper;
pub(crate) use owner::{Mark, current_owner, is_running};
pub(crate) use scribe::Scribe;
