//! What this host can enforce, found out by trying, each shortcoming with its remedy.
//!
//! [`examine`] looks and returns one [`Check`] a question; [`verdict`] says from those which backends
//! can serve. In each file the looking is apart from the judging: `examine` gathers facts, `judge` turns
//! facts into checks and touches nothing.
//!
//! Nothing is left behind: what a trial makes, it removes. Nothing waits for ever: a socket gets two
//! seconds. The calling process must be single-threaded, since namespaces are tried in a forked child.

use std::path::PathBuf;

use cofferdam_core::backend::Backend;

use crate::engine::Surroundings;

mod cgroup;
mod check;
mod engine;
mod filter;
mod kernel;
mod namespace;
mod overlay;
mod privilege;
mod sandbox;
mod state;
pub(crate) mod trial;
mod verdict;

pub use check::{Check, Status};
pub use verdict::{BackendVerdict, verdict};

/// Who asks, and where they keep things. The library reads no environment, so the caller brings it.
#[derive(Debug, Clone)]
pub struct Place {
    pub state_dir: PathBuf,
    /// Directories in which programs are looked for.
    pub path: Vec<PathBuf>,
    pub engines: Surroundings,
}

impl Place {
    fn who(&self) -> Who {
        if self.engines.uid == 0 { Who::Root } else { Who::Ordinary }
    }
}

/// Root makes its sandboxes without a user namespace; everybody else needs one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Root,
    Ordinary,
}

/// Every check, in the order in which they are worth reading.
pub fn examine(place: &Place) -> Vec<Check> {
    let mut checks = native(place);
    checks.extend(engine::examine(place, engine::DOCKER));
    checks.extend(engine::examine(place, engine::PODMAN));
    checks.push(state::examine(place));
    checks
}

/// Only what decides about one backend; nothing else is touched.
pub fn examine_for(place: &Place, backend: Backend) -> Vec<Check> {
    let mut checks = match backend {
        Backend::Native => native(place),
        Backend::Docker => engine::examine(place, engine::DOCKER),
        Backend::Podman => engine::examine(place, engine::PODMAN),
        Backend::Local => Vec::new(),
    };
    checks.push(state::examine(place));
    checks
}

fn native(place: &Place) -> Vec<Check> {
    let mut checks = vec![kernel::examine(place), privilege::examine(place)];
    checks.extend(namespace::examine(place));
    checks.extend(overlay::examine(place));
    checks.extend(filter::examine());
    checks.extend(cgroup::examine(place));
    checks.push(sandbox::examine(place));
    checks
}
