//! Docker and Podman, one implementation: a plan becomes a container, which is made, looked at, started, watched
//! and removed.
//!
//! [`run`] is read first. `request` says the plan in the engine's words, `compare` looks whether the engine made
//! what it was told, `workspace` and `root` make ready what is mounted, `watch` sees it through, `clean` takes
//! everything away again, also for owners that died.
//!
//! The engine is spoken with through its socket and by ids; no program of its own is ever started.

mod call;
mod caps;
mod chore;
mod clean;
mod compare;
mod create;
mod effective;
mod far;
mod hold;
mod mountinfo;
mod outcome;
mod request;
mod root;
mod scratch;
mod tally;
#[cfg(test)]
mod tests;
mod ulimit;
mod watch;
mod workspace;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cofferdam_core::caps::Guarantee;
use cofferdam_core::image::ImageRef;
use cofferdam_core::mount::HostPath;
use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::plan::{Plan, Profile, Root};
use cofferdam_core::receipt::{self, Cleanup, CleanupReceipt, Violation};
use cofferdam_core::record::Usage;
use cofferdam_core::spec::{Network, Seccomp};
use cofferdam_native::first::Owner;
use cofferdam_native::line::{Caller, Line};
use cofferdam_native::outside::{self, User};
use cofferdam_native::process::is_null_device;
use cofferdam_native::prove;
use cofferdam_native::supervise::Notice;
use cofferdam_native::{COPY, RESULT, SysError, UPPER};
use rustix::fs::fstat;
use serde_json::{Value, json};

use super::bounds::patience;
use super::local::{NAME_A_DIRECTORY, passage};
use super::{Finish, Observer, Stage, Standing, native};
use crate::engine::{Engine, EngineError, Flavor, Patience, Sight, at};
use crate::first::runs_anywhere;
use crate::host::look_up;
use crate::runs::current_owner;
use crate::state::{StateError, write_atomically};
pub(crate) use caps::{caps, unfit};
pub(crate) use chore::{in_image, trial};
pub(crate) use clean::{Cleared, clear, end_processes, marked, sweep};
use create::CreateRequest;
use effective::{Kernel, Process};
use hold::{Held, hold};
use outcome::Said;
use request::{First, Ground, Stdin, Unfit};
pub(crate) use scratch::remove as remove_scratch;
use tally::Counters;
use watch::{Lost, Running, watch};
use workspace::Place;

/// What our containers and volumes carry: the run, who runs it, the hash of what it is confined by, and the
/// state directory that knows of it.
pub(crate) const LABEL_RUN: &str = "cofferdam.run";
const LABEL_OWNER: &str = "cofferdam.owner";
const LABEL_POLICY: &str = "cofferdam.policy";
const LABEL_STATE: &str = "cofferdam.state";

/// In the run's directory: which engine has to be asked about what it left. Written before anything is made.
pub(crate) const NOTE: &str = "engine.json";

/// How long an engine that died may take to come back, so that we can clean up.
const COMING_BACK: Duration = Duration::from_secs(10);

/// Why a run did not come to the command's own end.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{}: {}", .0, .0.source)]
    Sys(#[from] SysError),
    #[error("{}{}", .0, because(.0))]
    State(#[from] StateError),
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("the image {name} is not there ({said})")]
    NoImage { name: String, said: String },
    #[error(transparent)]
    Unfit(#[from] Unfit),
    #[error("the engine made another container than it was told: {}", .0.join("; "))]
    Different(Vec<String>),
    #[error("{} is not what it was when the run was planned", .0.display())]
    Changed(PathBuf),
    #[error("the working directory {} is not there", .0.display())]
    Workdir(PathBuf),
    #[error("the system call filter {} cannot be used: {why}", path.display())]
    Filter { path: PathBuf, why: String },
    #[error("the container's first process is not as planned: {0}")]
    Violation(String),
    #[error("{0}")]
    Violated(Violation),
    #[error("what is forbidden can be tried only in {0}")]
    Unproved(&'static str),
    #[error("the container's first process did not come to start anything: {0}")]
    First(String),
    #[error("a session needs {0}")]
    NoSession(&'static str),
    #[error("stopped by signal {0}")]
    Canceled(i32),
    #[error("lost the container: {0}")]
    Lost(#[from] Lost),
}

fn because(error: &dyn std::error::Error) -> String {
    error.source().map(|source| format!(": {source}")).unwrap_or_default()
}

/// Carries a plan out in a container.
pub(crate) fn run(plan: &Plan, stage: &Stage<'_>, observer: &mut dyn Observer) -> Finish {
    let Some(engine) = stage.engine else {
        let message = "there is no engine to run it";
        let outcome = Outcome::ended(OutcomeClass::SandboxFailure, None, message);
        return Finish { outcome, usage: None, cleanup: Cleanup::terminated() };
    };
    let ended = carry_out(plan, stage, engine, observer);
    if let Err(Trouble::Violated(violation)) = &ended {
        observer.violated(violation);
    }
    let cleared = clear_up(&ended, stage, engine);
    let (outcome, usage) = match ended {
        Ok(ended) => ended,
        Err(Trouble::Canceled(signal)) => {
            let message = format!("stopped by signal {signal} before it was started");
            (Outcome::ended(OutcomeClass::Canceled, Some(signal), message), None)
        }
        Err(trouble @ Trouble::Workdir(_)) => {
            let message = format!("{trouble}; remedy: {NAME_A_DIRECTORY}");
            (Outcome::ended(OutcomeClass::Refused, None, message), None)
        }
        Err(trouble) => {
            (Outcome::ended(OutcomeClass::SandboxFailure, None, trouble.to_string()), None)
        }
    };
    let receipt = if cleared.left.is_empty() {
        CleanupReceipt::Terminated
    } else {
        CleanupReceipt::Unconfirmed
    };
    Finish { outcome, usage, cleanup: Cleanup { receipt, left: cleared.left } }
}

type Ended = (Outcome, Option<Usage>);

fn carry_out(
    plan: &Plan,
    stage: &Stage<'_>,
    engine: &Engine,
    observer: &mut dyn Observer,
) -> Result<Ended, Trouble> {
    // Whoever has to clean up after us must know whom to ask.
    note(stage, engine)?;
    go_on(stage)?;
    // What the container is made of, looked up and made ready.
    let labels = labels(plan, stage);
    let source = &plan.workspace.source.real;
    let meta = fs::metadata(source).map_err(|error| Trouble::Io {
        action: "look at",
        path: source.0.clone(),
        source: error,
    })?;
    let user = User::for_workspace(&meta);
    check_workdir(plan, stage.dir)?;
    let filter = filter(plan)?;
    let image = image(plan, engine)?;
    let place = Place { run: stage.run, dir: stage.dir, mounts: stage.mounts, labels: &labels };
    let mut ready = workspace::ready(plan, &place, engine)?;
    let (first, mut shown) = match plan.root {
        Root::Host { .. } => (First::Ours, root::shown(stage.dir, user, plan, engine.flavor)?),
        _ if engine.sight == Sight::Same && runs_anywhere(stage.program) => {
            (First::Ours, Vec::new())
        }
        _ => (First::Engines, Vec::new()),
    };
    let kernel =
        if engine.shares_kernel(plan.runtime.as_deref()) { Kernel::Hosts } else { Kernel::Other };
    // A kernel of its own passes no socket of the host's through.
    let owner = match (first, kernel) {
        (First::Ours, Kernel::Hosts) => Owner::Listens,
        _ => Owner::IsFarAway,
    };
    if stage.session.is_some() && owner == Owner::IsFarAway {
        return Err(Trouble::NoSession(NEEDED));
    }
    if first == First::Ours {
        shown.extend(root::first(stage.dir, user, stage.program, plan, &ready.placeholders)?);
    }
    let result = plan.result.as_ref().map(|_| result_place(stage.dir, user)).transpose()?;
    let line = (owner == Owner::Listens).then(|| root::line(stage.dir)).transpose()?;
    let request = request::request(
        plan,
        &Ground {
            run: stage.run.to_owned(),
            labels,
            user,
            image: image.id.clone(),
            workspace: ready.workspace,
            repository: ready.repository,
            covers: ready.covers,
            result,
            first,
            owner,
            shown,
            filter,
            stdin: stdin_kind(stage),
            processors: engine.processors.unwrap_or(1).max(1),
            flavor: engine.flavor,
            rights: engine.rights,
            ulimits: ulimit::ulimits(engine.flavor),
            machine: engine.machine,
        },
    )?;
    // Made, but not started before it is seen to be what was asked for.
    go_on(stage)?;
    let id = create(engine, &request, stage.run)?;
    let inspect = format!("/containers/{id}/json");
    let mut found = look(engine, &inspect)?;
    if plan.runtime.is_some() && engine.flavor == Flavor::Podman {
        name_runtime(engine, &id, &mut found)?;
    }
    let differences = compare::differences(&request, &found, engine.flavor);
    if !differences.is_empty() {
        return Err(Trouble::Different(differences));
    }
    still_the_same(plan)?;
    if engine.sight == Sight::Other {
        ready.hidden = far::send(engine, &id, plan, stage.dir, user)?;
    }
    go_on(stage)?;
    // Its streams and the question how it ends come first, so that nothing is missed.
    let mut attached = engine.attach(&attach(&id, &request))?;
    let mut end = engine.await_answer(&format!("/containers/{id}/wait?condition=next-exit"))?;
    if engine.sight == Sight::Other {
        // On the way there one question can overtake another.
        engine.is_heard(&mut end)?;
    }
    let started = Instant::now();
    engine.tell(&format!("/containers/{id}/start"), Patience::Long)?;
    let call = |line: &Line| call::answered(line, &mut end, &mut attached);
    let caller = line.as_ref().map(call).transpose()?;
    drop(line);
    let pid = match caller.as_ref().and_then(Caller::pid) {
        Some(pid) => pid,
        None => pid(engine, &inspect)?,
    };
    // Of another machine's processes nothing is to be seen here, whatever their numbers.
    let pid = if engine.sight == Sight::Same { pid } else { 0 };
    let counters = Counters::of(pid);
    let layered = ready.layered;
    let process = match effective::process(pid, plan, user, &ready.hidden, &layered) {
        Process::Otherwise(what) => return Err(Trouble::Violation(what)),
        // Only the kernel tells what such a mount is made of.
        Process::Unseen if !layered.is_empty() => {
            return Err(Trouble::Violation("nothing is seen of its mounts".to_owned()));
        }
        process => process,
    };
    // Not only seen: tried. Who calls us has started nothing yet.
    let probes = match &caller {
        Some(caller) => {
            let hidden = ready.hidden.iter().map(|path| plan.workspace.target.join(path));
            let ground = prove::Ground {
                proof: plan.proof,
                is_alone: plan.network == Network::None,
                is_filtered: false,
                hidden: hidden.collect(),
            };
            caller.prove(&ground)?.map_err(Trouble::Violated)?
        }
        None if !plan.proof.is_quick() => return Err(Trouble::Unproved(NEEDED)),
        None => Vec::new(),
    };
    if let (Some(caller), None) = (&caller, stage.session) {
        caller.begin()?;
    }
    // The container has its mounts; ours have served.
    let left = outside::withdraw(stage.dir, stage.mounts);
    // What would not go is tried again at the end, and told then. The same for what is secret.
    drop(left);
    fs::remove_file(stage.dir.join(root::SECRETS)).ok();
    let mut effective = effective::settings(engine, &found);
    if !image.digests.is_empty() {
        effective.insert("image_digests".to_owned(), json!(image.digests));
    }
    if !ready.unprotected.is_empty() {
        let names: Vec<_> = ready.unprotected.iter().map(|p| p.display().to_string()).collect();
        effective.insert("blocked_unprotected".to_owned(), json!(names));
    }
    let mut receipt = effective::receipt(plan, (first, kernel), &found, &process, &ready.hidden);
    receipt::attach(&mut receipt, probes);
    if engine.sight == Sight::Other {
        let blocked = receipt.iter_mut().filter(|held| held.guarantee == Guarantee::BlockedPaths);
        blocked.for_each(|held| held.mechanism = "not sent to the engine".to_owned());
    }
    observer.standing(Standing {
        container_id: Some(id.clone()),
        image_digest: Some(image.id),
        effective,
        receipt: receipt.clone(),
    });
    observer.at_leisure();
    // A container is never over at once.
    observer.notice(&Notice::Lasting);
    let caller = match (caller, stage.session) {
        (Some(caller), Some(occupant)) => {
            let held = Held { caller, found: &found, counters, receipt };
            return Ok((hold(held, plan, stage, engine, occupant)?, None));
        }
        (caller, _) => caller,
    };
    let running =
        Running { engine, id: &id, attached, end, started, terminal: plan.terminal, counters };
    let streams = if request.open_stdin {
        stage.streams
    } else {
        super::Streams { stdin: None, ..stage.streams }
    };
    let watched =
        watch(running, passage(streams), patience(plan, stage.dir), stage.signals, observer)?;
    let took = started.elapsed();
    let found = look(engine, &inspect)?;
    let (said, usage) = match caller.map(|caller| caller.end(took)) {
        None => (Said::ByEngine, None),
        Some(None) => (Said::Nothing, None),
        Some(Some((status, usage, again))) => {
            if let Some(outcome) = native::after(again, observer) {
                return Ok((outcome, Some(usage)));
            }
            (Said::ByFirst(status), Some(usage))
        }
    };
    Ok((outcome::outcome(plan, at(&found, &["State"]), &watched, said), usage))
}

/// What the first process must be to take the commands of a session.
const NEEDED: &str = "a container in which this program runs and reaches the host's sockets: leave the image and \
                      the runtime out, or use a cofferdam that is linked without shared libraries";

/// Whether somebody has told us to stop. From the start on, signals are the container's.
fn go_on(stage: &Stage<'_>) -> Result<(), Trouble> {
    const STOPPING: [i32; 4] = [1, 2, 3, 15];
    while let Some(signal) = stage.signals.next()? {
        if STOPPING.contains(&signal) {
            return Err(Trouble::Canceled(signal));
        }
    }
    Ok(())
}

/// Whole or not at all: without it, nothing was asked of any engine.
fn note(stage: &Stage<'_>, engine: &Engine) -> Result<(), Trouble> {
    let path = stage.dir.join(NOTE);
    let text = serde_json::to_vec(engine).map_err(|error| Trouble::Io {
        action: "write",
        path: path.clone(),
        source: error.into(),
    })?;
    Ok(write_atomically(&path, &text)?)
}

fn labels(plan: &Plan, stage: &Stage<'_>) -> BTreeMap<String, String> {
    let owner = current_owner();
    let profile = serde_json::to_vec(&Profile::of(plan)).unwrap_or_default();
    let policy = blake3::hash(&profile).to_hex()[..32].to_owned();
    let owner = format!("{}:{}:{}", owner.pid, owner.start_ticks, owner.boot_id);
    let mut labels = run_labels(stage.run, stage.state);
    labels.insert(LABEL_OWNER.to_owned(), owner);
    labels.insert(LABEL_POLICY.to_owned(), policy);
    labels
}

/// By which a run's things are found again.
pub(crate) fn run_labels(run: &str, state: &Path) -> BTreeMap<String, String> {
    [(LABEL_RUN, run.to_owned()), (LABEL_STATE, state_label(state))]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

/// A state directory as it stands on labels: everybody who may use the engine can read those.
pub(crate) fn state_label(state: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    blake3::hash(state.as_os_str().as_bytes()).to_hex()[..32].to_owned()
}

/// The place of the result, for the container's user alone.
fn result_place(dir: &Path, user: User) -> Result<PathBuf, Trouble> {
    let place = dir.join(RESULT);
    let made = fs::create_dir(&place)
        .and_then(|()| fs::set_permissions(&place, fs::Permissions::from_mode(0o700)))
        .and_then(|()| chown(&place, Some(user.uid), Some(user.gid)));
    made.map_err(|source| Trouble::Io { action: "make", path: place.clone(), source })?;
    Ok(place)
}

/// A runtime makes a working directory that is missing, as root, and that may be in the user's own tree.
fn check_workdir(plan: &Plan, dir: &Path) -> Result<(), Trouble> {
    let Ok(below) = plan.workdir.strip_prefix(&plan.workspace.target) else { return Ok(()) };
    if plan.mounts.iter().any(|mount| plan.workdir.starts_with(&mount.target)) {
        return Ok(());
    }
    // A run that goes on from another may find it in the layer above the host's.
    let host = plan.workspace.source.real.join(below);
    let above = plan.from.as_ref().map(|_| fs::symlink_metadata(dir.join(UPPER).join(below)));
    let found = match above {
        _ if plan.copies() => fs::symlink_metadata(dir.join(COPY).join(below)),
        None => fs::metadata(&host),
        Some(Err(e)) if e.kind() == io::ErrorKind::NotFound => fs::metadata(&host),
        Some(above) => above,
    };
    match found {
        Ok(meta) if meta.is_dir() => Ok(()),
        _ => Err(Trouble::Workdir(plan.workdir.0.clone())),
    }
}

fn filter(plan: &Plan) -> Result<Option<String>, Trouble> {
    let Some(Seccomp::File(path)) = &plan.seccomp else { return Ok(None) };
    let fail = |why: String| Trouble::Filter { path: path.0.clone(), why };
    let text = fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| fail(error.to_string()))?;
    if !value.is_object() {
        return Err(fail("it is no JSON object".to_owned()));
    }
    // On one line: engines compare it as text.
    Ok(Some(value.to_string()))
}

fn image(plan: &Plan, engine: &Engine) -> Result<root::Image, Trouble> {
    let Root::Image { image, .. } = &plan.root else { return root::image(engine) };
    let missing = || Trouble::NoImage { name: image.to_string(), said: "removed meanwhile".into() };
    root::named(engine, image.as_str())?.ok_or_else(missing)
}

/// Whether an engine has an image of that name.
pub(crate) fn has_image(engine: &Engine, image: &ImageRef) -> Result<bool, EngineError> {
    match engine.get::<Value>(&format!("/images/{image}/json"), Patience::Short) {
        Ok(_) => Ok(true),
        Err(error) if error.is_missing() => Ok(false),
        Err(error) => Err(error),
    }
}

fn stdin_kind(stage: &Stage<'_>) -> Stdin {
    match stage.streams.stdin {
        Some(fd) if !fstat(fd).is_ok_and(|stat| is_null_device(&stat)) => Stdin::Open,
        _ => Stdin::Empty,
    }
}

fn create(engine: &Engine, request: &CreateRequest, run: &str) -> Result<String, Trouble> {
    let target = format!("/containers/create?name=cofferdam-{run}");
    let made: Value = engine.post(&target, request, Patience::Long)?;
    match at(&made, &["Id"]).as_str() {
        Some(id) if id.bytes().all(|b| b.is_ascii_hexdigit()) && !id.is_empty() => {
            Ok(id.to_owned())
        }
        _ => Err(Trouble::Different(vec!["it has no id".to_owned()])),
    }
}

/// An engine looks for keys in what goes to a terminal, and lets go of the container when it sees them. Nobody
/// types these.
const NO_KEYS: &str = "ctrl-%5E,ctrl-_,ctrl-%5E,ctrl-_,ctrl-%5E,ctrl-_";

fn attach(id: &str, request: &CreateRequest) -> String {
    let stdin = if request.open_stdin { "&stdin=1" } else { "" };
    let keys = if request.tty { format!("&detachKeys={NO_KEYS}") } else { String::new() };
    format!("/containers/{id}/attach?stream=1&stdout=1&stderr=1{stdin}{keys}")
}

/// The last look at what will be mounted: a name may lead elsewhere by now.
fn still_the_same(plan: &Plan) -> Result<(), Trouble> {
    let mounts = plan.mounts.iter().map(|mount| &mount.source);
    let repository = plan.repository.iter().map(|repository| &repository.source);
    let paths = mounts.chain(&plan.toolchains).chain([&plan.workspace.source]);
    for path in paths.chain(repository) {
        let HostPath { real, identity, .. } = path;
        let same = look_up(real).is_ok_and(|now| now.identity == *identity && now.real == *real);
        if !same {
            return Err(Trouble::Changed(real.0.clone()));
        }
    }
    Ok(())
}

/// The first process's number on the engine's host; 0 where it has ended.
fn pid(engine: &Engine, inspect: &str) -> Result<u64, Trouble> {
    let found = look(engine, inspect)?;
    Ok(at(&found, &["State", "Pid"]).as_u64().unwrap_or(0))
}

/// Podman says which runtime it is only in its own dialect.
fn name_runtime(engine: &Engine, id: &str, found: &mut Value) -> Result<(), EngineError> {
    let own: Value = engine.get(&format!("/libpod/containers/{id}/json"), Patience::Short)?;
    let runtime = at(&own, &["OCIRuntime"]).as_str().map(caps::runtime_name);
    if let Some(seen) = found.pointer_mut("/HostConfig/Runtime") {
        *seen = runtime.into();
    }
    Ok(())
}

/// What the engine says about a container. Podman fails to say it of one that ends at that very moment.
fn look(engine: &Engine, inspect: &str) -> Result<Value, EngineError> {
    let deadline = Instant::now() + Duration::from_secs(3);
    loop {
        match engine.get(inspect, Patience::Short) {
            Err(error) if error.is_failure() && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            answer => return answer,
        }
    }
}

/// Everything goes, whatever happened. An engine that was lost is given time to come back.
fn clear_up(ended: &Result<Ended, Trouble>, stage: &Stage<'_>, engine: &Engine) -> Cleared {
    let lost = match ended {
        Err(Trouble::Lost(_)) => true,
        Err(Trouble::Engine(error)) => !error.is_answer(),
        _ => false,
    };
    let deadline = Instant::now() + if lost { COMING_BACK } else { Duration::ZERO };
    let mut cleared = loop {
        let cleared = clear(engine, stage.run, stage.dir, stage.mounts);
        if cleared.left.is_empty() || Instant::now() >= deadline {
            break cleared;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    if lost {
        clean::end_processes(stage.run, &mut cleared);
    }
    if cleared.left.is_empty() {
        cleared.left = scratch::remove(engine, stage.dir, &run_labels(stage.run, stage.state));
    }
    cleared
}
