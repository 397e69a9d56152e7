//! What a staged run needs before its sandbox is begun: a copy where there can be no overlay, and what an
//! earlier run changed where it goes on from one.

use std::path::Path;

use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::plan::Plan;
use cofferdam_native::signals::Signals;
use cofferdam_native::{COPY, GIT_COPY};

use crate::backend::Finish;
use crate::changes::REPOSITORY;
use crate::changes::copy::{self, CopyError, Copying};
use crate::changes::halt::{Halt, Halted};
use crate::changes::resume::{self, ResumeError};
use crate::runs::Store;
use crate::state::{StateError, make_private_dir};

#[derive(Debug, thiserror::Error)]
pub(super) enum GroundError {
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Resume(#[from] ResumeError),
    #[error(transparent)]
    State(#[from] StateError),
}

impl GroundError {
    /// How the run went: nothing was started.
    pub(super) fn finish(&self) -> Finish {
        let mut finish = Finish::not_begun(self);
        if let Self::Copy(CopyError::Halted(Halted { signal })) = self {
            let message = "it was canceled while its workspace was copied";
            finish.outcome = Outcome::ended(OutcomeClass::Canceled, None, message);
            finish.outcome.signal = Some(*signal);
        }
        finish
    }
}

/// Makes it ready in the directory of the run. Whatever threads this takes have ended when it returns.
pub(super) fn lay(
    store: &Store,
    plan: &Plan,
    dir: &Path,
    signals: &Signals,
) -> Result<(), GroundError> {
    if plan.copies() {
        let halt = Halt::by(signals);
        let tree = &plan.workspace.source.real;
        copy::make(Copying { tree, to: &dir.join(COPY), dir }, &halt)?;
        if let Some(repository) = &plan.repository {
            let git = dir.join(REPOSITORY);
            make_private_dir(&git)?;
            let tree = &repository.source.real;
            copy::make(Copying { tree, to: &dir.join(GIT_COPY), dir: &git }, &halt)?;
        }
    }
    Ok(resume::begin(store, plan, dir)?)
}
