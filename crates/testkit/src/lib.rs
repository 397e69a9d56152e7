//! For tests only: a hermetic place to run Cofferdam in, which fails the test if anything is left.
//!
//! - [`TestEnv`]: own home, state, configuration and workspace; runs the binary, reads what it wrote.
//! - [`Finished`]: what one command did, with assertions that show all of it when they fail.
//! - [`Manifest`]: what a run changed.
//! - [`TreeHash`]: a directory tree as one value, to show that nothing in it changed.
//! - [`Authority`]: certificates that a test trusts, or does not.
//! - [`Browser`]: a real browser, to look at pages with.
//! - [`claim`]: claims about sandboxes, tried as root and as an ordinary user, on each backend.
//! - [`wait_until`]: patience with an end.
//!
//! Everything here panics instead of returning errors: a test that cannot read its own surroundings
//! has failed. `tests/architecture.rs` beside it holds the rules between the crates.

mod authority;
mod backend;
mod browser;
pub mod claim;
mod disk;
pub mod docker;
mod env;
mod finished;
mod leaks;
mod manifest;
pub mod projects;
mod state;
mod tree;
mod unprivileged;
mod wait;

pub use authority::{Authority, Papers};
pub use backend::Backend;
pub use browser::{Browser, Scheme};
pub use disk::SmallDisk;
pub use env::TestEnv;
pub use finished::Finished;
pub use manifest::Manifest;
pub use tree::TreeHash;
pub use wait::wait_until;
