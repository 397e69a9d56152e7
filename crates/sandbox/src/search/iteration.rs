//! One trial: generate, check, run, score. Each step has a sandbox of its own, and begins with what the step
//! before it changed and nothing else.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cofferdam_core::backend::Backend;
use cofferdam_core::changes::glob::Globs;
use cofferdam_core::id::RunId;
use cofferdam_core::outcome::OutcomeClass;
use cofferdam_core::quantity::{ByteSize, Span};
use cofferdam_core::record::Record;
use cofferdam_core::result::ResultState;
use cofferdam_core::search::{ChangeBudget, Measured, Reason};
use cofferdam_native::signals::Signals;

use super::candidate::{Candidate, Rules, inspect};
use super::{Search, SearchError};
use crate::backend::{Starter, Streams};
use crate::changes::resume::origin;
use crate::launcher::Launcher;
use crate::request::Request;
use crate::run::{By, perform_with, prepare};
use crate::runs::Store;
use crate::state::StateError;

/// What all trials of a loop have in common.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) id: RunId,
    pub(super) rules: Rules<'a>,
    pub(super) launcher: Option<&'a Launcher>,
    /// When the time of the whole loop is up.
    pub(super) until: Option<Instant>,
}

/// One trial to be done.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) iteration: u64,
    /// Holds what the generator is told.
    pub(super) input: PathBuf,
    /// The run that the generator begins with.
    pub(super) from: Option<RunId>,
    pub(super) signals: Signals,
}

/// A trial that came to its end.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) measured: Measured,
    pub(super) candidate: Option<Candidate>,
    pub(super) runs: Vec<RunId>,
}

/// A trial that did not, and so says nothing of the candidate.
#[derive(Debug)]
pub(super) enum Cut {
    Canceled,
    TimeIsUp,
    Failed(Box<SearchError>),
}

impl<E: Into<SearchError>> From<E> for Cut {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error.into()))
    }
}

/// The least time that a step is given, however late it is.
const LEAST: Duration = Duration::from_millis(100);

impl Bench<'_> {
    pub(super) fn trial(&self, task: &Task) -> Result<Tried, Cut> {
        let mut trial = Trial { bench: self, task, began: Instant::now(), runs: Vec::new() };
        let mut candidate = None;
        let measured = match trial.measure(&mut candidate) {
            Ok(measured) => measured,
            Err(Ended::Rejected(reason, detail)) => Measured::Rejected { reason, detail },
            Err(Ended::Cut(cut)) => return Err(cut),
        };
        Ok(Tried { measured, candidate, runs: trial.runs })
    }
}

struct Trial<'a> {
    bench: &'a Bench<'a>,
    task: &'a Task,
    began: Instant,
    runs: Vec<RunId>,
}

enum Ended {
    Rejected(Reason, String),
    Cut(Cut),
}

impl<E: Into<Cut>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Cut(error.into())
    }
}

impl Trial<'_> {
    fn measure(&mut self, kept: &mut Option<Candidate>) -> Result<Measured, Ended> {
        let Bench { search, rules, .. } = self.bench;
        let (steps, store) = (&search.steps, Store::new(search.state));
        let unusable =
            |error: &dyn std::error::Error| Ended::Rejected(Reason::Unsealed, error.to_string());

        // Generate: what it leaves in its workspace is the candidate.
        let path = &self.task.input;
        let input =
            File::open(path).map_err(StateError::io("open", path)).map_err(SearchError::from)?;
        let origin = self.task.from.map(|run| (run, Reason::SandboxFailed));
        let generated = self.step(&steps.generate, origin, Some(input.as_fd()))?;
        self.must_end(&generated, 0, Reason::GeneratorFailed)?;

        // Check: nothing of it runs before.
        let candidate = inspect(&store, &generated, rules).map_err(|error| unusable(&error))?;
        let (is_empty, offence) = (candidate.files == 0, candidate.offence.clone());
        *kept = Some(candidate);
        if is_empty {
            return Err(Ended::Rejected(Reason::NoCandidate, "nothing was changed".to_owned()));
        }
        if let Some((reason, detail)) = offence {
            return Err(Ended::Rejected(reason, detail));
        }

        // Run: from the candidate.
        let ran = self.step(&steps.run, Some((generated.run, Reason::Unsealed)), None)?;
        self.must_end(&ran, search.file.expect_exit, Reason::RunFailed)?;
        // What could not be mounted over, because it was not there, must not be there now.
        let budget = ChangeBudget { files: u64::MAX, bytes: ByteSize(u64::MAX) };
        let rules = Rules { protected: rules.protected.clone(), budget, validator: None };
        let after = inspect(&store, &ran, &rules).map_err(|error| unusable(&error))?;
        if let Some((reason, detail)) = after.offence {
            return Err(Ended::Rejected(reason, detail));
        }

        // Score: from what the run left, in a sandbox that the candidate has not been in.
        let counted = match &steps.score {
            None => ran,
            Some(score) => {
                let scored = self.step(score, Some((ran.run, Reason::Unsealed)), None)?;
                self.must_end(&scored, 0, Reason::ScoreFailed)?;
                scored
            }
        };
        let Some(report) = counted.result else {
            return Err(Ended::Rejected(Reason::NoResult, "none was taken in".to_owned()));
        };
        match report.state {
            // Numbers may stand elsewhere; where they do not, they are missing.
            ResultState::Good | ResultState::Missing => Ok(Measured::Ended(report.metrics)),
            state => Err(Ended::Rejected(Reason::NoResult, format!("it is {state}"))),
        }
    }

    /// Carries a step out. `from` is the run it begins with, and what it means where that cannot be.
    fn step(
        &mut self,
        request: &Request,
        from: Option<(RunId, Reason)>,
        stdin: Option<BorrowedFd<'_>>,
    ) -> Result<Record, Ended> {
        let Bench { search, launcher, id, .. } = self.bench;
        let mut request = Search::marked(request, &format!("{id}/{}", self.task.iteration));
        if let Some((run, reason)) = from {
            let workspace = &request.spec.workspace.real;
            let found = origin(&Store::new(search.state), run, workspace);
            request.spec.from = Some(match (found, reason) {
                (Ok(origin), _) => origin,
                (Err(_), Reason::SandboxFailed) => {
                    return Err(SearchError::ChampionGone(run).into());
                }
                (Err(refusal), reason) => return Err(Ended::Rejected(reason, refusal.message)),
            });
        }
        let limit = &mut request.spec.limits.timeout;
        *limit =
            Span { millis: self.time_left().map_or(limit.millis, |left| left.min(limit.millis)) };
        let prepared =
            prepare(&request, search.state.root(), search.around).map_err(SearchError::from)?;
        let starter = match (prepared.plan.backend, launcher) {
            (Backend::Local, _) => return Err(SearchError::BareHost.into()),
            (_, Some(launcher)) => Starter::Launcher(launcher),
            // An engine makes its containers itself.
            (_, None) => Starter::Here,
        };
        let by = By { signals: Some(&self.task.signals), ..By::starter(starter) };
        let streams = Streams { stdin, stdout: None, stderr: None };
        let record = perform_with(by, search.state, search.actor, &prepared, streams)
            .map_err(SearchError::from)?;
        self.runs.push(record.run);
        Ok(record)
    }

    /// What is left of the time for one candidate, and of that for all.
    fn time_left(&self) -> Option<u64> {
        let own = self.bench.search.file.budget.iteration_time;
        let own = own.map(|span| self.began + span.duration());
        let until = [own, self.bench.until].into_iter().flatten().min()?;
        let left = until.saturating_duration_since(Instant::now()).max(LEAST);
        Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
    }

    /// Whether a step ended as it should. A failing sandbox is not a failing candidate.
    fn must_end(&self, record: &Record, expected: i32, reason: Reason) -> Result<(), Ended> {
        let is_canceled =
            record.unsealed.as_ref().is_some_and(|unsealed| unsealed.signal.is_some());
        if is_canceled {
            return Err(Cut::Canceled.into());
        }
        let Some(outcome) = &record.outcome else {
            return Err(Ended::Rejected(Reason::SandboxFailed, "it has no outcome".to_owned()));
        };
        let is_late = || self.bench.until.is_some_and(|until| Instant::now() >= until);
        let detail = match outcome.class {
            OutcomeClass::Exited if outcome.exit_code == Some(expected) => return Ok(()),
            OutcomeClass::Exited => {
                format!("it exited with {}, not {expected}", outcome.exit_code.unwrap_or(-1))
            }
            OutcomeClass::Canceled => return Err(Cut::Canceled.into()),
            OutcomeClass::TimedOut if is_late() => return Err(Cut::TimeIsUp.into()),
            OutcomeClass::TimedOut => "it timed out".to_owned(),
            OutcomeClass::Oom => "it ran out of memory".to_owned(),
            OutcomeClass::Signaled => {
                format!("it was killed by signal {}", outcome.signal.unwrap_or(0))
            }
            OutcomeClass::Refused | OutcomeClass::SandboxFailure => {
                let detail = "its record says why".to_owned();
                return Err(Ended::Rejected(Reason::SandboxFailed, detail));
            }
        };
        Err(Ended::Rejected(reason, detail))
    }
}

/// The patterns of a loop's file. They were checked when it was read.
pub(super) fn protected(patterns: &[String]) -> Result<Globs, SearchError> {
    Ok(Globs::new(patterns).map_err(super::ProtectError::from)?)
}
