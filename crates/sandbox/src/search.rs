//! The autonomous loop: has candidates written, tries each in a sandbox of its own, keeps the best.
//!
//! [`Search::run`] is the path: batch by batch, each trial `generate → check → run → score` (in [`iteration`]), decisions in
//! the order of their numbers. What was decided stands in `loops/<id>/` ([`Place`]) and in the audit chain before
//! the next batch begins, so that a loop that is killed goes on with the same iteration and the same input.
//!
//! Deliberately absent: any decision about better or worse, which is `cofferdam_core::search`; and running
//! anything outside of a sandbox.

mod candidate;
mod drive;
mod iteration;
mod place;
mod protect;

use cofferdam_core::backend::Backend;
use cofferdam_core::env::{EnvName, EnvValue};
use cofferdam_core::paths::Arg;
use cofferdam_core::refusal::Refusal;
use cofferdam_core::result::ResultRule;
use cofferdam_core::search::{LoopFile, Stop};

use crate::check::Validator;
use crate::engine::Surroundings;
use crate::launcher::LauncherError;
use crate::request::Request;
use crate::run::{Prepared, RunError, prepare};
use crate::state::{StateDir, StateError};
pub use place::{Asked, Line, Meta, Opened, Place, PlaceError, Summary, list, summary};
pub use protect::ProtectError;

/// The requests of the three steps, as their sandboxes are to be.
#[derive(Debug, Clone)]
pub struct Steps {
    pub generate: Request,
    pub run: Request,
    pub score: Option<Request>,
}

/// A loop that may be run: everything is decided but the candidates.
#[derive(Debug)]
pub struct Search<'a> {
    pub(crate) state: &'a StateDir,
    pub(crate) actor: &'a str,
    pub(crate) around: &'a Surroundings,
    pub(crate) file: &'a LoopFile,
    pub(crate) validator: Option<&'a Validator>,
    steps: Steps,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Stopped(Stop),
    /// Somebody told us to end. It can go on.
    Interrupted {
        signal: i32,
    },
}

/// What happens, for whoever watches.
#[derive(Debug)]
pub enum Progress<'a> {
    /// So many candidates are tried, from this number on.
    Batch {
        first: u64,
        last: u64,
    },
    Decided(&'a Line),
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Protect(#[from] ProtectError),
    #[error("refused by {}: {refusal}", refusal.rule)]
    Refused { refusal: Box<Refusal> },
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Launcher(#[from] LauncherError),
    #[error("cannot take over signals")]
    Signals { source: cofferdam_native::SysError },
    #[error("the input of iteration {iteration} is not what it was before: {}", path.display())]
    OtherInput { iteration: u64, path: std::path::PathBuf },
    #[error("the champion's changes are gone: run {0}")]
    ChampionGone(cofferdam_core::id::RunId),
    #[error(
        "a candidate can only be tried where changes are staged, and the bare host stages nothing"
    )]
    BareHost,
    #[error("a thread of the loop died")]
    Thread,
}

impl From<Refusal> for SearchError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused { refusal: Box::new(refusal) }
    }
}

/// Tells the runs of a loop from others: `LOOP/ITERATION`.
pub const VARIABLE: &str = "COFFERDAM_LOOP";

/// Makes the printed candidate a file, when it is whole: the generator may want to read what was there.
const TO_FILE: &str =
    "\"$@\" > \"$0.candidate\" || exit; cat \"$0.candidate\" > \"$0\" && rm \"$0.candidate\"";

impl<'a> Search<'a> {
    /// Puts together what the file asks for. `steps` have the commands and settings of the file; what is protected, the
    /// result and the candidate's file are added here.
    pub fn new(
        state: &'a StateDir,
        actor: &'a str,
        around: &'a Surroundings,
        file: &'a LoopFile,
        mut steps: Steps,
    ) -> Result<Self, SearchError> {
        if let Some(path) = &file.writes {
            let spec = &mut steps.generate.spec;
            let words = ["/bin/sh", "-c", TO_FILE].map(|word| Arg(word.into()));
            let path = Arg(path.as_path().as_os_str().to_owned());
            let own = std::mem::take(&mut spec.command);
            spec.command = words.into_iter().chain([path]).chain(own).collect();
        }
        let mounts = protect::mounts(&steps.run.spec.workspace.real, &file.protected)?;
        let rule: ResultRule = file.result_rule();
        let counted = steps.score.as_mut().unwrap_or(&mut steps.run);
        counted.spec.result = Some(rule);
        for request in [Some(&mut steps.run), steps.score.as_mut()].into_iter().flatten() {
            request.spec.mounts.extend(mounts.iter().cloned());
        }
        Ok(Self { state, actor, around, file, validator: None, steps })
    }

    /// Has changed files looked at before they run.
    #[must_use]
    pub fn checked_by(mut self, validator: &'a Validator) -> Self {
        self.validator = Some(validator);
        self
    }

    /// What would be run first, in the order of the steps: refused where the host does not allow or cannot do it.
    pub fn plans(&self) -> Result<Vec<Prepared>, SearchError> {
        let Steps { generate, run, score } = &self.steps;
        let requests = [Some(generate), Some(run), score.as_ref()].into_iter().flatten();
        let plans: Result<Vec<_>, _> =
            requests.map(|request| prepare(request, self.state.root(), self.around)).collect();
        let plans = plans?;
        // Nobody could tell what a candidate changed, nor keep it from changing what is protected.
        if plans.iter().any(|prepared| prepared.plan.backend == Backend::Local) {
            return Err(SearchError::BareHost);
        }
        Ok(plans)
    }

    /// A step's request, marked as part of this loop.
    fn marked(request: &Request, mark: &str) -> Request {
        let mut request = request.clone();
        let name: EnvName = VARIABLE.parse().unwrap_or_else(|_| unreachable!("it is a name"));
        let value = EnvValue::literal(&name, mark);
        request.spec.env.insert(name, value);
        request
    }
}
