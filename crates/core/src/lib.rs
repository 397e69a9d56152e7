//! The pure heart of Cofferdam: what is asked for, what is allowed, what will be done, what happened.
//!
//! Read in the order of the path through the program:
//!
//! - [`config`]: settings in layers, each value with its origin, merged so that the strictest wins.
//! - [`spec`]: `SandboxSpec`, what is asked for, whoever asked (flags, file, API).
//! - [`policy`]: what the host owner allows.
//! - [`caps`]: what a backend on this host can enforce.
//! - [`plan()`]: `spec × policy × caps → Plan`, or a [`refusal`] that names rule, field and remedy.
//! - [`outcome`], [`record`], [`receipt`]: what happened, and what was read back.
//! - [`changes`]: what a staged run changed, as values.
//! - [`project`]: what a project is, and the image to develop it in.
//! - [`command`]: command lines as values, and what policy says of them.
//! - [`check`]: what a look at source code found.
//! - [`search`]: a loop that tries candidates and keeps the best, as values and decisions.
//! - [`control`]: the control plane's nouns, states and wire types.
//! - [`attack`]: what a hostile program would try.
//! - [`event`], [`chain`]: the tamper-evident story of it.
//! - [`machine`]: what paths are called by engines in machines of their own.
//! - [`weaken`]: holes that tests open to see them noticed.
//! - [`inert`], [`redact`]: untrusted bytes made harmless, secrets made invisible.
//!
//! Deliberately absent: any access to files, environment, clock, processes or network. Callers bring
//! facts in as values; `clippy.toml` beside this crate keeps it so.

pub mod attack;
pub mod backend;
pub mod caps;
pub mod chain;
pub mod changes;
pub mod check;
pub mod command;
pub mod config;
pub mod control;
pub mod dockerfile;
pub mod env;
pub mod event;
pub mod id;
pub mod image;
pub mod inert;
pub mod machine;
pub mod mount;
pub mod outcome;
pub mod paths;
pub mod plan;
pub mod policy;
pub mod project;
pub mod quantity;
pub mod receipt;
pub mod record;
pub mod redact;
pub mod refusal;
pub mod repository;
pub mod result;
pub mod search;
pub mod spec;
pub mod stamp;
pub mod weaken;

pub use plan::plan;
