//! Images: brought in before a run that is in one, where the plan says so; and made of a project.
//!
//! - [`fetch`]: between `prepare` and `perform`.
//! - [`project`]: the files that say what a project is.
//! - [`Draft`]: a Dockerfile and what it is built from, read and looked at; [`Order`]: how it is to be built;
//!   [`store`]: what was built.
//! - [`shelf`]: what of it an engine has; [`check`] and [`scan`]: whether it is any good.

mod build;
pub mod check;
mod context;
mod digests;
mod draft;
pub mod project;
pub mod scan;
pub mod shelf;
pub mod store;

use cofferdam_core::config::Key;
use cofferdam_core::image::ImageRef;
use cofferdam_core::inert::Inert;
use cofferdam_core::plan::Root;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::spec::{Fetch, Pull, Threshold};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

use crate::backend::docker;
use crate::cause;
pub use crate::engine::Progress;
use crate::engine::{Engine, Patience, Surroundings, at};
use crate::run::Prepared;
pub use build::{BuildError, Built, Order, engine};
pub use context::ContextError;
pub use digests::digests;
pub use draft::{Draft, DraftError, approval};

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

/// The image that was built of a workspace last, if the engine still has that very one. One that the gate does not
/// let through is refused, and not passed over for something else.
pub(crate) fn own(
    state: &Path,
    workspace: &Path,
    engine: &Engine,
    gate: Threshold,
) -> Result<Option<ImageRef>, Refusal> {
    let refuse = |field: Key, message: String, remedy: &str| Refusal {
        rule: Rule::BackendUsable,
        field: field.name().to_owned(),
        message,
        remedy: remedy.to_owned(),
    };
    let known = store::known(state, workspace).map_err(|error| {
        refuse(
            Key::SandboxImage,
            cause::in_words(&error),
            "remove that file, and build the image again",
        )
    })?;
    let Some(build) = known.current(&engine.at) else { return Ok(None) };
    let found = engine.get::<Value>(&format!("/images/{}/json", build.image), Patience::Short);
    match found {
        Ok(found) if at(&found, &["Id"]).as_str() == Some(&build.id) => {}
        Ok(_) => {
            let message =
                format!("{} is not the image that was built of this project", build.image);
            return Err(refuse(Key::SandboxImage, message, "cofferdam image build --anew"));
        }
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => {
            return Err(refuse(Key::SandboxImage, error.to_string(), "look at the engine's log"));
        }
    }
    match &build.scan {
        _ if gate == Threshold::Off => {}
        None => {
            let message = format!("{} was not scanned", build.image);
            return Err(refuse(Key::ImagesGate, message, "cofferdam image scan"));
        }
        Some(findings) => {
            let worst = findings.iter().filter(|finding| finding.severity.reaches(gate)).count();
            if worst > 0 {
                let message =
                    format!("{} has {worst} findings of severity {gate} or worse", build.image);
                return Err(refuse(
                    Key::ImagesGate,
                    message,
                    "cofferdam image scan shows them; images.gate sets the bound",
                ));
            }
        }
    }
    Ok(Some(build.image.clone()))
}
