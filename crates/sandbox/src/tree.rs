//! Directory trees, by descriptor: as deep as a program cares to make them, with paths longer than any
//! call takes, and without following links.

mod names;
mod removal;

pub(crate) use names::Names;
pub(crate) use removal::{empty_unless, remove_tree, remove_tree_at, remove_tree_unless};
