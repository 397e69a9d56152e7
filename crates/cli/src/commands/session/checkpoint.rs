//! `cofferdam session checkpoint` and `rollback`: a staged tree by name, and back to it.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use cofferdam_sandbox::changes::looks;
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::session::{live, look};

use super::{Found, failure, find};
use crate::asking::open_state;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Remember what a session has changed so far, under a name.
///
/// It prints the id of the look at the session that it makes: `diff`, `apply` and `run --from` take it, too.
/// Commands that run go on; what they are writing may be caught half-way.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam session checkpoint last before-refactoring
  cofferdam diff $(cofferdam session checkpoint last green)")]
pub(crate) struct CheckpointArgs {
    /// The session: its id, the end of it, or `last`.
    #[arg(value_name = "SESSION")]
    session: String,
    /// The name. One that is used again means the newest from then on.
    name: String,
}

/// Go back to a checkpoint.
///
/// The session ends with all its commands, and another begins in its place with the same settings and exactly the
/// tree of the checkpoint. Its id is printed; what the old one changed is sealed and not lost.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam session rollback last before-refactoring")]
pub(crate) struct RollbackArgs {
    /// The session: its id, the end of it, or `last`.
    #[arg(value_name = "SESSION")]
    session: String,
    /// The name of the checkpoint.
    name: String,
}

const PATIENCE: Duration = Duration::from_secs(600);
const TICK: Duration = Duration::from_millis(10);

pub(crate) fn run(
    args: &CheckpointArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let Found { record, .. } = find(&args.session, context)?;
    let state = open_state(context)?;
    let made = look(&state, &context.actor, &record, Some(&args.name))?;
    writeln!(out, "{}", made.run.short())?;
    Ok(Exit::Fine)
}

pub(crate) fn rollback(
    args: &RollbackArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let Found { record, client } = find(&args.session, context)?;
    let named = |name: &Option<String>| name.as_deref() == Some(args.name.as_str());
    let look =
        looks(client.dir())?.into_iter().rfind(|look| named(&look.name)).ok_or_else(|| {
            let message = format!("the session has no checkpoint {:?}", args.name);
            Failure::new(Exit::Failed, anyhow::Error::msg(message))
        })?;
    client.rollback(look.run).map_err(|e| failure(e, Exit::Failed))?;
    let store = Store::new(&open_state(context)?);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let next = live(&store)?.into_iter().find(|live| {
            let from = live.record.plan.as_ref().and_then(|plan| plan.from.as_ref());
            let follows = live.record.run > record.run && live.jobs.is_some();
            follows && from.is_some_and(|from| from.run == look.run)
        });
        if let Some(next) = next {
            writeln!(out, "{}", next.record.run.short())?;
            return Ok(Exit::Fine);
        }
        if Instant::now() >= deadline {
            return Err(Failure::new(
                Exit::Failed,
                anyhow::anyhow!("no session came in its place"),
            )
            .hint("`cofferdam events` says what went wrong"));
        }
        std::thread::sleep(TICK);
    }
}
