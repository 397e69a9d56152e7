//! Processes on Linux: started, watched, stopped, and seen to be gone.
//!
//! - [`caps`]: what can be held on this host; [`apparmor`]: its switch on user namespaces.
//! - [`confined`]: starts a command in a sandbox; its steps, in order, are in `recipe`.
//! - `apart`: a sandbox and its maker on processors of their own while both are at work.
//! - [`stock`]: what a process keeps that makes many; of that, `template` is what they have in common, made once.
//! - [`witness`]: whether a sandbox that was prepared would still be made the same.
//! - [`outside`]: a workspace mounted where a container engine can see it.
//! - [`process`]: starts a command as the leader of its own process group.
//! - [`supervise`]: the loop that carries its output, keeps its time and passes signals on.
//! - [`staging`]: whether a workspace can be staged by an overlay, or only by a copy.
//! - [`signals`]: signals to us as something that can be waited for.
//! - [`reserve`]: what a disk must keep free; [`random`]: what nobody can foresee.
//! - [`descendants`]: finds and ends what a command left behind.
//! - [`channel`]: messages with descriptors between two processes.
//! - [`carrier`]: a program as a connection.
//! - [`connect`]: reaches a socket within a time, and knows who is at the other end.
//! - [`detach`]: leaves whoever started this process behind.
//! - [`terminal`]: the terminal that a program gets, and the one that it is shown on.
//! - [`seccomp`]: which system calls a sandboxed program may make.
//! - [`first`]: the first process of a container; [`line`]: how its owner speaks with it.
//! - [`terminal`]: the caller's terminal, raw for a while.
//! - [`landlock`]: where it may change anything.
//! - [`probe`]: what this kernel lets us do, found out by trying.
//! - [`attempt`]: forbidden acts, tried to see that they are; `prove` has a sandbox try some of them itself.
//! - `sys`: every system call that needs unsafe code.
//!
//! Single-threaded and without an async runtime, on purpose: a process that has threads must not fork.
//! Nothing here prints, reads the environment, or knows of runs and records.

#![cfg(target_os = "linux")]

mod apart;
pub mod apparmor;
pub mod attempt;
mod blocked;
pub mod caps;
pub mod carrier;
mod cgroup;
pub mod channel;
pub mod confined;
mod confirm;
pub mod connect;
pub mod descendants;
pub mod detach;
pub mod first;
mod identity;
mod init;
mod interpreter;
mod kernel_text;
pub mod landlock;
pub mod line;
mod network;
mod order;
pub mod outside;
pub mod probe;
pub mod process;
pub mod prove;
pub mod random;
mod recipe;
mod report;
mod repository;
pub mod reserve;
mod result;
mod root;
pub mod seccomp;
pub mod signals;
pub mod staging;
pub mod stock;
pub mod supervise;
mod supply;
#[expect(unsafe_code, reason = "the one place for system calls that no safe wrapper covers")]
mod sys;
mod template;
pub mod terminal;
pub mod witness;
mod workspace;

pub use blocked::{PLACEHOLDERS, hides};
pub use cgroup::{DELEGATE, SUPERVISOR, claim_place, names_with, sweep};
pub use recipe::Step;
pub use result::RESULT;
pub use sys::SysError;
pub use workspace::{COPY, GIT_COPY, GIT_UPPER, GIT_WORK, UPPER, WORK};
