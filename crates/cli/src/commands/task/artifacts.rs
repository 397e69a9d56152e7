//! `cofferdam task artifacts`: the files that a task left, listed or fetched.

use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::Args;
use cofferdam_core::changes::ContentHash;
use cofferdam_core::control::artifact::Artifact;
use cofferdam_core::control::id::TaskId;
use cofferdam_core::inert::Inert;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::remote::{Remote, RemoteArgs};
use crate::table::Table;

/// List the files that a task left, or fetch one.
///
/// A task leaves what it was asked to: `task create --artifact PATH` and `--result`. What it was to leave and did not is in its
/// timeline, as artifact.missing. On a terminal, control characters are shown and not obeyed; into a pipe or a file the
/// bytes go as they are.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam task artifacts 01k3…
  cofferdam task artifacts 01k3… --get target/junit.xml -o junit.xml
  cofferdam task artifacts 01k3… --get result.json | jq .score
  cofferdam task artifacts 01k3… --json")]
pub(super) struct ArtifactsArgs {
    /// The task's id.
    task: TaskId,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Of this attempt [default: all in the list, the latest that has it for --get].
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Fetch the one of this name.
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    get: Option<String>,
    /// Write it to this file, which must not exist yet [default: standard output].
    #[arg(short, long, value_name = "FILE", requires = "get")]
    output: Option<PathBuf>,
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    args: &ArtifactsArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let mut page = remote.ask(remote.client().task_artifacts(args.task))?;
    if let Some(attempt) = args.attempt {
        page.items.retain(|artifact| artifact.attempt == attempt);
    }
    match &args.get {
        Some(name) => {
            // Sorted by attempt: the last is the latest.
            let found = page.items.iter().rfind(|artifact| artifact.name == *name);
            let found = found.ok_or_else(|| none(args.task, name))?;
            fetch(args, found, &remote, context, out)?;
        }
        None if args.json => json::print(out, &page)?,
        None => {
            let mut table = Table::new(&["ATTEMPT", "NAME", "BYTES", "BLAKE3"]);
            for Artifact { attempt, name, size, hash, .. } in page.items {
                table.row([attempt.to_string(), name, size.to_string(), hash]);
            }
            table.print(out)?;
        }
    }
    Ok(Exit::Fine)
}

fn none(task: TaskId, name: &str) -> Failure {
    Failure::new(Exit::Failed, anyhow!("the task left no {}", Inert::line(name)))
        .hint(format!("`cofferdam task artifacts {task}` lists what it left"))
}

/// The bytes, compared with the hash that the server has for them.
fn fetch(
    args: &ArtifactsArgs,
    artifact: &Artifact,
    remote: &Remote,
    context: &Context,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let bytes = remote.ask(remote.client().artifact(artifact.id))?;
    let hash = ContentHash::of(&bytes).to_string();
    if hash != artifact.hash {
        let message = format!("what came has the hash {hash}, and not {}", artifact.hash);
        return Err(Failure::new(Exit::Failed, anyhow!(message)).hint("fetch it once more"));
    }
    match &args.output {
        Some(path) => {
            let path = context.resolve(path);
            let cannot = || format!("cannot write {}", Inert::path(&path));
            let mut file = std::fs::File::create_new(&path).with_context(cannot)?;
            file.write_all(&bytes).with_context(cannot)?;
        }
        None if io::stdout().is_terminal() => {
            out.write_all(Inert::block(&bytes).to_string().as_bytes())?;
        }
        None => out.write_all(&bytes)?,
    }
    Ok(())
}
