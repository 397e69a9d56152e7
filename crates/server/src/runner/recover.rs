//! After a `kill -9`: what was held is adopted where its end is known, and given back where nothing began.
//!
//! What was cut off in the middle is cleaned up by the sandbox library and not claimed to be held, so that the
//! server declares it lost.

use std::sync::Arc;

use cofferdam_core::control::report::{Held, Removed, ReportedStatus, StatusReport, Stream};
use cofferdam_core::control::task::AttemptResult;
use cofferdam_core::record::Record;
use cofferdam_sandbox::reconcile::{Reconciled, Whose};
use cofferdam_sandbox::runs::{KeptOutput, Store};
use cofferdam_sandbox::state::StateDir;

use super::artifacts::Hidden;
use super::journal::{Journal, JournalError, Line};
use super::logs::{self, Listener};
use super::{Link, Runner, artifacts, attempt, outcome, telling};

/// What a life before this one had hold of.
#[derive(Debug, Default)]
pub(super) struct Found {
    known: Vec<(Line, Known)>,
    /// Cut off: for the server to declare lost.
    cut: Vec<Line>,
}

#[derive(Debug)]
enum Known {
    /// It had ended, and how is written down.
    Ended(Box<Record>),
    /// Nothing of it had begun.
    Unbegun,
}

impl Found {
    pub(super) fn holding(&self) -> Vec<Held> {
        self.known.iter().map(|(line, _)| line.held).collect()
    }
}

/// To be asked before anything is cleaned up: that closes the records of what was cut off.
pub(super) fn look(journal: &Journal, state: &StateDir) -> Result<Found, JournalError> {
    let store = Store::new(state);
    let mut found = Found::default();
    for line in journal.left()? {
        let Some(run) = line.run else {
            found.known.push((line, Known::Unbegun));
            continue;
        };
        match store.record(run) {
            Ok(record) if record.outcome.is_some() => {
                found.known.push((line, Known::Ended(Box::new(record))));
            }
            _ => found.cut.push(line),
        }
    }
    Ok(found)
}

/// What was removed, in the words that a server is told.
pub(super) fn removed(done: &Reconciled) -> Vec<Removed> {
    let run = match &done.whose {
        Whose::Run(run) => Some(run.to_string()),
        Whose::Launcher(_) | Whose::Trial(_) | Whose::Engine(_) => None,
    };
    let told = |(kind, name): (&str, &str)| {
        let (kind, name) = (kind.to_owned(), name.to_owned());
        Removed { kind, name, run: run.clone() }
    };
    done.orphans().map(told).collect()
}

/// Reports what is known, but for what is no longer ours.
pub(super) async fn report<L: Link>(runner: &Arc<Runner<L>>, found: Found, dropped: &[Held]) {
    for (line, known) in found.known {
        if !dropped.contains(&line.held) {
            let mut events = Vec::new();
            let (status, result) = match known {
                Known::Ended(record) => {
                    if !line.is_heard {
                        let to = Listener::of_line(&runner.link, &line);
                        logs::tell_kept(&to, &kept(runner, &record)).await;
                    }
                    events = artifacts::hand_in(runner, &line, &record, Hidden::Forgotten).await;
                    outcome::of_record(&record)
                }
                Known::Unbegun => (ReportedStatus::Released, AttemptResult::default()),
            };
            let report = StatusReport {
                attempt: line.held.attempt,
                fence: line.fence.clone(),
                seq: line.seq + 1,
                status,
                result,
                events,
            };
            telling::deliver(&runner.link, line.held.task, report).await;
        }
        attempt::forget(runner, line.held);
    }
    found.cut.iter().for_each(|line| attempt::forget(runner, line.held));
}

/// What is left of its output. What cannot be read is missing there, and stays in the run's directory.
fn kept<L: Link>(runner: &Runner<L>, record: &Record) -> Vec<(Stream, Vec<u8>)> {
    let dir = Store::new(&runner.state).dir(record.run);
    let output = &record.output;
    [(Stream::Stdout, "stdout", &output.stdout), (Stream::Stderr, "stderr", &output.stderr)]
        .into_iter()
        .filter_map(|(stream, name, kept)| {
            let KeptOutput { head, tail, .. } = KeptOutput::read(&dir.join(name), kept).ok()?;
            Some((stream, [head, tail].concat()))
        })
        .collect()
}
