//! The MCP server: an agent's tools, carried out in a session of a sandbox.
//!
//! [`serve_stdio`] is one connection with one session, which ends with it: by a tether, so that a server that is
//! killed leaves nothing. [`serve_http`] has a session for each of its clients. Everything happens inside the sandbox, the reading and writing of files too; so a path
//! can lead nowhere that a command could not go, and the check that it stays in the workspace is for clarity, not
//! for safety. Text that a program wrote is shown inert and bounded.
//!
//! Deliberately absent: a yes. Where the host owner offers a tool that applies changes, it applies what needs none.

mod answer;
mod held;
mod http;
mod params;
mod resources;
mod run;
mod scripts;
mod server;
mod tools;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use tokio::sync::Semaphore;

use held::Held;
pub use http::{Listening, serve_http};
use server::{Lives, Server};

/// How sessions are started for connections.
#[derive(Debug, Clone)]
pub struct Setting {
    /// This very program.
    pub program: PathBuf,
    /// Options for `session start`.
    pub options: Vec<OsString>,
    /// Where runs are kept.
    pub state: PathBuf,
    pub apply: ApplyTool,
}

/// Whether there is a tool that brings changes to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyTool {
    Absent,
    Offered,
}

#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("cannot start")]
    Io(#[from] std::io::Error),
    /// It has said why on standard error.
    #[error("no session could be started")]
    NoSession,
    #[error("too many clients have a session here already")]
    TooMany,
    #[error("{address} is not on the loopback: whoever can reach it could run commands")]
    NotLoopback { address: std::net::SocketAddr },
    #[error("the client did not introduce itself: {0}")]
    Initialize(String),
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error(transparent)]
    State(#[from] cofferdam_sandbox::state::StateError),
}

/// Serves one client on standard input and output, until it goes away.
pub fn serve_stdio(setting: &Setting) -> Result<(), McpError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let held = Held::new(&Arc::new(setting.clone()), &Arc::new(Semaphore::new(1)))?;
    held.run()?;
    let served = runtime.block_on(async {
        let server = Server::new(held.clone(), Lives::WithProcess);
        let running = server
            .serve(rmcp::transport::stdio())
            .await
            .map_err(|error| McpError::Initialize(error.to_string()))?;
        running.waiting().await.map_err(|error| McpError::Broken(error.to_string()))?;
        Ok(())
    });
    held.end();
    // A read from standard input that nobody will answer must not keep us.
    runtime.shutdown_background();
    served
}
