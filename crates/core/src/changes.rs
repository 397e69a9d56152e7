//! What a run changed, as values.
//!
//! - [`ChangePath`]: a path below the workspace, of any bytes, that cannot lead out of it.
//! - [`Entry`], [`Node`]: one path, what stood there before and what stands there after.
//! - [`Gate`], [`Budgets`]: what settings say about an entry, and about many; [`class`] and [`secret`]: what
//!   has to be said about them. [`ignore`]: what git's rules say.
//! - [`manifest`]: all entries of one run, sorted, one a line, sealed by a hash.
//! - [`text`]: contents as lines: differences, hunks, merges. [`rename`]: what was only moved.
//!
//! Deliberately absent: renames, which are a way of looking at a deletion and a creation, and the
//! contents of files, which lie beside the manifest under their hashes.

mod budget;
pub mod class;
mod entry;
mod gate;
pub mod glob;
pub mod ignore;
pub mod manifest;
mod path;
pub mod rename;
pub mod secret;
pub mod text;
mod wild;

pub use budget::{Breach, Budgets, Totals};
pub use class::{Class, UnknownClass};
pub use entry::{
    Change, Content, ContentHash, Entry, FileNode, Node, Permissions, Special, Stripped,
};
pub use gate::{Allowances, Gate, GateError, Judgement, Verdict};
pub use path::{BadPath, ChangePath};
