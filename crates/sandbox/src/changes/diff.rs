//! What there is to look at in a change set.
//!
//! - [`Items`]: the entries that somebody wants to see, with moves put together.
//! - [`Contents`]: the bytes of either side, compared with their hashes before anybody sees them.
//!
//! Deliberately absent: how it looks. Both are streams; a set of a million entries needs no more memory
//! than one of ten, but for the candidates of moves, which are bounded.

mod contents;
mod items;

pub use contents::{Contents, DiffError, Found};
pub use items::{Item, Items, Portion, Wanted, find_moves, pending};
