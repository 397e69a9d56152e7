//! `cofferdam session ls`: the sessions that go on.

use std::io::Write;

use clap::Args;
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::session::live;
use cofferdam_sandbox::state::StateDir;
use serde_json::{Value, json as object};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::table::Table;

/// List the sessions that go on, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam session ls
  cofferdam session ls --json | jq -r '.[].run'")]
pub(crate) struct LsArgs {
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &LsArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let store = Store::new(&StateDir::open(&context.state_dir)?);
    let sessions = live(&store)?;
    if args.json {
        let items: Vec<Value> = sessions
            .iter()
            .map(|session| {
                let record = &session.record;
                object!({
                    "run": record.run, "workspace": record.workspace, "backend": record.backend,
                    "started_at": record.started_at, "answers": session.jobs.is_some(),
                    "jobs": session.jobs,
                })
            })
            .collect();
        json::print(out, &items)?;
        return Ok(Exit::Fine);
    }
    if sessions.is_empty() {
        writeln!(out, "no session goes on; start one with `cofferdam session start`")?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["SESSION", "STARTED", "RUNNING", "DONE", "WORKSPACE"]);
    for session in &sessions {
        let (running, done) = match &session.jobs {
            Some(jobs) => {
                let running = jobs.iter().filter(|job| job.outcome.is_none()).count();
                (running.to_string(), (jobs.len() - running).to_string())
            }
            None => ("does not answer".to_owned(), String::new()),
        };
        table.row([
            session.record.run.short(),
            session.record.started_at.to_string()[..19].to_owned(),
            running,
            done,
            session.record.workspace.display().to_string(),
        ]);
    }
    table.print(out)?;
    Ok(Exit::Fine)
}
