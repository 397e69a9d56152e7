//! `cofferdam task logs`: what a task prints, as far as it came, or as it comes.

use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::log_place::LogPlace;
use cofferdam_core::control::report::{LogPiece, Stream};
use cofferdam_core::inert::Inert;
use cofferdam_server::client::ClientError;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::remote::{Remote, RemoteArgs};

/// Show what a task printed; with -f as it prints it.
///
/// Standard error goes to standard error. On a terminal, control characters are shown and not obeyed; into a pipe or a
/// file the bytes go as they are.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task logs 01k3…
  cofferdam task logs -f 01k3…
  cofferdam task logs 01k3… --attempt 1 --json")]
pub(super) struct LogsArgs {
    /// The task's id.
    task: TaskId,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Of this attempt [default: the latest].
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Go on until the task has ended.
    #[arg(short, long)]
    follow: bool,
    /// Print the bytes as they are, also on a terminal.
    #[arg(long)]
    raw: bool,
    /// Print each piece as a line of JSON.
    #[arg(long)]
    json: bool,
}

/// Where the server has the beginning and the end of a stream, and not what lies between.
const LEFT_OUT: &str = "\nnote: output is left out here: more was written than a server keeps; `task show --json` has the totals";

/// Between two looks at a task whose log broke off.
const LOOK: Duration = Duration::from_millis(300);

pub(super) fn run(
    args: &LogsArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let mut seen = None;
    if args.follow {
        follow(args, &remote, &mut seen, out)?;
    }
    // What came between the last piece and the end.
    rest(args, &remote, &mut seen, out)?;
    Ok(Exit::Fine)
}

fn rest(
    args: &LogsArgs,
    remote: &Remote,
    seen: &mut Option<LogPlace>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    loop {
        let attempt = seen.map(|seen| seen.attempt).or(args.attempt);
        let after = seen.map(|seen| seen.seq);
        let page = remote.ask(remote.client().logs(args.task, attempt, after))?;
        for piece in &page.items {
            show(args, piece, *seen, out)?;
            *seen = Some(piece.place());
        }
        if page.next.is_none() || page.items.is_empty() {
            out.flush()?;
            return Ok(());
        }
    }
}

/// Until the task has ended, through all its attempts. A stream that breaks off is taken up where it was.
fn follow(
    args: &LogsArgs,
    remote: &Remote,
    seen: &mut Option<LogPlace>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    loop {
        // Asked before the stream: one that ends of itself has then said all of a task that is over.
        let task = remote.ask(remote.client().task(args.task))?;
        let is_over =
            task.state.is_terminal() || args.attempt.is_some_and(|wanted| wanted < task.attempt);
        match remote.wait(stream(args, remote, seen, out)) {
            Ok(()) if is_over => return Ok(()),
            Ok(()) => {}
            Err(Broken::Out(error)) => return Err(error),
            Err(Broken::Server(error)) if error.is_passing() => {}
            Err(Broken::Server(error)) => return Err(crate::remote::failed(error)),
        }
        std::thread::sleep(LOOK);
    }
}

enum Broken {
    Server(ClientError),
    Out(Failure),
}

async fn stream(
    args: &LogsArgs,
    remote: &Remote,
    seen: &mut Option<LogPlace>,
    out: &mut dyn Write,
) -> Result<(), Broken> {
    let followed = remote.client().follow_logs(args.task, args.attempt, *seen).await;
    let mut followed = followed.map_err(Broken::Server)?;
    while let Some(piece) = followed.next().await.map_err(Broken::Server)? {
        show(args, &piece, *seen, out).map_err(Broken::Out)?;
        out.flush().map_err(|error| Broken::Out(error.into()))?;
        *seen = Some(piece.place());
    }
    Ok(())
}

/// `before` is where the piece stands that was shown before.
fn show(
    args: &LogsArgs,
    piece: &LogPiece,
    before: Option<LogPlace>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if args.json {
        return Ok(json::print_line(out, piece)?);
    }
    let follows = |before: LogPlace| {
        before.attempt != piece.attempt || before.seq.saturating_add(1) == piece.seq
    };
    if !before.is_none_or(follows) {
        out.flush()?;
        writeln!(io::stderr(), "{LEFT_OUT}")?;
    }
    let bytes = match &piece.data {
        Some(data) => STANDARD.decode(data)?,
        None => piece.text.clone().into_bytes(),
    };
    let is_terminal = match piece.stream {
        Stream::Stdout => io::stdout().is_terminal(),
        Stream::Stderr => io::stderr().is_terminal(),
    };
    let bytes = match is_terminal && !args.raw {
        true => Inert::block(&bytes).to_string().into_bytes(),
        false => bytes,
    };
    match piece.stream {
        Stream::Stdout => out.write_all(&bytes)?,
        Stream::Stderr => io::stderr().write_all(&bytes)?,
    }
    Ok(())
}
