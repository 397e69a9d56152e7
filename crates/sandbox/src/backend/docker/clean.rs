//! Takes away what a run left in an engine and on the host, and looks whether it is gone. By the run's label,
//! never by a name: the same for a run that ended and for one whose owner died.

use std::path::Path;
use std::time::{Duration, Instant};

use cofferdam_native::{descendants, outside};
use serde_json::Value;

use super::{LABEL_RUN, LABEL_STATE, far};
use crate::backend::local::MARKER;
use crate::engine::{Engine, EngineError, Patience, Sight, at, labelled};

/// How long removed things may take to go.
const SETTLING: Duration = Duration::from_secs(10);

/// What was taken away, and what would not go.
#[derive(Debug, Default)]
pub(crate) struct Cleared {
    pub(crate) removed: Vec<String>,
    pub(crate) left: Vec<String>,
}

/// Clears everything of one run.
pub(crate) fn clear(engine: &Engine, run: &str, dir: &Path, place: &Path) -> Cleared {
    let mut cleared = Cleared::default();
    // Whatever is in there goes with it.
    if let Err(error) = far::bring_back(engine, run, dir) {
        cleared.left.push(format!("container of run {run}, with what it changed: {error}"));
        return cleared;
    }
    if let Err(error) = containers(engine, &format!("{LABEL_RUN}={run}"), &mut cleared.removed) {
        cleared.left.push(format!("container of run {run}: {error}"));
    }
    // Where we can mount ourselves, no engine was asked to.
    let is_ours = outside::can_show() && engine.sight == Sight::Same;
    let volumes = if is_ours { Vec::new() } else { volume_names(run) };
    for name in volumes {
        match volume(engine, &name) {
            Ok(true) => cleared.removed.push(format!("volume {name}")),
            Ok(false) => {}
            Err(error) => cleared.left.push(format!("volume {name}: {error}")),
        }
    }
    cleared.left.extend(outside::withdraw(dir, place));
    cleared
}

/// Of the workspace and of a repository outside it.
fn volume_names(run: &str) -> Vec<String> {
    vec![volume_name(run), repository_volume_name(run)]
}

pub(super) fn volume_name(run: &str) -> String {
    format!("cofferdam-{run}")
}

pub(super) fn repository_volume_name(run: &str) -> String {
    format!("cofferdam-{run}-git")
}

/// Ends what is left of a run's processes on this host. An engine that was killed may have forgotten a container whose
/// processes go on.
pub(crate) fn end_processes(run: &str, cleared: &mut Cleared) {
    let (ended, left) = descendants::end_marked(&format!("{MARKER}={run}"), SETTLING);
    let name = |pid: u32| format!("process {pid}");
    cleared.removed.extend(ended.into_iter().map(name));
    cleared.left.extend(left.into_iter().map(name));
}

/// What an engine has with our state directory's label on it.
#[derive(Debug)]
pub(crate) struct Marks(Vec<(Listing, Result<Vec<Marked>, EngineError>)>);

pub(crate) fn marked(engine: &Engine, state: &str) -> Marks {
    let label = format!("{LABEL_STATE}={state}");
    let lists = [Listing::Containers, Listing::Volumes];
    Marks(lists.into_iter().map(|list| (list, list.ask(engine, &label))).collect())
}

/// Removes of `found` what belongs to no run that is going on. Those are to be listed after `found`: then
/// nothing that was just begun is mistaken for something left over.
pub(crate) fn sweep(engine: &Engine, found: Marks, goes_on: impl Fn(&str) -> bool) -> Cleared {
    let mut cleared = Cleared::default();
    for (list, found) in found.0 {
        let kind = list.kind();
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                cleared.left.push(format!("{kind}s of this state directory: {error}"));
                continue;
            }
        };
        for Marked { id, run } in found {
            if run.as_deref().is_some_and(&goes_on) {
                continue;
            }
            match list.remove(engine, &id) {
                Ok(()) => cleared.removed.push(format!("{kind} {id}")),
                Err(error) => cleared.left.push(format!("{kind} {id}: {error}")),
            }
        }
    }
    cleared
}

/// Something with our label on it.
#[derive(Debug)]
struct Marked {
    id: String,
    run: Option<String>,
}

#[derive(Debug, Clone, Copy)]
enum Listing {
    Containers,
    Volumes,
}

impl Listing {
    fn kind(self) -> &'static str {
        match self {
            Self::Containers => "container",
            Self::Volumes => "volume",
        }
    }

    fn ask(self, engine: &Engine, label: &str) -> Result<Vec<Marked>, EngineError> {
        let filter = labelled(label);
        let (target, id) = match self {
            Self::Containers => (format!("/containers/json?all=1&filters={filter}"), "Id"),
            Self::Volumes => (format!("/volumes?filters={filter}"), "Name"),
        };
        let answer: Value = engine.get(&target, Patience::Short)?;
        let list = if matches!(self, Self::Volumes) { at(&answer, &["Volumes"]) } else { &answer };
        let marked = list.as_array().into_iter().flatten().filter_map(|one| {
            let run = at(one, &["Labels", LABEL_RUN]).as_str().map(str::to_owned);
            Some(Marked { id: at(one, &[id]).as_str()?.to_owned(), run })
        });
        Ok(marked.collect())
    }

    fn remove(self, engine: &Engine, id: &str) -> Result<(), EngineError> {
        match self {
            Self::Containers => remove(engine, id),
            Self::Volumes => volume(engine, id).map(|_| ()),
        }
    }
}

/// Removes every container with a label, until none is listed any more.
fn containers(engine: &Engine, label: &str, removed: &mut Vec<String>) -> Result<(), EngineError> {
    let deadline = Instant::now() + SETTLING;
    let (mut pause, mut removed_once) = (Duration::ZERO, false);
    loop {
        std::thread::sleep(pause);
        let found = Listing::Containers.ask(engine, label)?;
        if found.is_empty() {
            return Ok(());
        }
        for Marked { id, .. } in found {
            match remove(engine, &id) {
                // Podman fails to remove one that ends at that very moment.
                Err(error) if error.is_failure() && Instant::now() < deadline => continue,
                removed => removed?,
            }
            let name = format!("container {id}");
            if !removed.contains(&name) {
                removed.push(name);
            }
        }
        if Instant::now() >= deadline {
            return Err(EngineError::Hung { call: "the removal of a container".to_owned() });
        }
        // Once it is mostly gone at once.
        pause = if removed_once { Duration::from_millis(2) } else { Duration::ZERO };
        removed_once = true;
    }
}

/// Killed if need be, with its anonymous volumes. One that is gone, or going, is fine.
pub(super) fn remove(engine: &Engine, id: &str) -> Result<(), EngineError> {
    match engine.delete(&format!("/containers/{id}?force=1&v=1")) {
        Err(error) if error.is_missing() || error.is_conflict() => Ok(()),
        answer => answer,
    }
}

/// Whether there was one to remove.
fn volume(engine: &Engine, name: &str) -> Result<bool, EngineError> {
    match engine.delete(&format!("/volumes/{name}")) {
        Ok(()) => Ok(true),
        Err(error) if error.is_missing() => Ok(false),
        Err(error) => Err(error),
    }
}
