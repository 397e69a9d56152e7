//! Whether an image is fit to work in: tried in a container of it that can do nothing else.

use serde::Serialize;

use super::build::BuildError;
use crate::backend::docker;
use crate::clock;
use crate::engine::Engine;
use crate::state::StateDir;

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tried {
    pub id: &'static str,
    pub holds: bool,
    pub what: &'static str,
    pub remedy: &'static str,
}

/// Each in its bit of the exit code, which begins here.
const BASE: i64 = 64;
const SCRIPT: &str = "r=64; test \"$(id -u)\" != 0 || r=$((r|1)); (: > /tmp/cofferdam-check) 2>/dev/null || r=$((r|2)); \
    command -v git > /dev/null 2>&1 || r=$((r|4)); exit $r";

/// Tries an image that the engine has.
pub fn check(state: &StateDir, engine: &Engine, id: &str) -> Result<Vec<Tried>, BuildError> {
    let code = run(state, engine, id)?;
    let bits = code.map(|code| code - BASE).filter(|bits| (0..8).contains(bits));
    let holds = |bit: i64| bits.is_some_and(|bits| bits & bit == 0);
    Ok(vec![
        Tried {
            id: "shell",
            holds: bits.is_some(),
            what: "a shell runs in it",
            remedy: "install one: most tools start commands through sh",
        },
        Tried {
            id: "user",
            holds: holds(1),
            what: "its user is not root",
            remedy: "end the Dockerfile with USER 1000:1000",
        },
        Tried {
            id: "tmp",
            holds: holds(2),
            what: "its user can write to /tmp",
            remedy: "have a directory /tmp of mode 1777 in the image",
        },
        Tried {
            id: "git",
            holds: holds(4),
            what: "git is there",
            remedy: "install git in the Dockerfile",
        },
    ])
}

/// The exit code of the script; none where it could not be started.
fn run(state: &StateDir, engine: &Engine, image: &str) -> Result<Option<i64>, BuildError> {
    // Whoever cleans up after the dead finds it by these.
    let run = clock::new_run_id(clock::now())?.to_string();
    let labels = docker::run_labels(&run, state.root());
    match docker::in_image(engine, image, SCRIPT, &labels)? {
        Ok(code) => Ok(Some(code)),
        // It has no such program.
        Err(error) if error.is_answer() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
