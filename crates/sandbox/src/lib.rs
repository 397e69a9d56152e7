//! The sandbox as a library: everything that touches the disk, and the backends.
//!
//! - [`request`]: settings and a command become a `SandboxSpec` and a `Policy`, with host paths looked up.
//! - [`run`]: the path of one run, from plan to record.
//! - [`backend`]: what carries a plan out.
//! - [`engine`]: Docker's or Podman's, asked over its socket.
//! - [`first`]: the first process of a container.
//! - [`image`]: brings the image of a run in.
//! - [`launcher`]: makes native sandboxes for processes that have threads, and keeps some ready.
//! - [`changes`]: what runs changed.
//! - [`session`]: a sandbox that takes many commands, and how it is reached.
//! - [`search`]: a loop that has candidates written, tries each in a sandbox and keeps the best.
//! - [`runs`]: the run store, one directory a run.
//! - [`events`]: the audit log, a hash chain shared by all processes.
//! - [`reconcile`]: cleans up after owners that died.
//! - [`prune`]: removes runs that nobody needs any more.
//! - [`doctor`]: what this host can enforce.
//! - [`attack`]: carries out what a hostile program would try, and says what came of it.
//! - [`terminal`]: the user's terminal while a program has it.
//! - [`state`]: where all of this lives on disk.
//!
//! Deliberately absent: printing, reading the environment, and configuration files. Those are the
//! caller's; errors carry a path and say what was being done.

pub mod attack;
pub mod backend;
pub mod changes;
pub mod check;
pub mod doctor;
pub mod engine;
pub mod events;
pub mod first;
pub mod host;
pub mod image;
pub mod launcher;
pub mod prune;
pub mod reconcile;
pub mod request;
pub mod result;
pub mod run;
pub mod runs;
pub mod search;
pub mod session;
pub mod shell;
pub mod state;
pub mod terminal;

mod ballast;
mod cause;
mod clock;
mod spare;
mod tar;
mod tree;
mod waste;
