//! One attempt at a task, from the claim to the report of its end.
//!
//! The order is what keeps a task from running twice: it is written down as held, judged by this host, told to the server as
//! running, and only where the server takes that, begun. The end is reported until somebody takes it or says that it is
//! no longer ours.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cofferdam_core::backend::Backend;
use cofferdam_core::control::report::{Claim, Held, ReportedStatus, Taken};
use cofferdam_core::control::task::{AttemptResult, ExecutionMode};
use cofferdam_core::id::RunId;
use cofferdam_core::outcome::OutcomeClass;
use cofferdam_core::paths::{Arg, ExactPath};
use cofferdam_core::receipt::CleanupReceipt;
use cofferdam_core::record::Record;
use cofferdam_core::refusal::Refusal;
use cofferdam_core::stamp::Stamp;
use cofferdam_sandbox::backend::Streams;
use cofferdam_sandbox::image;
use cofferdam_sandbox::reconcile::reconcile;
use cofferdam_sandbox::run::{
    Attempt, Hearing, Led, Prepared, RunError, StopLine, new_run, perform_led, prepare, redactor,
    reject, stop_line,
};
use cofferdam_sandbox::runs::Store;
use serde_json::Value;
use tokio::sync::Notify;

use super::artifacts::{Hidden, Wanted};
use super::ground::Ground;
use super::held::{BoundTo, Cause, Hold};
use super::journal::Line;
use super::logs::{self, Listener, Pipes};
use super::order::{command, order};
use super::telling::Telling;
use super::{Link, Runner, RunnerError, artifacts, blocking, outcome};

/// A native run that takes longer is told of in between.
const WORTH_TELLING: Duration = Duration::from_millis(300);
/// How long clean-up is tried again before the end is reported without its confirmation.
const CLEAN_UP: Duration = Duration::from_secs(60);

/// Takes an attempt up, without waiting for it.
pub(super) fn start<L: Link>(runner: &Arc<Runner<L>>, claim: Claim) {
    let name = Held { task: claim.task.id, attempt: claim.attempt };
    let bound = match claim.task.asked.execution_mode {
        ExecutionMode::SharedWorkspace => BoundTo::Lease,
        _ => BoundTo::Nothing,
    };
    // Without a line to stop it by, or a note that it is held, it is not begun: its lease runs out.
    let Ok((line, stopper)) = stop_line() else { return };
    let hold = Arc::new(Hold::new(name, bound, stopper));
    let (fence, wanted) = (claim.fence.clone(), Wanted::of(&claim));
    let noted = Line { held: name, fence, seq: 0, run: None, is_heard: false, wanted };
    let Ok(note) = runner.journal.begin(&noted) else { return };
    let note = Arc::new(note);
    runner.held.add(Arc::clone(&hold));
    let runner = Arc::clone(runner);
    tokio::spawn(async move {
        let told = Telling::of(&runner, &claim, &note);
        see_through(told, Arc::clone(&hold), line).await;
        forget(&runner, name);
        runner.held.remove(name);
    });
}

/// It is over: the next life need not know of it. Where the note cannot be removed, that life reports it once more, and
/// is told that it is known.
pub(super) fn forget<L: Link>(runner: &Runner<L>, held: Held) {
    runner.journal.forget(held).ok();
}

/// Something that will not be run here, or could not.
struct Unrun {
    result: AttemptResult,
    events: Vec<Value>,
}

async fn see_through<L: Link>(mut told: Telling<'_, L>, hold: Arc<Hold>, line: StopLine) {
    let (runner, claim) = (Arc::clone(told.runner), told.claim.clone());
    let ready = tokio::select! {
        ready = blocking(move || ready(&runner, &claim)) => ready,
        // Nothing has begun, whatever is still looked up.
        cause = hold.stopped() => return not_begun(&mut told, cause).await,
    };
    let prepared = match ready {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(unrun)) => {
            let Unrun { result, events } = *unrun;
            told.say(ReportedStatus::Failed, result, events).await;
            return;
        }
        Err(error) => return failed(&mut told, &error.to_string()).await,
    };
    let run =
        match new_run().map_err(RunnerError::from).and_then(|run| told.note(run).map(|()| run)) {
            Ok(run) => run,
            Err(error) => return failed(&mut told, &error.to_string()).await,
        };
    let begun = AttemptResult {
        run: Some(run.to_string()),
        backend: Some(prepared.plan.backend.name().to_owned()),
        started_at: Some(Stamp::new(jiff::Timestamp::now())),
        ..AttemptResult::default()
    };
    if hold.cause().is_none() {
        let answer = told.say(ReportedStatus::Running, begun.clone(), Vec::new()).await;
        if answer.taken == Taken::Stale {
            return;
        }
        if answer.cancel {
            hold.stop(Cause::Canceled);
        }
    }
    if let Err(cause) = hold.begin() {
        return not_begun(&mut told, cause).await;
    }
    let performed = perform(&mut told, &hold, run, prepared, line, begun).await;
    if hold.cause() == Some(Cause::Dropped) {
        return;
    }
    match performed {
        Ok(Ended { status, result, events }) => {
            told.say(status, result, events).await;
        }
        Err(error) => failed(&mut told, &error.to_string()).await,
    }
}

/// It was told to stop before anything began.
async fn not_begun<L: Link>(told: &mut Telling<'_, L>, cause: Cause) {
    match cause {
        Cause::Dropped => {}
        // Where the server has asked for its end, it takes either word for that.
        Cause::Canceled | Cause::Drained if told.is_silent() => {
            told.say(ReportedStatus::Released, AttemptResult::default(), Vec::new()).await;
        }
        Cause::Canceled | Cause::Drained => {
            let message = "it was stopped before its command was started".to_owned();
            let result = AttemptResult {
                message: Some(message),
                outcome: Some("canceled".to_owned()),
                ..AttemptResult::default()
            };
            told.say(ReportedStatus::Canceled, result, Vec::new()).await;
        }
    }
}

/// The runner could not do its part.
async fn failed<L: Link>(told: &mut Telling<'_, L>, message: &str) {
    let result = AttemptResult {
        message: Some(message.to_owned()),
        outcome: Some("sandbox_failure".to_owned()),
        ..AttemptResult::default()
    };
    told.say(ReportedStatus::Failed, result, vec![outcome::failed(message)]).await;
}

/// Judges a task by this host: all that can be refused is refused here, and written down.
fn ready<L: Link>(runner: &Runner<L>, claim: &Claim) -> Result<Prepared, Box<Unrun>> {
    let mut workspace = None;
    let decided = decide(runner, claim, &mut workspace);
    decided.map_err(|refusal| {
        let command: Vec<Arg> =
            command(&claim.task.asked).iter().map(|word| Arg(word.into())).collect();
        let workspace: ExactPath = workspace.unwrap_or_else(|| runner.setup.work.clone()).into();
        // Tasks have no values of secrets in them: those come in by name.
        let attempt = Attempt { command: &command, workspace: &workspace, secrets: &[] };
        let record = reject(&runner.state, &runner.actor, attempt, &refusal);
        let message = match &record {
            Ok(_) => refusal.to_string(),
            Err(error) => format!("{refusal}; and that could not be written down here: {error}"),
        };
        let class = outcome::of_refusal(&refusal);
        let mut events = vec![outcome::rejected(&refusal)];
        if class == OutcomeClass::SandboxFailure {
            events.push(outcome::failed(&message));
        }
        let result = AttemptResult {
            run: record.ok().map(|record| record.run.to_string()),
            message: Some(message),
            outcome: Some(outcome::name(class)),
            ..AttemptResult::default()
        };
        Box::new(Unrun { result, events })
    })
}

fn decide<L: Link>(
    runner: &Runner<L>,
    claim: &Claim,
    workspace: &mut Option<std::path::PathBuf>,
) -> Result<Prepared, Refusal> {
    let setup = &runner.setup;
    let place = Ground { work: &setup.work }.of(claim)?;
    let order = order(claim, workspace.insert(place));
    let request = setup.desk.request(&order)?;
    let prepared = prepare(&request, &setup.state, &setup.around)?;
    if prepared.plan.backend == Backend::Local {
        return Err(Refusal {
            rule: cofferdam_core::refusal::Rule::BackendUsable,
            field: "sandbox.backend".to_owned(),
            message: "tasks of a server are never run on the bare host".to_owned(),
            remedy: "`cofferdam doctor` says what the host lacks for a sandbox".to_owned(),
        });
    }
    image::fetch(&prepared, &setup.around, &mut |_| {}, &mut |_| {})?;
    Ok(prepared)
}

/// What is to be reported of a run that was carried out.
struct Ended {
    status: ReportedStatus,
    result: AttemptResult,
    events: Vec<Value>,
}

/// Events as they come, and that the sandbox stands.
#[derive(Debug, Default)]
struct Heard {
    events: Mutex<Vec<Value>>,
    container: Mutex<Option<String>>,
    stands: Notify,
}

impl Heard {
    fn hear(&self, event: &serde_json::Map<String, Value>) {
        if event.get("type").and_then(Value::as_str) == Some("sandbox.started") {
            let container = event.get("container_id").and_then(Value::as_str).map(str::to_owned);
            *self.container.lock().unwrap_or_else(PoisonError::into_inner) = container;
            self.stands.notify_one();
        }
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.push(Value::Object(event.clone()));
    }

    fn take(&self) -> (Vec<Value>, Option<String>) {
        let events =
            std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner));
        (events, self.container.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

async fn perform<L: Link>(
    told: &mut Telling<'_, L>,
    hold: &Arc<Hold>,
    run: RunId,
    prepared: Prepared,
    line: StopLine,
    begun: AttemptResult,
) -> Result<Ended, RunnerError> {
    let runner = Arc::clone(told.runner);
    let broken = |error: io::Error| RunnerError::Broken(error.to_string());
    let (stdout, stdout_to) = io::pipe().map_err(broken)?;
    let (stderr, stderr_to) = io::pipe().map_err(broken)?;
    let heard = Arc::new(Heard::default());
    let is_native = prepared.plan.backend == Backend::Native;
    let redactor = redactor(&prepared.plan);
    let hidden = Hidden::Values(redactor.clone());
    let carried = {
        let (runner, claim, note) =
            (Arc::clone(&runner), told.claim.clone(), Arc::clone(told.note));
        let heard = Line { is_heard: true, ..told.line(run) };
        tokio::spawn(async move {
            let to = Listener::of(&runner.link, &claim);
            // Where it cannot be noted, the next life says it all once more, and that changes nothing.
            let first = || note.write(&heard).ok();
            logs::carry(&to, Pipes { stdout, stderr }, redactor, first).await
        })
    };
    let running = {
        let (runner, heard) = (Arc::clone(&runner), Arc::clone(&heard));
        let work = move || {
            let hearing = Hearing::new(move |event| heard.hear(event));
            let launcher = runner.launcher()?;
            let led = Led { run, launcher: &launcher, stop: &line, hearing: &hearing };
            let (stdout, stderr) = (Some(stdout_to.as_fd()), Some(stderr_to.as_fd()));
            let streams = Streams { stdin: None, stdout, stderr };
            let performed = perform_led(led, &runner.state, &runner.actor, &prepared, streams);
            record(&runner, performed)
        };
        tokio::spawn(blocking(work))
    };
    let mut running = std::pin::pin!(running);
    let record = tokio::select! {
        ended = &mut running => ended,
        () = stands(&heard, is_native) => {
            let (events, container_id) = heard.take();
            let result = AttemptResult { container_id, ..begun };
            if told.say(ReportedStatus::Running, result, events).await.cancel {
                hold.stop(Cause::Canceled);
            }
            running.await
        }
    };
    let record = record.map_err(|error| RunnerError::Broken(error.to_string()))???;
    let carried = carried.await.map_err(|error| RunnerError::Broken(error.to_string()))?;
    let (mut events, container_id) = heard.take();
    if hold.cause() != Some(Cause::Dropped) {
        events.extend(artifacts::hand_in(&runner, &told.line(run), &record, hidden).await);
    }
    let (status, result) = outcome::of_record(&record);
    let output_tail = carried.ok().and_then(|carried| carried.tail());
    Ok(Ended { status, result: AttemptResult { container_id, output_tail, ..result }, events })
}

/// Waits until the sandbox stands, and is worth a word of its own.
async fn stands(heard: &Heard, is_native: bool) {
    heard.stands.notified().await;
    if is_native {
        tokio::time::sleep(WORTH_TELLING).await;
    }
}

/// The record of a run, once nothing of it is left. What could not be confirmed to be gone is cleaned up until it is, for a time.
fn record<L: Link>(
    runner: &Runner<L>,
    performed: Result<Record, RunError>,
) -> Result<Record, RunnerError> {
    let mut record = match performed {
        Ok(record) => record,
        // It ran: that its record is missing here does not change how it went.
        Err(RunError::Unrecorded { record, .. }) => *record,
        Err(error) => return Err(RunnerError::Broken(error.to_string())),
    };
    let until = std::time::Instant::now() + CLEAN_UP;
    let is_gone = |record: &Record| {
        record.cleanup.as_ref().is_some_and(|cleanup| cleanup.receipt == CleanupReceipt::Terminated)
    };
    while !is_gone(&record) && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(500));
        reconcile(&runner.state, &runner.actor)?;
        record = Store::new(&runner.state).record(record.run)?;
    }
    if !is_gone(&record)
        && let Some(outcome) = &mut record.outcome
    {
        let left = record.cleanup.as_ref().map(|cleanup| cleanup.left.join(", "));
        outcome.class = OutcomeClass::SandboxFailure;
        outcome.message =
            Some(format!("what is left of it could not be removed: {}", left.unwrap_or_default()));
    }
    Ok(record)
}
