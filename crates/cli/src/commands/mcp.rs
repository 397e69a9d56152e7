//! `cofferdam mcp`: the tools of an agent, in a sandbox.

use clap::Args;
use cofferdam_server::mcp::{Setting, serve_stdio};

use super::run::SandboxArgs;
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::failure::Failure;

/// Serve an agent over the Model Context Protocol, on standard input and output.
///
/// Each connection has a session of its own on the native backend, which ends with it. The options describe the
/// sandbox, as with `session start`. Nothing reaches the workspace: what the agent changed is reviewed and applied with
/// `cofferdam diff` and `cofferdam apply`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam mcp
  cofferdam mcp --workspace ~/project --timeout 30m
  claude mcp add cofferdam -- cofferdam mcp")]
pub(crate) struct McpArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
}

pub(crate) fn run(context: &Context) -> Result<Exit, Failure> {
    let setting = Setting {
        program: std::env::current_exe()?,
        // The same words go to `session start`, which is what understands them.
        options: context::words().into_iter().skip(1).collect(),
        state: context.state_dir.clone(),
    };
    serve_stdio(&setting)?;
    Ok(Exit::Fine)
}
