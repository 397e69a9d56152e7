//! What others reach Cofferdam by: the MCP server, and the control plane.
//!
//! - [`client`]: the typed client of the control plane, for the command line and for runners.
//! - [`line`]: a connection to a container engine behind TLS.
//! - [`mcp`]: tools for an agent, each connection with a sandbox of its own.
//! - [`plane`]: the control plane as a service: projects, tasks, runners, approvals, events.
//! - [`store`]: where it keeps them.
//! - [`http`]: the plane over HTTP. [`serve`] is the way from start to end, [`log`] what is said on it.
//! - [`runner`]: takes tasks from a server and runs them on this host.
//! - [`ui`]: the dashboard, a page for people.
//!
//! The only crate with an async runtime and a web framework. What blocks, as a session's socket does, is done on
//! threads that may block; no process is forked from here but by starting a program.

pub mod client;
pub mod http;
pub mod line;
pub mod log;
pub mod mcp;
mod own;
pub mod pem;
pub mod plane;
pub mod runner;
pub mod serve;
pub mod store;
pub mod ui;
