//! A container that takes many commands: left to its occupant until the session is over.

use cofferdam_core::outcome::Outcome;
use cofferdam_core::plan::Plan;
use cofferdam_core::receipt::Holding;
use cofferdam_native::confined::Room;
use cofferdam_native::line::Caller;
use serde_json::Value;

use super::tally::Counters;
use super::{Trouble, run_labels, scratch};
use crate::backend::{Occupant, Stage};
use crate::engine::{Engine, at};

/// What a session begins with.
pub(super) struct Held<'a> {
    pub(super) caller: Caller,
    /// The container, as the engine has it.
    pub(super) found: &'a Value,
    pub(super) counters: Counters,
    pub(super) receipt: Vec<Holding>,
}

/// Keeps it until the end. Its first process ends with us, and the container with that.
pub(super) fn hold(
    held: Held<'_>,
    plan: &Plan,
    stage: &Stage<'_>,
    engine: &Engine,
    occupant: &dyn Occupant,
) -> Result<Outcome, Trouble> {
    let Held { caller, found, counters, receipt } = held;
    // What is changed is looked at while the session goes on.
    scratch::open_uppers(engine, stage.dir, &run_labels(stage.run, stage.state))?;
    let room = Room::of_container(caller, image_env(found), counters.into_files(), receipt)?;
    Ok(occupant.occupy(&room, plan, stage))
}

/// The variables that every process of the container has: the image's, and those that the engine was told.
fn image_env(found: &Value) -> Vec<(String, String)> {
    let all = at(found, &["Config", "Env"]).as_array().into_iter().flatten();
    let pairs = all.filter_map(|one| one.as_str()?.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_image_says_what_every_command_finds() {
        let found = json!({ "Config": { "Env": ["PATH=/opt/bin", "A=b=c", "odd"] } });
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(image_env(&found), [pair("PATH", "/opt/bin"), pair("A", "b=c")]);
        assert_eq!(image_env(&json!({})), []);
    }
}
