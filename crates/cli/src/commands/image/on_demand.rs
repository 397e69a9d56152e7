//! The build that a run begins with, where `images.auto_build` asks for one.

use std::path::Path;

use cofferdam_core::backend::Backend;
use cofferdam_core::config::{Key, Settings};
use cofferdam_core::inert::Inert;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_sandbox::image::{BuildError, Draft, DraftError, Order, engine};
use cofferdam_sandbox::state::StateDir;

use super::build::{approved, failure, fetch, network};
use crate::asking::say;
use crate::context::Context;
use crate::failure::Failure;

/// Makes sure that the project's image is what its files say. A project without a Dockerfile has none, and a
/// run that no engine carries out needs none.
pub(crate) fn build(
    settings: &Settings,
    workspace: &Path,
    context: &Context,
) -> Result<(), Refusal> {
    let backend = settings.sandbox.backend;
    let around = context.engines();
    if backend.named().is_some_and(|named| !matches!(named, Backend::Docker | Backend::Podman)) {
        return Ok(());
    }
    let Ok(engine) = engine(backend, &around) else { return Ok(()) };
    let Ok(root) = std::fs::canonicalize(workspace) else { return Ok(()) };
    let network = network(settings)?;
    let file = root.join(&settings.images.dockerfile);
    let draft = match Draft::read(&root, &file, network, &settings.sandbox.blocked) {
        // Of a part of a project there is no image of its own.
        Err(DraftError::Missing(_) | DraftError::Outside(_)) => return Ok(()),
        draft => draft.map_err(refused)?,
    };
    if !approved(&draft, context).map_err(|failure| in_words(&failure))? {
        return Err(Refusal {
            rule: Rule::BackendUsable,
            field: Key::ImagesAutoBuild.name().to_owned(),
            message: format!("{} is not what you approved", Inert::path(&draft.path)),
            remedy: "read it, then `cofferdam image build --approve`".to_owned(),
        });
    }
    let order = Order {
        draft: &draft,
        engine: &engine,
        around: &around,
        fetch: fetch(settings),
        timeout: settings.images.timeout,
        actor: &context.actor,
        anew: false,
    };
    let state =
        StateDir::open(&context.state_dir).map_err(|error| refused(BuildError::from(error)))?;
    let mut is_told = false;
    let built = order.carry_out(&state, &mut |_| {
        if !std::mem::replace(&mut is_told, true) {
            say("building the project's image, whose files have changed");
        }
    });
    built.map(|_| ()).map_err(refused)
}

fn refused(error: impl Into<BuildError>) -> Refusal {
    in_words(&failure(error))
}

fn in_words(failure: &Failure) -> Refusal {
    Refusal {
        rule: Rule::BackendUsable,
        field: Key::ImagesAutoBuild.name().to_owned(),
        message: format!("the project's image cannot be built: {:#}", failure.error),
        remedy: failure.hints.join("; "),
    }
}
