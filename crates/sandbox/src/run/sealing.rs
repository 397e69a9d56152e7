//! Seals what a run changed, and says so in its record.

use std::error::Error;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::event::EventKind;
use cofferdam_core::record::{ChangeSummary, Record};

use crate::changes::seal::{self, SealError, SealRequest, Sealed, seal};
use crate::state::StateError;

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
pub(crate) fn seal_run(dir: &Path, base: Moment, record: &mut Record) -> Sealing {
    let Some(plan) = &record.plan else { return Sealing::Nothing };
    if !plan.stages() {
        return Sealing::Nothing;
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
        base,
        from: plan.from.as_ref(),
    };
    match seal(&request) {
        Ok(Sealed { hash, summary }) => {
            let manifest = hash.to_string();
            let (created, modified) = (summary.created, summary.modified);
            let (deleted, retyped) = (summary.deleted, summary.retyped);
            record.changes = Some(ChangeSummary {
                created,
                modified,
                deleted,
                retyped,
                manifest: manifest.clone(),
            });
            Sealing::Done(EventKind::Sealed { manifest, created, modified, deleted, retyped })
        }
        Err(error) => {
            let reason = in_words(&error);
            let again = if error.is_final() { Again::No } else { Again::Yes };
            Sealing::Failed {
                event: EventKind::SealFailed { reason: reason.clone() },
                reason,
                again,
            }
        }
    }
}

fn in_words(error: &SealError) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words
}
