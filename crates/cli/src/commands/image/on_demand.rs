//! The build that a run begins with, where `images.auto_build` asks for one.

use std::path::Path;

use cofferdam_core::backend::Backend;
use cofferdam_core::config::{Key, Settings};
use cofferdam_core::control::task::ExecutionMode;
use cofferdam_core::inert::Inert;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_sandbox::engine::Engine;
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
    make(settings, workspace, context, || {
        say("building the project's image, whose files have changed");
    })
}

/// The same for a task of a server. One that works in a worktree is refused where there is something to build: an
/// image belongs to the project's own tree, and what was approved there says nothing of another.
pub(crate) fn build_for_task(
    settings: &Settings,
    workspace: &Path,
    mode: ExecutionMode,
    context: &Context,
) -> Result<(), Refusal> {
    if mode != ExecutionMode::IsolatedWorktree {
        return make(settings, workspace, context, || {});
    }
    match draft(settings, workspace, context)? {
        None => Ok(()),
        Some(_) => Err(Refusal {
            rule: Rule::BackendUsable,
            field: Key::ImagesAutoBuild.name().to_owned(),
            message: "a project's image is built of its own tree, and this task works in a worktree".to_owned(),
            remedy: "name an image with sandbox.image, set sandbox.backend to native, or use execution_mode shared-workspace"
                .to_owned(),
        }),
    }
}

/// What there is to build, and by whom.
fn draft(
    settings: &Settings,
    workspace: &Path,
    context: &Context,
) -> Result<Option<(Draft, Engine)>, Refusal> {
    let backend = settings.sandbox.backend;
    if backend.named().is_some_and(|named| !matches!(named, Backend::Docker | Backend::Podman)) {
        return Ok(None);
    }
    let Ok(engine) = engine(backend, &context.engines()) else { return Ok(None) };
    let Ok(root) = std::fs::canonicalize(workspace) else { return Ok(None) };
    let network = network(settings)?;
    let file = root.join(&settings.images.dockerfile);
    match Draft::read(&root, &file, network, &settings.sandbox.blocked) {
        // Of a part of a project there is no image of its own.
        Err(DraftError::Missing(_) | DraftError::Outside(_)) => Ok(None),
        draft => Ok(Some((draft.map_err(refused)?, engine))),
    }
}

fn make(
    settings: &Settings,
    workspace: &Path,
    context: &Context,
    tell: impl Fn(),
) -> Result<(), Refusal> {
    let Some((draft, engine)) = draft(settings, workspace, context)? else { return Ok(()) };
    let around = context.engines();
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
            tell();
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
