//! `cofferdam runner`: runs the tasks of a server on this host.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use cofferdam_core::quantity::Span;
use cofferdam_server::client::Client;
use cofferdam_server::runner::{JournalError, LinkError, RunnerError, Setup, run as run_runner};

use super::doctor;
use crate::asking::say;
use crate::context::Context;
use crate::desk::HostDesk;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::remote::{CLEAR, TokenArgs};

/// Take tasks from a server and run each in a sandbox of this host.
///
/// What a task may do is judged here once more, by this host's own configuration. It needs a token of scope `runner`. Ctrl-C or SIGTERM
/// drains it: nothing new is taken, what has not started is given back, and what runs is waited for; a second one
/// stops what runs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  COFFERDAM_TOKEN=… cofferdam runner --api http://127.0.0.1:7411
  cofferdam runner --api https://ci.example.org --token-file ~/.runner-token --ca ci.pem
  cofferdam runner --api http://127.0.0.1:7411 --name gpu-1 --capacity 2 --label gpu")]
pub(crate) struct RunnerArgs {
    /// URL of the server.
    #[arg(long, value_name = "URL")]
    api: String,
    #[command(flatten)]
    token: TokenArgs,
    #[command(flatten)]
    limits: RunnerLimits,
    /// A label that tasks can ask for; may be given more than once.
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
}

/// What a runner may take.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunnerLimits {
    /// The name that the server knows it by; the same name is the same runner [default: the host's name].
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// How many tasks it runs at once [default: two for each processor, and at least 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) capacity: Option<u32>,
    /// How long what runs may go on after the first signal.
    #[arg(long, value_name = "SPAN", default_value = "5m")]
    pub(super) grace: Span,
}

impl RunnerLimits {
    /// All that a runner on this host is told.
    pub(crate) fn setup(&self, labels: &[String], context: &Context) -> Result<Setup, Failure> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let capacity = u32::try_from(cores * 2).unwrap_or(4).max(4);
        let mut place = context.clone();
        // Whatever a task asks to have passed in, it is not our own token.
        place.variables.retain(|(name, _)| name != "COFFERDAM_TOKEN");
        Ok(Setup {
            name: self.name.clone().unwrap_or_else(host_name),
            labels: labels.to_vec(),
            capacity: self.capacity.unwrap_or(capacity),
            host: doctor::report(context).ok(),
            grace: Duration::from_millis(self.grace.millis),
            state: context.state_dir.clone(),
            work: context.state_dir.with_file_name("cofferdam-runner"),
            program: std::env::current_exe()?,
            around: context.engines(),
            desk: Arc::new(HostDesk { context: place }),
        })
    }
}

pub(crate) fn run(args: &RunnerArgs, context: &Context) -> Result<Exit, Failure> {
    let address = args.token.address(&args.api, context)?;
    let client = Client::new(&address).map_err(|error| Failure::new(Exit::Usage, error))?;
    let setup = args.limits.setup(&args.label, context)?;
    let words = format!(
        "runner {} takes tasks from {}, {} at a time",
        setup.name,
        client.url(),
        setup.capacity
    );
    run_runner(|| client, setup, || say(&words)).map_err(failed)?;
    Ok(Exit::Fine)
}

pub(crate) fn failed(error: RunnerError) -> Failure {
    let hint = match &error {
        RunnerError::Refused(LinkError::Clear(_)) => Some(CLEAR),
        // What was asked was wrong, whoever asks.
        RunnerError::Refused(LinkError::Refused(problem)) if problem.status == 400 => {
            problem.remedy.as_deref()
        }
        RunnerError::Refused(error) if error.is_untrusted() => {
            Some("name the authority that vouches for the server with --ca or COFFERDAM_CA")
        }
        RunnerError::Refused(_) => {
            Some("use a token of scope `runner`, and the one that this runner was first seen with")
        }
        RunnerError::Journal(JournalError::Taken { .. }) => Some("choose another with --name"),
        RunnerError::Journal(JournalError::Name { .. }) => Some("choose one with --name"),
        _ => None,
    };
    let hint = hint.map(str::to_owned);
    let failure = Failure::new(Exit::Failed, error);
    hint.into_iter().fold(failure, Failure::hint)
}

/// What is not fit for a name is left out of it.
fn host_name() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let fit = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let name: String = text.trim().chars().filter(fit).take(60).collect();
    let name = name.trim_start_matches(['-', '.']).to_owned();
    if name.is_empty() { "runner".to_owned() } else { name }
}
