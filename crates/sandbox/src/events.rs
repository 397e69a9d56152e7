//! The audit log: `audit.jsonl`, one event a line, a hash chain over all runs of this user.
//!
//! Locking: every append holds an exclusive lock on `audit.head` and is one `write`. Readers take no
//! lock; a last line without its newline is one that is being written.
//! Durability: what was appended survives the death of any process. After a power failure the tail may
//! be lost; [`verify`] then says so.
//! Compatibility: members may be added to an event, never renamed.

mod journal;
mod verify;

pub use journal::Journal;
pub(crate) use journal::as_map;
pub use verify::{Report, VerifyError, verify};
