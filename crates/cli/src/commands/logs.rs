//! `cofferdam logs`: what a run printed, as far as it was kept.

use std::io::{IsTerminal as _, Write};

use anyhow::Context as _;
use clap::Args;
use cofferdam_core::inert::Inert;
use cofferdam_core::record::{KeptStream, Record};
use cofferdam_sandbox::runs::{KeptOutput, Store};
use cofferdam_sandbox::state::StateDir;
use serde_json::json as object;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Show what a run printed.
///
/// On a terminal, control characters are shown and not obeyed; into a pipe or a file the bytes go as
/// they are. Where the run printed more than was kept, a line on standard error says so.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam logs
  cofferdam logs 4k2m9x7q --stderr
  cofferdam logs --stdout > out.txt")]
pub(crate) struct LogsArgs {
    /// The run: its id, the end of it, or `last`.
    #[arg(default_value = "last")]
    run: String,
    /// Only standard output.
    #[arg(long, conflicts_with = "stderr")]
    stdout: bool,
    /// Only standard error.
    #[arg(long)]
    stderr: bool,
    /// Print the bytes as they are, also on a terminal.
    #[arg(long)]
    raw: bool,
    /// Print both streams as JSON text, with invalid UTF-8 replaced.
    #[arg(long, conflicts_with = "raw")]
    json: bool,
}

pub(crate) fn run(
    args: &LogsArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let store = Store::new(&StateDir::open(&context.state_dir)?);
    let id = store.find(&args.run, &context.cwd)?;
    let record = store.record(id)?;
    let read = |name: &str, kept: &KeptStream| {
        let path = store.dir(id).join(name);
        match KeptOutput::read(&path, kept) {
            // A run that was refused has printed nothing.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(KeptOutput { head: Vec::new(), dropped: 0, tail: Vec::new() })
            }
            answer => answer.with_context(|| format!("cannot read {}", path.display())),
        }
    };
    let streams = [
        ("stdout", !args.stderr, &record.output.stdout),
        ("stderr", !args.stdout, &record.output.stderr),
    ];
    let mut streams_json = serde_json::Map::new();
    for (name, wanted, kept) in streams {
        if !wanted {
            continue;
        }
        let output = read(name, kept)?;
        if args.json {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            streams_json.insert(name.to_owned(), object!({
                "head": text(&output.head), "dropped_bytes": output.dropped, "tail": text(&output.tail),
                "total_bytes": total(&record, name),
            }));
        } else {
            print(args, name, &output, out)?;
        }
    }
    if args.json {
        json::print(out, &streams_json)?;
    }
    Ok(Exit::Fine)
}

fn total(record: &Record, name: &str) -> u64 {
    if name == "stdout" { record.output.stdout_bytes } else { record.output.stderr_bytes }
}

fn print(
    args: &LogsArgs,
    name: &str,
    output: &KeptOutput,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let inert = !args.raw && std::io::stdout().is_terminal();
    let mut write = |bytes: &[u8]| {
        if inert { write!(out, "{}", Inert::block(bytes)) } else { out.write_all(bytes) }
    };
    write(&output.head)?;
    if output.dropped > 0 {
        let mut notes = std::io::stderr().lock();
        writeln!(notes, "cofferdam: … {} bytes of {name} were not kept …", output.dropped)?;
    }
    write(&output.tail)?;
    Ok(())
}
