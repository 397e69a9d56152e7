//! Cleans up after owners that died: at the start of every run, and by `cofferdam gc`.
//!
//! Only runs that are marked as going on are looked at, and of those only the ones whose mark is no longer
//! locked: the kernel lets go of a lock when its holder dies, however it dies. Of launchers likewise. Nothing else is
//! touched.

use std::fs::File;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use cofferdam_core::backend::Backend;
use cofferdam_core::event::{Event, EventKind, Status};
use cofferdam_core::id::RunId;
use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::receipt::{Cleanup, CleanupReceipt};
use cofferdam_core::redact::Redactor;
use cofferdam_native::descendants;
use serde::Serialize;

use crate::backend::docker::{self, Cleared};
use crate::backend::local::MARKER;
use crate::ballast::Ballast;
use crate::changes::halt::Halt;
use crate::changes::recover::{How, Recovered, recover};
use crate::changes::turn::Others;
use crate::clock;
use crate::doctor::trial::{self, Abandoned};
use crate::engine::{Engine, Surroundings};
use crate::events::{Journal, as_map};
use crate::launcher::{Swept, sweep_dead};
use crate::run::class_name;
use crate::run::sealing::{Again, Sealing, base, seal_run};
use crate::runs::{Scribe, Store, is_running, last_words};
use crate::session::SOCKET;
use crate::state::{StateDir, StateError};
use crate::waste::Waste;

/// How long a sandbox may outlive its supervisor, which the kernel kills it for.
const DYING: Duration = Duration::from_secs(2);
/// How long killed processes may take to go.
const PATIENCE: Duration = Duration::from_secs(5);

/// What work on changes is called that somebody had to finish or to take back: nothing outlived its owner there.
const OPERATION: &str = "operation";

/// What was found and done about one run, or one launcher.
#[derive(Debug, Clone, Serialize)]
pub struct Reconciled {
    #[serde(flatten)]
    pub whose: Whose,
    /// What was removed: processes, and what backends keep outside the run's directory.
    pub removed: Vec<String>,
    /// What else was done, so that the run is over.
    pub settled: Vec<Settled>,
    /// What would not go. The run stays marked, and the next clean-up tries again.
    pub left: Vec<String>,
}

impl Reconciled {
    /// What of it outlived its owner and was removed: kind and name, as the log has them.
    pub fn orphans(&self) -> impl Iterator<Item = (&str, &str)> {
        let removed = self.removed.iter().map(|name| (kind_of(name), name.as_str()));
        removed.filter(|(kind, _)| *kind != OPERATION)
    }
}

/// What its owner did not come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// What it changed was sealed, and can be applied.
    Sealed,
    /// How it ended was written down.
    Closed,
}

/// Who left it behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    Run(RunId),
    /// A launcher, by the name of its directory.
    Launcher(String),
    /// A doctor, by the name of what it tried.
    Trial(String),
    /// Nobody that is known: something in an engine with our label on it.
    Engine(Backend),
}

/// Ends what dead owners left behind and closes their records.
pub fn reconcile(state: &StateDir, actor: &str) -> Result<Vec<Reconciled>, StateError> {
    reconcile_with(state, actor, Others::Pass)
}

/// As [`reconcile`], and waits a moment for whoever cleans up or applies right now: when this says that it is
/// done, nobody else is half-way.
///
/// It makes do with a full disk: what is kept for that is let go of first.
pub fn reconcile_all(state: &StateDir, actor: &str) -> Result<Vec<Reconciled>, StateError> {
    let ballast = Ballast::of(state);
    ballast.ease();
    let mut done = reconcile_with(state, actor, Others::Await)?;
    for Abandoned { name, is_ours, left } in trial::sweep(state.root()) {
        if is_ours || !left.is_empty() {
            let removed: Vec<_> =
                left.is_empty().then(|| format!("sandbox {name}")).into_iter().collect();
            done.push(Reconciled { whose: Whose::Trial(name), removed, settled: Vec::new(), left });
        }
    }
    ballast.keep();
    Ok(done)
}

fn reconcile_with(
    state: &StateDir,
    actor: &str,
    others: Others,
) -> Result<Vec<Reconciled>, StateError> {
    let (store, waste) = (Store::new(state), Waste::of(state));
    let mut done = launchers(state, actor)?;
    done.extend(operations(state, actor, others)?);
    for run in store.active()? {
        let Some(mark) = claim(&store, run)? else { continue };
        let mut record = match store.record(run) {
            Ok(record) => record,
            // Its owner died before the record, or is between making the mark and locking it.
            Err(StateError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                done.extend(unrecorded(state, &store, run, actor)?);
                continue;
            }
            // One bad record must not keep everything else from running.
            Err(error) => {
                let (whose, left) = (Whose::Run(run), vec![error.to_string()]);
                done.push(Reconciled { whose, removed: Vec::new(), settled: Vec::new(), left });
                continue;
            }
        };
        let redactor = Redactor::default();
        let workspace = record.workspace.clone();
        let mut scribe = Scribe::new(state, run, workspace, actor.to_owned(), redactor);
        let (removed, mut left) = clean(state, run, record.backend);
        // Nobody listens there any more; where there is none, there was no session.
        std::fs::remove_file(store.dir(run).join(SOCKET)).ok();
        let mut events: Vec<EventKind> = removed.iter().map(|name| orphan(name)).collect();
        let was_closed = record.cleanup.is_some();
        let mut unsealed = None;
        let mut settled = Vec::new();
        if left.is_empty() {
            let base = base(&mark, state.root())?;
            match seal_run(&store.dir(run), base, &mut record, &Halt::never(), &waste) {
                Sealing::Nothing => {}
                Sealing::Done(event) => {
                    events.push(event);
                    settled.push(Settled::Sealed);
                }
                // It was said before, when the run was closed.
                Sealing::Failed { reason, again: Again::Yes, .. } if was_closed => {
                    let left = vec![format!("unsealed changes: {reason}")];
                    done.push(Reconciled {
                        whose: Whose::Run(run),
                        removed,
                        settled: Vec::new(),
                        left,
                    });
                    continue;
                }
                Sealing::Failed { event, reason, again } => {
                    events.push(event);
                    unsealed = (again == Again::Yes).then_some(reason);
                }
            }
        }
        let receipt =
            if left.is_empty() { CleanupReceipt::Terminated } else { CleanupReceipt::Unconfirmed };
        if let (None, Some(outcome)) = (&record.outcome, last_words::read(&store.dir(run))) {
            let status = Status {
                status: class_name(outcome.class),
                exit_code: outcome.exit_code,
                ..Status::default()
            };
            events.push(EventKind::Stopped { state: status, signal: outcome.signal });
            record.outcome = Some(outcome);
            record.finished_at = Some(clock::now());
        }
        if record.outcome.is_none() {
            let message = "the process that ran it died before it ended";
            record.outcome = Some(Outcome::ended(OutcomeClass::SandboxFailure, None, message));
            record.finished_at = Some(clock::now());
            let status = "sandbox_failure".to_owned();
            let state = Status { status, message: Some(message.to_owned()), ..Status::default() };
            events.push(EventKind::Failed { state });
        }
        record.cleanup = Some(Cleanup { receipt, left: left.clone() });
        scribe.close(&record, events, |evidence| EventKind::Cleanup {
            receipt,
            left: left.clone(),
            evidence: Some(evidence),
        })?;
        if !was_closed {
            settled.push(Settled::Closed);
        }
        let dir = store.dir(run);
        last_words::forget(&dir).map_err(StateError::io("remove", &dir))?;
        match unsealed {
            Some(reason) => left.push(format!("unsealed changes: {reason}")),
            None if left.is_empty() => store.retire(run)?,
            None => {}
        }
        done.push(Reconciled { whose: Whose::Run(run), removed, settled, left });
    }
    Ok(done)
}

/// Removes the empty directories that runs have left to whoever has the time, and says what would not go.
pub fn clear_waste(state: &StateDir) -> Vec<String> {
    Waste::of(state).clear()
}

fn orphan(name: &str) -> EventKind {
    EventKind::OrphanRemoved { kind: kind_of(name).to_owned(), name: name.to_owned() }
}

/// The first word of what something is called.
fn kind_of(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

/// Cleans up after an owner that died between the mark and the record. A sandbox may have been begun, but
/// no command was run in it, so that there is nothing to tell but what was removed.
fn unrecorded(
    state: &StateDir,
    store: &Store,
    run: RunId,
    actor: &str,
) -> Result<Option<Reconciled>, StateError> {
    let backend = match store.mark(run) {
        Some(mark) => mark.backend,
        None if is_stale(run) => None,
        None => return Ok(None),
    };
    let (removed, left) = clean(state, run, backend);
    let lines: Vec<_> = removed
        .iter()
        .map(|name| {
            let (ts, actor, kind) = (clock::now(), actor.to_owned(), orphan(name));
            as_map(&Event { ts, run: Some(run), workspace: None, actor, kind })
        })
        .collect();
    Journal::new(state).append(&lines)?;
    if left.is_empty() {
        store.discard(run)?;
    }
    let found = !removed.is_empty() || !left.is_empty();
    Ok(found.then_some(Reconciled { whose: Whose::Run(run), removed, settled: Vec::new(), left }))
}

/// Finishes or takes back what somebody left who died while applying or undoing changes.
fn operations(
    state: &StateDir,
    actor: &str,
    others: Others,
) -> Result<Vec<Reconciled>, StateError> {
    let recovered = recover(state, actor, others)?.into_iter().map(
        |Recovered { run, operation, how, left }| {
            let how = match how {
                How::Finished => "finished",
                How::TakenBack => "taken back",
            };
            let removed = vec![format!("{OPERATION} {operation} on its changes ({how})")];
            Reconciled { whose: Whose::Run(run), removed, settled: Vec::new(), left }
        },
    );
    Ok(recovered.collect())
}

/// Removes what launchers left that died: prepared sandboxes, and the groups of those in use. The
/// kernel ended their processes with them.
fn launchers(state: &StateDir, actor: &str) -> Result<Vec<Reconciled>, StateError> {
    let mut done = Vec::new();
    for Swept { launcher, removed, left } in sweep_dead(state)? {
        let lines: Vec<_> = removed
            .iter()
            .map(|name| {
                let kind = EventKind::OrphanRemoved { kind: "sandbox".into(), name: name.clone() };
                let (ts, actor) = (clock::now(), actor.to_owned());
                as_map(&Event { ts, run: None, workspace: None, actor, kind })
            })
            .collect();
        Journal::new(state).append(&lines)?;
        done.push(Reconciled {
            whose: Whose::Launcher(launcher),
            removed,
            settled: Vec::new(),
            left,
        });
    }
    Ok(done)
}

/// Takes over a run whose owner is gone. Its sandbox inherits the lock and may die a moment later than the
/// owner: where the owner's process is seen to be gone, that moment is waited for.
fn claim(store: &Store, run: RunId) -> Result<Option<File>, StateError> {
    let deadline = Instant::now() + DYING;
    loop {
        if let Some(claim) = store.claim(run)? {
            return Ok(Some(claim));
        }
        let owner = match store.record(run) {
            Ok(record) if record.outcome.is_some() => return Ok(None),
            Ok(record) => Some(record.owner),
            Err(_) => store.mark(run).map(|mark| mark.owner),
        };
        let gone = owner.is_some_and(|owner| !is_running(&owner));
        if !gone || Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Old enough that no live process can still be about to write the record.
fn is_stale(run: RunId) -> bool {
    clock::now().unix_millis().saturating_sub(run.unix_millis()) > 60_000
}

fn clean(state: &StateDir, run: RunId, backend: Option<Backend>) -> (Vec<String>, Vec<String>) {
    let backend = match backend {
        Some(backend @ (Backend::Local | Backend::Native)) => backend,
        Some(Backend::Docker | Backend::Podman) => return clean_engine(state, run),
        None => return (Vec::new(), Vec::new()),
    };
    let (ended, left) = descendants::end_marked(&format!("{MARKER}={run}"), PATIENCE);
    let name = |pid: u32| format!("process {pid}");
    let mut left: Vec<String> = left.into_iter().map(name).collect();
    if backend == Backend::Native {
        left.extend(cofferdam_native::sweep(&run.to_string()));
    }
    (ended.into_iter().map(name).collect(), left)
}

/// What a run left in the engine that it noted before it made anything, and on the host for it.
fn clean_engine(state: &StateDir, run: RunId) -> (Vec<String>, Vec<String>) {
    let (dir, id) = (Store::new(state).dir(run), run.to_string());
    let note = dir.join(docker::NOTE);
    let engine: Engine = match std::fs::read(&note).map(|text| serde_json::from_slice(&text)) {
        Ok(Ok(engine)) => engine,
        Ok(Err(_)) => return (Vec::new(), vec![format!("{} cannot be read", note.display())]),
        // It died before it asked an engine for anything.
        Err(error) if error.kind() == ErrorKind::NotFound => return (Vec::new(), Vec::new()),
        Err(error) => return (Vec::new(), vec![format!("{}: {error}", note.display())]),
    };
    let mut cleared = docker::clear(&engine, &id, &dir, &state.mounts().join(&id));
    docker::end_processes(&id, &mut cleared);
    if cleared.left.is_empty() {
        let labels = docker::run_labels(&id, state.root());
        cleared.left = docker::remove_scratch(&engine, &dir, &labels);
    }
    (cleared.removed, cleared.left)
}

/// Removes what an engine made for runs of this state directory that nobody knows of any more. An engine can
/// finish what it was told after whoever told it is dead and was cleaned up after.
pub fn sweep_engines(
    state: &StateDir,
    actor: &str,
    around: &Surroundings,
) -> Result<Vec<Reconciled>, StateError> {
    let mut done = Vec::new();
    for backend in [Backend::Docker, Backend::Podman] {
        let Ok(engine) = Engine::find(backend, around) else { continue };
        // Listed anew for each: a run that began since then is not to be swept away.
        let label = docker::state_label(state.root());
        let found = docker::marked(&engine, &label);
        let going_on: Vec<_> = Store::new(state).active()?.iter().map(RunId::to_string).collect();
        let goes_on = |run: &str| going_on.iter().any(|one| one == run) || trial::goes_on(run);
        let Cleared { removed, left } = docker::sweep(&engine, found, goes_on);
        let lines: Vec<_> = removed
            .iter()
            .map(|name| {
                let (ts, actor, kind) = (clock::now(), actor.to_owned(), orphan(name));
                as_map(&Event { ts, run: None, workspace: None, actor, kind })
            })
            .collect();
        Journal::new(state).append(&lines)?;
        if !removed.is_empty() || !left.is_empty() {
            done.push(Reconciled {
                whose: Whose::Engine(backend),
                removed,
                settled: Vec::new(),
                left,
            });
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cofferdam_core::record::Owner;

    use super::*;
    use crate::runs::{Mark, current_owner};

    fn begun(state: &StateDir, owner: Owner) -> (RunId, File) {
        let run = clock::new_run_id(clock::now()).unwrap();
        let store = Store::new(state);
        let (actor, started_at) = ("ada".to_owned(), clock::now());
        let mark = Mark { owner, actor, started_at, backend: Some(Backend::Native) };
        let lock = store.create(run, &mark).unwrap();
        std::fs::create_dir(store.dir(run).join("upper")).unwrap();
        (run, lock)
    }

    /// Its owner died when the sandbox was begun and the record not yet written.
    #[test]
    fn a_run_without_a_record_goes_at_once_where_its_owner_is_dead() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let store = Store::new(&state);
        let (alive, _lock) = begun(&state, current_owner());
        let dead = Owner { start_ticks: 0, ..current_owner() };
        let (gone, lock) = begun(&state, dead);
        drop(lock);
        // Made and not yet locked by its owner: a moment later it may be.
        let unlocked = clock::new_run_id(clock::now()).unwrap();
        File::create(state.active().join(unlocked.to_string())).unwrap();
        assert!(reconcile(&state, "user:test").unwrap().is_empty(), "there was nothing to remove");
        assert!(!store.dir(gone).exists());
        assert!(store.dir(alive).exists());
        let left: BTreeSet<RunId> = store.active().unwrap().into_iter().collect();
        assert_eq!(left, BTreeSet::from([alive, unlocked]));
    }
}
