//! `cofferdam mcp`: the tools of an agent, in a sandbox.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use cofferdam_core::config::Entries;
use cofferdam_core::quantity::Span;
use cofferdam_server::mcp::{ApplyTool, Setting, serve_http, serve_stdio};

use super::run::SandboxArgs;
use super::session::silence;
use crate::asking::Wanted;
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::settings;

/// Serve an agent over the Model Context Protocol, on standard input and output.
///
/// Each connection has a session of its own, which ends with it. The options describe the
/// sandbox, as with `session start`. Nothing reaches the workspace: what the agent changed is reviewed and applied with
/// `cofferdam diff` and `cofferdam apply`. Where the host file says `mcp: {apply: true}`, the agent can apply what
/// `changes.auto` says needs no look.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam mcp
  cofferdam mcp --workspace ~/project --timeout 30m
  claude mcp add cofferdam -- cofferdam mcp")]
pub(crate) struct McpArgs {
    /// Listen on an address of the loopback instead, as in 127.0.0.1:7412; prints the URL and a token as JSON. Each
    /// client has a session of its own.
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Over HTTP: forget a client that has asked for nothing for so long, and end its session [default: 30 minutes
    /// more than a command may take].
    #[arg(long, value_name = "SPAN", requires = "http", value_parser = silence)]
    idle_stop: Option<Span>,
    #[command(flatten)]
    sandbox: SandboxArgs,
}

pub(crate) fn run(args: &McpArgs, context: &Context) -> Result<Exit, Failure> {
    let wanted = Wanted::session(&args.sandbox, context);
    let resolved = settings::load(context, &wanted.workspace, Entries::default())
        .map_err(|error| error.failure(Exit::Failed))?;
    let settings = resolved.settings();
    let setting = Setting {
        apply: if settings.mcp.apply { ApplyTool::Offered } else { ApplyTool::Absent },
        program: std::env::current_exe()?,
        // The same words go to `session start`, which is what understands them.
        options: sandbox_options(context::words().into_iter().skip(1)),
        state: context.state_dir.clone(),
    };
    match args.http {
        None => serve_stdio(&setting)?,
        Some(address) => {
            // A sandbox that would be refused is no server, and not one that fails at each call.
            let prepared = wanted.decide(context).map_err(|turned| turned.failure)?;
            let longest = prepared.plan.limits.timeout.duration();
            let idle = args.idle_stop.map_or(longest + SILENCE, |span| span.duration());
            serve_http(&setting, address, idle, |listening| {
                let mut out = io::stdout().lock();
                json::print_line(&mut out, listening)?;
                out.flush()
            })?;
        }
    }
    Ok(Exit::Fine)
}

/// How long a client may be silent beyond the time that a command may take.
const SILENCE: Duration = Duration::from_secs(30 * 60);

const OWN: [&str; 2] = ["--http", "--idle-stop"];

/// All but those of the server's own, each with its value.
fn sandbox_options(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words;
    let mut options = Vec::new();
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        if OWN.contains(&text) {
            words.next();
        } else if !text.split_once('=').is_some_and(|(flag, _)| OWN.contains(&flag)) {
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
        let words =
            ["--http", "127.0.0.1:1", "--mode", "stage", "--idle-stop=1m", "--idle-stop", "2m"];
        let left = sandbox_options(words.into_iter().map(OsString::from));
        assert_eq!(left, ["--mode", "stage"]);
    }
}
