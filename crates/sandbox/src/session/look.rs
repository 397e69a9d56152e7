//! A look at what a session has changed so far, sealed as a run of its own: it can be reviewed and applied like
//! any other, while the session goes on.

use std::fs::File;
use std::io;
use std::path::Path;

use cofferdam_core::changes::manifest::{Summary, Tree};
use cofferdam_core::event::EventKind;
use cofferdam_core::outcome::Outcome;
use cofferdam_core::plan::Plan;
use cofferdam_core::receipt::Cleanup;
use cofferdam_core::record::{ChangeSummary, Record};
use cofferdam_core::redact::Redactor;
use cofferdam_core::spec::Purpose;

use super::live::is_session;
use crate::changes::halt::Halt;
use crate::changes::resume::goes_on;
use crate::changes::seal::Layers;
use crate::changes::settled::{Look, note};
use crate::changes::{REPOSITORY, SealError, SealRequest, Sealed, seal};
use crate::clock;
use crate::run::sealing::base;
use crate::runs::{Scribe, Store};
use crate::state::{StateDir, StateError, make_private_dir};

#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("it is no session that goes on and stages what it changes")]
    NotStaged,
    #[error("what the session has changed cannot be read")]
    Seal(#[from] SealError),
    #[error("the look cannot be noted")]
    Note { source: io::Error },
    #[error(transparent)]
    State(#[from] StateError),
}

/// Seals what `session` has changed up to now and was not decided about, as a run of its own. A name
/// makes it a checkpoint.
pub fn look(
    state: &StateDir,
    actor: &str,
    session: &Record,
    name: Option<&str>,
) -> Result<Record, LookError> {
    let plan = session.plan.as_ref().filter(|plan| plan.stages() && is_session(session));
    let plan = plan.filter(|_| session.outcome.is_none()).ok_or(LookError::NotStaged)?;
    let store = Store::new(state);
    let marker = state.active().join(session.run.to_string());
    let began = File::open(&marker).map_err(StateError::io("open", &marker))?;
    let base = base(&began, &marker)?;

    let started_at = clock::now();
    let run = clock::new_run_id(started_at)?;
    let workspace = session.workspace.clone();
    let redactor = Redactor::default();
    let mut scribe = Scribe::new(state, run, workspace.clone(), actor.to_owned(), redactor);
    let mark = scribe.mark(started_at, None);
    let _alive = store.create(run, &mark)?;
    let (from, into) = (store.dir(session.run), store.dir(run));
    let request = SealRequest {
        run,
        dir: &from,
        workspace: &plan.workspace.source,
        tree: Tree::Workspace,
        base,
        from: plan.from.as_ref(),
        halt: &Halt::never(),
    };
    let layers = Layers::of_workspace(&from);
    let both = seal::snapshot(&request, &layers, &into)
        .and_then(|sealed| Ok((sealed, repository(&request, plan, (&from, &into))?)));
    let (sealed, repository) = match both {
        Ok(both) => both,
        Err(error) => {
            // There is nothing to tell of it; what cannot be removed now is removed by the next clean-up.
            store.discard(run).ok();
            return Err(error.into());
        }
    };
    let record =
        Record::begun(run, Vec::new(), workspace, actor.to_owned(), mark.owner, started_at);
    let manifest = sealed.hash.to_string();
    let record = close(&mut scribe, record, plan, session, (sealed, repository))?;
    let look = Look { run, manifest, name: name.map(str::to_owned) };
    note(&from, &look).map_err(|source| LookError::Note { source })?;
    store.retire(run)?;
    Ok(record)
}

/// The same for a repository that lies outside the workspace, as a set of its own; its hash.
fn repository(
    request: &SealRequest<'_>,
    plan: &Plan,
    (from, into): (&Path, &Path),
) -> Result<Option<String>, SealError> {
    let layers = Layers::of_repository(from);
    let Some(repository) = plan.repository.as_ref().filter(|_| layers.are_there()) else {
        return Ok(None);
    };
    let (git, into) = (from.join(REPOSITORY), into.join(REPOSITORY));
    make_private_dir(&into).map_err(|error| SealError::Io {
        action: "create",
        path: into.clone(),
        source: io::Error::other(error),
    })?;
    let request = SealRequest {
        dir: &git,
        workspace: &repository.source,
        tree: Tree::GitCommon,
        from: request.from.filter(|_| goes_on(&git)),
        ..*request
    };
    let sealed = seal::snapshot(&request, &layers, &into)?;
    Ok(Some(sealed.hash.to_string()))
}

fn close(
    scribe: &mut Scribe,
    mut record: Record,
    plan: &Plan,
    session: &Record,
    (sealed, repository): (Sealed, Option<String>),
) -> Result<Record, StateError> {
    let Sealed { hash, summary, left_out, first } = sealed;
    let Summary { created, modified, deleted, retyped } = summary;
    record.backend = session.backend;
    record.plan = Some(Plan { purpose: Purpose::Look, ..plan.clone() });
    let message = format!("a look at session {}", session.run.short());
    record.outcome = Some(Outcome::exited(0).with_message(message));
    record.finished_at = Some(clock::now());
    record.cleanup = Some(Cleanup::terminated());
    let changes = ChangeSummary {
        created,
        modified,
        deleted,
        retyped,
        manifest: hash.to_string(),
        repository,
        left_out,
        first,
    };
    record.changes = Some(changes.clone());
    let event = EventKind::Sealed { changes };
    let receipt = cofferdam_core::receipt::CleanupReceipt::Terminated;
    scribe.close(&record, vec![event], |evidence| EventKind::Cleanup {
        receipt,
        left: Vec::new(),
        evidence: Some(evidence),
    })
}
