//! The path of one run: plan, start, watch, end, record.
//!
//! [`prepare`] has no effect on the host and is what `--dry-run` shows; [`perform`] carries it out, as
//! do [`perform_by`] and [`perform_led`] for a process that has threads; [`reject`] writes down what was refused.

mod ground;
mod led;
pub(crate) mod sealing;
mod watcher;

use std::path::{Path, PathBuf};

use cofferdam_core::backend::{Backend, Selection, select};
use cofferdam_core::env::Secret;
use cofferdam_core::event::{EventKind, Evidence, Status};
use cofferdam_core::id::RunId;
use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::paths::{Arg, ExactPath};
use cofferdam_core::plan::{Plan, plan};
use cofferdam_core::receipt::{Cleanup, CleanupReceipt, Held, Holding};
use cofferdam_core::record::Record;
use cofferdam_core::redact::Redactor;
use cofferdam_core::refusal::Refusal;
use cofferdam_core::spec::{Fetch, Mode, Pull, SandboxSpec, Terminal};
use cofferdam_native::signals::Signals;
use cofferdam_native::staging::staging;

use crate::backend::{self, Finish, Occupant, Stage, Starter, Streams};
use crate::ballast::Ballast;
use crate::changes::halt::Halt;
use crate::clock;
use crate::engine::{Engine, Surroundings};
use crate::image;
use crate::request::Request;
use crate::result::{self, Delivery};
use crate::runs::{Scribe, Store, last_words};
use crate::shell;
use crate::state::{StateDir, StateError};
use crate::waste::Waste;
pub use led::{Hearing, Led, StopLine, Stopper, new_run, perform_led, stop_line};
use sealing::{Again, Sealing, base, seal_run};
use watcher::{Seen, Watcher};

/// A run that may be started: everything is decided.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub selection: Selection,
    pub plan: Plan,
    /// Where an engine is to run it.
    engine: Option<Engine>,
    /// This very program.
    program: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error("cannot take over signals")]
    Signals { source: cofferdam_native::SysError },
    /// It ran: the record says how that went, and stands nowhere yet.
    #[error("how it ended could not be written down")]
    Unrecorded { record: Box<Record>, source: StateError },
    #[error("it would run on the bare host, where nothing confines it")]
    BareHost,
}

/// Decides what would be done, without doing any of it. `state` is where runs are kept, which need not
/// exist yet, `around` where engines are looked for.
pub fn prepare(
    request: &Request,
    state: &Path,
    around: &Surroundings,
) -> Result<Prepared, Refusal> {
    let Request { spec, policy, images, .. } = request;
    let mut engine = None;
    let offers = backend::offers(spec, around, &mut engine);
    let (selection, mut caps) = select(spec.backend, spec.fallback, offers)?;
    let own = match engine.as_ref().filter(|_| caps.backend.is_container() && spec.image.is_none())
    {
        Some(engine) => image::own(state, &spec.workspace.real, engine, images.gate)?,
        None => None,
    };
    let with_own;
    let spec = match own {
        Some(image) => {
            // Nobody but this host has it.
            let fetch = Fetch { pull: Pull::Never, ..spec.fetch };
            with_own = SandboxSpec { image: Some(image), fetch, ..spec.clone() };
            &with_own
        }
        None => spec,
    };
    if caps.backend != Backend::Local && spec.mode == Mode::Stage && caps.staging.is_overlay() {
        caps.staging = staging(state, &spec.workspace);
    }
    let plan = plan(spec, policy, &caps)?;
    backend::bounds::leaves_room(&plan, state)?;
    backend::bounds::can_be_written(&plan)?;
    if plan.purpose.is_command() {
        shell::obey(&plan.commands.policy, plan.commands.approval, &plan.command)?;
    }
    Ok(Prepared { selection, plan, engine, program: around.program.clone() })
}

impl Prepared {
    /// Where an engine is to run it.
    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.engine.as_ref().filter(|_| self.plan.backend.is_container())
    }

    /// The plan as it may be shown: without the values of secrets, wherever they stand.
    pub fn shown(&self) -> Plan {
        Plan { command: redactor(&self.plan).args(&self.plan.command), ..self.plan.clone() }
    }
}

/// Hides the values of the plan's secrets.
pub fn redactor(plan: &Plan) -> Redactor {
    Redactor::new(plan.env.values().filter_map(|value| value.secret()))
}

/// What is known of a run that was refused; how much depends on how early that was.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    pub command: &'a [Arg],
    pub workspace: &'a ExactPath,
    /// What must not be recorded.
    pub secrets: &'a [Secret],
}

/// Writes down that a run was refused. The record has no plan, because there is none.
pub fn reject(
    state: &StateDir,
    actor: &str,
    attempt: Attempt<'_>,
    refusal: &Refusal,
) -> Result<Record, RunError> {
    let run = clock::new_run_id(clock::now())?;
    let redactor = Redactor::new(attempt.secrets);
    let mut scribe = Scribe::new(state, run, attempt.workspace.clone(), actor.to_owned(), redactor);
    let store = Store::new(state);
    let mark = scribe.mark(clock::now(), None);
    let _alive = store.create(run, &mark)?;
    let (command, workspace) = (attempt.command.to_vec(), attempt.workspace.clone());
    let mut record =
        Record::begun(run, command, workspace, actor.to_owned(), mark.owner, mark.started_at);
    record.outcome = Some(Outcome::ended(OutcomeClass::Refused, None, refusal.to_string()));
    record.finished_at = Some(clock::now());
    record.cleanup = Some(Cleanup::terminated());
    let record = scribe.close(&record, Vec::new(), |evidence| EventKind::Rejected {
        rule: refusal.rule,
        field: refusal.field.clone(),
        message: refusal.message.clone(),
        evidence: Some(evidence),
    })?;
    store.retire(run)?;
    Ok(record)
}

/// Carries a plan out and returns its record.
pub fn perform(
    state: &StateDir,
    actor: &str,
    prepared: &Prepared,
    streams: Streams<'_>,
) -> Result<Record, RunError> {
    perform_by(Starter::Here, state, actor, prepared, streams)
}

/// The same, with its sandbox from where `starter` says.
pub fn perform_by(
    starter: Starter<'_>,
    state: &StateDir,
    actor: &str,
    prepared: &Prepared,
    streams: Streams<'_>,
) -> Result<Record, RunError> {
    perform_with(By::starter(starter), state, actor, prepared, streams)
}

/// By what a run is carried out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct By<'a> {
    pub(crate) starter: Starter<'a>,
    /// Who holds it, where it is a session.
    pub(crate) session: Option<&'a dyn Occupant>,
    /// Where signals come from that another thread has taken. Without, they are taken here.
    pub(crate) signals: Option<&'a Signals>,
    /// Its name, where it has one already.
    pub(crate) run: Option<RunId>,
    pub(crate) hearing: Option<&'a Hearing>,
}

impl<'a> By<'a> {
    /// With nothing given but who makes the sandbox.
    pub(crate) fn starter(starter: Starter<'a>) -> Self {
        Self { starter, session: None, signals: None, run: None, hearing: None }
    }
}

/// The same, by whatever is given.
pub(crate) fn perform_with(
    by: By<'_>,
    state: &StateDir,
    actor: &str,
    prepared: &Prepared,
    streams: Streams<'_>,
) -> Result<Record, RunError> {
    let By { starter, session, signals, run, hearing } = by;
    let Prepared { selection, plan, engine, program } = prepared;
    // From here on a signal is passed on to the command, not fatal to us.
    let taken;
    let signals = match signals {
        Some(signals) => signals,
        None => {
            taken = match plan.terminal {
                Terminal::Streams => Signals::take(),
                Terminal::Tty => Signals::take_with_resizes(),
            }
            .map_err(|source| RunError::Signals { source })?;
            &taken
        }
    };
    let started_at = clock::now();
    let run = match run {
        Some(run) => run,
        None => clock::new_run_id(started_at)?,
    };
    let store = Store::new(state);
    let workspace = &plan.workspace.source.real;
    let mut scribe = Scribe::new(state, run, workspace.clone(), actor.to_owned(), redactor(plan));
    if let Some(hearing) = hearing {
        scribe.tell(hearing.clone());
    }
    let id = run.to_string();
    let dir = store.dir(run);
    let mounts = state.mounts().join(&id);
    let stage = Stage {
        run: &id,
        dir: &dir,
        state: state.root(),
        mounts: &mounts,
        engine: engine.as_ref(),
        program,
        streams,
        signals,
        starter,
        session,
    };
    // A sandbox takes its time: it is under way first, and what was decided is written down meanwhile.
    let under_way = backend::set_out(plan, &stage);
    let mark = scribe.mark(started_at, Some(plan.backend));
    let marked = store.create(run, &mark);
    let marked = marked.and_then(|alive| Ok((base(&alive, state.root())?, alive)));
    let (base, _alive) = match marked {
        Ok(marked) => marked,
        Err(error) => {
            under_way.give_up();
            return Err(error.into());
        }
    };
    let begun = match ground::lay(&store, plan, &dir, signals) {
        Ok(()) => Ok(under_way.begin(plan, &stage)),
        Err(error) => {
            under_way.give_up();
            Err(error)
        }
    };
    // Until the end the mark and the plan are the record: see [`Store::record`].
    scribe.plan(&prepared.shown())?;
    scribe.events(decisions(selection, plan))?;
    let (command, at) = (plan.command.clone(), workspace.clone());
    let mut record = Record::begun(run, command, at, actor.to_owned(), mark.owner, started_at);
    record.backend = Some(plan.backend);
    record.plan = Some(plan.clone());
    let halt = Halt::by(signals);
    let mut watcher = Watcher::new(&mut scribe, plan, &dir, base, &mut record, &halt, state);
    // Nothing is run that was not written down.
    let finish = match begun {
        Ok(begun) => begun.run(plan, &stage, &mut watcher),
        Err(error) => error.finish(),
    };
    let (mut seen, trouble) = watcher.finish();
    // What comes now has to be written down, however full the command has left the disk.
    Ballast::of(state).ease();
    let _bases = seen.bases.take();
    // Where something of it may still run, sealing is for whoever sees it gone.
    let is_gone = finish.cleanup.receipt == CleanupReceipt::Terminated;
    let sealing = match seen.sealing.take() {
        Some(sealing) => sealing,
        None if is_gone => seal_run(&dir, base, &mut record, &halt, &Waste::of(state)),
        None => Sealing::Nothing,
    };
    let is_over = is_gone && !matches!(sealing, Sealing::Failed { again: Again::Yes, .. });
    let handed_over = plan.result.as_ref().filter(|_| is_gone).map(|rule| {
        let delivery = Delivery { dir: &dir, output: &seen.output, redactor: scribe.redactor() };
        result::collect(delivery, rule)
    });
    record.result = handed_over;
    let (events, cleanup) = conclude(&mut record, finish, seen, sealing);
    let closed = scribe.close(&record, events, cleanup).and_then(|record| {
        if is_over {
            store.retire(run)?;
        }
        Ok(record)
    });
    match (closed, trouble) {
        (Ok(record), None) => Ok(record),
        (Ok(record), Some(source)) => {
            Err(RunError::Unrecorded { record: Box::new(record), source })
        }
        (Err(source), _) => Err(unrecorded(&dir, record, source)),
    }
}

/// The command has run, whatever became of the paper-work: its outcome is not lost with that.
fn unrecorded(dir: &Path, record: Record, source: StateError) -> RunError {
    if let Some(outcome) = &record.outcome {
        // Where not even this can be left, clean-up will not know how it ended; the caller is told now.
        last_words::leave(dir, outcome).ok();
    }
    RunError::Unrecorded { record: Box::new(record), source }
}

/// The events that say what was decided.
fn decisions(selection: &Selection, plan: &Plan) -> Vec<EventKind> {
    let reasons: Vec<String> = selection
        .passed_over
        .iter()
        .map(|passed| format!("{}: {}", passed.backend, passed.reason))
        .collect();
    let asked = selection.asked.name().to_owned();
    let mut events = vec![EventKind::ModeSelected {
        asked: asked.clone(),
        backend: selection.chosen,
        passed_over: reasons.clone(),
    }];
    if selection.fell_back {
        events.push(EventKind::FallbackToDirect { asked, reasons });
    } else if !selection.chosen.confines() {
        events.push(EventKind::OverrideUsed {
            name: "sandbox.backend".to_owned(),
            reason: "the host owner asked for the bare host".to_owned(),
        });
    }
    let relaxed = plan.relaxed.iter().filter(|_| plan.backend.confines());
    events.extend(relaxed.map(|relaxed| EventKind::OverrideUsed {
        name: relaxed.guarantee.to_string(),
        reason: relaxed.reason.clone(),
    }));
    events.extend(plan.overrides.iter().map(|used| EventKind::OverrideUsed {
        name: used.name.clone(),
        reason: used.reason.clone(),
    }));
    events
}

/// Puts the end into the record, and returns the events of it: the last is to carry the evidence.
fn conclude(
    record: &mut Record,
    finish: Finish,
    seen: Seen,
    sealing: Sealing,
) -> (Vec<EventKind>, impl FnOnce(Evidence) -> EventKind + use<>) {
    let Finish { outcome, usage, cleanup } = finish;
    let mut events = Vec::new();
    let output = &seen.output;
    for (stream, total_bytes, kept) in [
        ("stdout", output.stdout_bytes, &output.stdout),
        ("stderr", output.stderr_bytes, &output.stderr),
    ] {
        if kept.dropped > 0 {
            let (stream, kept_bytes) = (stream.to_owned(), kept.head + kept.tail);
            events.push(EventKind::OutputTruncated { stream, total_bytes, kept_bytes });
        }
    }
    if outcome.class == OutcomeClass::Oom {
        let limit = record.plan.as_ref().map(|plan| plan.limits.memory.to_string());
        events.push(EventKind::Oom { memory_limit: limit.unwrap_or_default() });
    }
    let state = Status {
        container_id: seen.container_id,
        status: class_name(outcome.class),
        message: outcome.message.clone(),
        exit_code: outcome.exit_code,
    };
    events.push(if outcome.class == OutcomeClass::SandboxFailure {
        EventKind::Failed { state }
    } else {
        EventKind::Stopped { state, signal: outcome.signal }
    });
    match sealing {
        Sealing::Nothing => {}
        Sealing::Done(event) | Sealing::Failed { event, .. } => events.push(event),
    }
    record.outcome = Some(outcome);
    record.usage = usage;
    record.effective = seen.effective;
    record.receipt = seen.receipt;
    record.receipt.extend(record.plan.iter().flat_map(relaxed).collect::<Vec<_>>());
    record.output = seen.output;
    let (receipt, left) = (cleanup.receipt, cleanup.left.clone());
    record.cleanup = Some(cleanup);
    record.finished_at = Some(clock::now());
    (events, move |evidence| EventKind::Cleanup { receipt, left, evidence: Some(evidence) })
}

pub(crate) fn class_name(class: OutcomeClass) -> String {
    serde_json::to_value(class).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn relaxed(plan: &Plan) -> impl Iterator<Item = Holding> + '_ {
    plan.relaxed.iter().map(|relaxed| Holding {
        guarantee: relaxed.guarantee,
        mechanism: relaxed.reason.clone(),
        state: Held::Relaxed,
        read_back: None,
        probes: Vec::new(),
    })
}
