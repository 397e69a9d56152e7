//! Seals what a run changed, and says so in its record.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use cofferdam_core::changes::manifest::{Moment, Summary, Tree};
use cofferdam_core::event::EventKind;
use cofferdam_core::id::RunId;
use cofferdam_core::plan::Plan;
use cofferdam_core::record::{ChangeSummary, Record, Unsealed};
use cofferdam_native::{COPY, GIT_COPY, GIT_UPPER, GIT_WORK, UPPER, WORK};

use crate::cause::in_words;
use crate::changes::REPOSITORY;
use crate::changes::halt::Halt;
use crate::changes::resume::goes_on;
use crate::changes::seal::{self, SealError, SealRequest, Sealed, seal};
use crate::state::StateError;
use crate::waste::Waste;

/// What came of it.
#[derive(Debug)]
pub(crate) enum Sealing {
    /// The run stages nothing, or everything was sealed already.
    Nothing,
    Done(EventKind),
    /// The changes stay in the upper directory.
    Failed {
        event: EventKind,
        reason: String,
        again: Again,
    },
}

/// Whether it is worth another try when somebody cleans up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Yes,
    No,
}

/// When a run began, by the mark that was made then. The wall clock may be set; this is the clock that
/// files get their times from.
pub(crate) fn base(mark: &File, path: &Path) -> Result<Moment, StateError> {
    let meta = mark.metadata().map_err(StateError::io("read", path))?;
    let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or(0);
    Ok(Moment { seconds: meta.ctime(), nanos })
}

/// Seals what the run in `dir` changed. Its sandbox must be gone.
pub(crate) fn seal_run(
    dir: &Path,
    base: Moment,
    record: &mut Record,
    halt: &Halt<'_>,
    waste: &Waste,
) -> Sealing {
    let sealing = try_to_seal(dir, base, record, halt, waste);
    if let Sealing::Failed { reason, again, .. } = &sealing {
        let (reason, is_tried_again) = (reason.clone(), *again == Again::Yes);
        let signal = halt.check().err().map(|halted| halted.signal);
        record.unsealed = Some(Unsealed { reason, is_tried_again, signal });
    }
    sealing
}

fn try_to_seal(
    dir: &Path,
    base: Moment,
    record: &mut Record,
    halt: &Halt<'_>,
    waste: &Waste,
) -> Sealing {
    let Some(plan) = &record.plan else { return Sealing::Nothing };
    if !plan.stages() {
        return Sealing::Nothing;
    }
    let repository = match seal_repository(dir, base, record.run, plan, halt, waste) {
        Ok(repository) => repository,
        Err(error) => return failed(&error),
    };
    if let Err(error) = seal::drop_unfinished(dir) {
        return failed(&error);
    }
    // Without an upper directory nothing was ever started, or all is done; but a crash may have come
    // between the sealing and the record.
    if !seal::is_due(dir) && (record.changes.is_some() || !seal::is_sealed(dir)) {
        return Sealing::Nothing;
    }
    let request = SealRequest {
        run: record.run,
        dir,
        workspace: &plan.workspace.source,
        tree: Tree::Workspace,
        base,
        from: plan.from.as_ref(),
        halt,
    };
    match seal(&request, waste) {
        Ok(Sealed { hash, summary, left_out, first }) => {
            let Summary { created, modified, deleted, retyped } = summary;
            let manifest = hash.to_string();
            let changes = ChangeSummary {
                created,
                modified,
                deleted,
                retyped,
                manifest,
                repository,
                left_out,
                first,
            };
            record.changes = Some(changes.clone());
            record.unsealed = None;
            Sealing::Done(EventKind::Sealed { changes })
        }
        Err(error) => failed(&error),
    }
}

/// Seals what was changed in a repository that lies outside the workspace, as a set of its own, and returns
/// its hash.
fn seal_repository(
    dir: &Path,
    base: Moment,
    run: RunId,
    plan: &Plan,
    halt: &Halt<'_>,
    waste: &Waste,
) -> Result<Option<String>, SealError> {
    let Some(repository) = &plan.repository else { return Ok(None) };
    let git = dir.join(REPOSITORY);
    let io = |action, path: &Path| {
        let path = path.to_owned();
        move |source| SealError::Io { action, path, source }
    };
    let layers = [(GIT_UPPER, UPPER), (GIT_WORK, WORK), (GIT_COPY, COPY)];
    for (found, name) in layers.map(|(found, name)| (dir.join(found), name)) {
        if found.exists() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&git)
                .map_err(io("create", &git))?;
            fs::rename(&found, git.join(name)).map_err(io("rename", &found))?;
        }
    }
    seal::drop_unfinished(&git)?;
    if !seal::is_due(&git) && !seal::is_sealed(&git) {
        return Ok(None);
    }
    let (workspace, tree) = (&repository.source, Tree::GitCommon);
    let from = plan.from.as_ref().filter(|_| goes_on(&git));
    let request = SealRequest { run, dir: &git, workspace, tree, base, from, halt };
    let sealed = seal(&request, waste)?;
    Ok(Some(sealed.hash.to_string()))
}

fn failed(error: &SealError) -> Sealing {
    let reason = in_words(error);
    let again = if error.is_final() { Again::No } else { Again::Yes };
    Sealing::Failed { event: EventKind::SealFailed { reason: reason.clone() }, reason, again }
}
