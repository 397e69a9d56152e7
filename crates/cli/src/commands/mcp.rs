//! `cofferdam mcp`: the tools of an agent, in a sandbox.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::SocketAddr;

use clap::Args;
use cofferdam_server::mcp::{Setting, serve_http, serve_stdio};

use super::run::SandboxArgs;
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Serve an agent over the Model Context Protocol, on standard input and output.
///
/// Each connection has a session of its own, which ends with it. The options describe the
/// sandbox, as with `session start`. Nothing reaches the workspace: what the agent changed is reviewed and applied with
/// `cofferdam diff` and `cofferdam apply`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam mcp
  cofferdam mcp --workspace ~/project --timeout 30m
  claude mcp add cofferdam -- cofferdam mcp")]
pub(crate) struct McpArgs {
    /// Listen on an address of the loopback instead, as in 127.0.0.1:7412; prints the URL and a token as JSON. All
    /// clients then share one session.
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    #[command(flatten)]
    sandbox: SandboxArgs,
}

pub(crate) fn run(args: &McpArgs, context: &Context) -> Result<Exit, Failure> {
    let setting = Setting {
        program: std::env::current_exe()?,
        // The same words go to `session start`, which is what understands them.
        options: sandbox_options(context::words().into_iter().skip(1)),
        state: context.state_dir.clone(),
    };
    match args.http {
        None => serve_stdio(&setting)?,
        Some(address) => serve_http(&setting, address, |listening| {
            let mut out = io::stdout().lock();
            json::print_line(&mut out, listening)?;
            out.flush()
        })?,
    }
    Ok(Exit::Fine)
}

/// All but `--http ADDR`.
fn sandbox_options(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words;
    let mut options = Vec::new();
    while let Some(word) = words.next() {
        if word == "--http" {
            words.next();
        } else if !word.to_str().is_some_and(|word| word.starts_with("--http=")) {
            options.push(word);
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_the_server_is_not_for_the_sandbox() {
        let words = ["--http", "127.0.0.1:1", "--mode", "stage", "--http=127.0.0.1:2"];
        let left = sandbox_options(words.into_iter().map(OsString::from));
        assert_eq!(left, ["--mode", "stage"]);
    }
}
