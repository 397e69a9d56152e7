//! Images: brought in before a run that is in one, where the plan says so.

use cofferdam_core::config::Key;
use cofferdam_core::inert::Inert;
use cofferdam_core::plan::Root;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::spec::{Fetch, Pull};
use std::time::Duration;

use crate::backend::docker;
pub use crate::engine::Progress;
use crate::engine::Surroundings;
use crate::run::Prepared;

/// Fetches the image of a run that is about to start, if it has to be. To be called between `prepare` and
/// `perform`: a run without its image is not begun. `begin` is called with its name, if it has to be.
pub fn fetch(
    prepared: &Prepared,
    around: &Surroundings,
    begin: &mut dyn FnMut(&str),
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Refusal> {
    let Root::Image { image, fetch: Fetch { pull, timeout }, .. } = &prepared.plan.root else {
        return Ok(());
    };
    let Some(engine) = prepared.engine() else { return Ok(()) };
    let refused = |why: &dyn std::fmt::Display| Refusal {
        rule: Rule::BackendUsable,
        field: Key::SandboxImage.name().to_owned(),
        message: Inert::line(&format!("cannot have the image {image}: {why}")).to_string(),
        remedy: format!("look whether the registry has it and you may see it: docker pull {image}"),
    };
    let wanted = match pull {
        Pull::Never => false,
        Pull::Always => true,
        Pull::Missing => !docker::has_image(engine, image).map_err(|error| refused(&error))?,
    };
    if !wanted {
        return Ok(());
    }
    begin(image.as_str());
    let patience = Duration::from_millis(timeout.millis);
    engine.pull(image, &around.docker_config, patience, progress).map_err(|error| refused(&error))
}
