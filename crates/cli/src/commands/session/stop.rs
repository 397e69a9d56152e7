//! `cofferdam session stop`: ends a session and says what it changed.

use std::time::{Duration, Instant};

use clap::Args;
use cofferdam_core::record::Record;
use cofferdam_sandbox::reconcile::reconcile;
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::session::ClientError;

use super::{Found, failure, find};
use crate::asking::{open_state, say, tell};
use crate::commands::run::summary_lines;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// End a session: its commands are asked to end, then killed, and what they changed is sealed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam session stop last
  cofferdam session stop 4k2m9x7q --quiet")]
pub(crate) struct StopArgs {
    /// The session: its id, the end of it, or `last`.
    #[arg(value_name = "SESSION", default_value = "last")]
    session: String,
    /// Print nothing of our own but warnings and errors.
    #[arg(short, long)]
    quiet: bool,
}

/// How long it may take besides the grace that the commands are given: sealing may be much work.
const PATIENCE: Duration = Duration::from_secs(600);
const TICK: Duration = Duration::from_millis(5);

pub(crate) fn run(args: &StopArgs, context: &Context) -> Result<Exit, Failure> {
    let Found { record, client } = find(&args.session, context)?;
    let state = open_state(context)?;
    let store = Store::new(&state);
    match client.stop() {
        Ok(()) => {}
        Err(ClientError::Gone { .. }) => {
            say("whoever held it has died; what is left of it is cleaned up");
            reconcile(&state, &context.actor)?;
        }
        Err(error) => return Err(failure(error, Exit::Failed)),
    }
    let deadline = Instant::now() + PATIENCE;
    let record: Record = loop {
        let now = store.record(record.run)?;
        if now.cleanup.is_some() {
            break now;
        }
        if Instant::now() >= deadline {
            return Err(Failure::new(Exit::Failed, anyhow::anyhow!("it does not end"))
                .hint("`cofferdam session ls` shows whether it still answers"));
        }
        std::thread::sleep(TICK);
    };
    if !args.quiet {
        match summary_lines(&state, &record) {
            Ok(lines) => lines.iter().for_each(tell),
            Err(error) => say(&format!("warning: what it changed cannot be shown: {error}")),
        }
    }
    Ok(Exit::Fine)
}
