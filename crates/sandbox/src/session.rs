//! Sessions: a sandbox that takes many commands, at once too, and ends when it is told to.
//!
//! A session is a run: it has a mark, a directory, a record, events, and what it changed is sealed when it
//! ends. One process holds it ([`hold`]), is the only owner of the sandbox, and listens on a socket in the run's
//! directory; the kernel ends the sandbox with it. Everybody else is a [`Client`]. Each connection carries one
//! question, and a command that is waited for is one question.
//!
//! Deliberately absent: walls between the commands of one session. They share the workspace, the processes and the
//! limits. Who wants two things apart starts two sessions.

mod attached;
mod client;
mod door;
mod exec;
mod hall;
mod hold;
mod job;
mod live;
mod look;
mod petitions;
mod wire;

pub use attached::run_attached;
pub use client::{Client, ClientError, Given, Watched};
pub use hold::{Held, HoldError, Terms, detach, hold, let_go};
pub use job::{Job, kept_output};
pub use live::{Live, is_session, latest, live, newest, reachable, succeed};
pub use look::{LookError, look};
pub use wire::Told;

pub(crate) use door::SOCKET;
