//! Which image a command is about: one that was named, or the project's own.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use cofferdam_core::config::{Entries, Key, Layer, Settings};
use cofferdam_core::image::ImageRef;
use cofferdam_sandbox::engine::Engine;
use cofferdam_sandbox::image::{engine, store};

use crate::asking::say;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::{self, real};

/// Flags that say which project and which engine.
#[derive(Debug, Args)]
pub(crate) struct WhichArgs {
    /// Directory of the project.
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
    /// Whose engine: docker, podman, auto.
    #[arg(long, value_name = "BACKEND")]
    sandbox: Option<String>,
}

/// A project, its settings, and the engine that has its images.
#[derive(Debug)]
pub(crate) struct Which {
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    engine: Option<Engine>,
}

impl WhichArgs {
    pub(crate) fn look(&self, context: &Context) -> Result<Which, Failure> {
        let root = real(&context.resolve(&self.workspace))?;
        let mut flags = Entries::default();
        if let Some(backend) = &self.sandbox {
            let set = flags.set_text(Key::SandboxBackend, backend, Layer::Flag, "--sandbox");
            set.map_err(|error| Failure::usage(error.to_string()))?;
        }
        let resolved =
            settings::load(context, &root, flags).map_err(|error| error.failure(Exit::Failed))?;
        resolved.warnings().iter().for_each(|warning| say(&format!("warning: {warning}")));
        let settings = resolved.settings();
        Ok(Which { root, settings, engine: None })
    }
}

impl Which {
    pub(crate) fn engine(&mut self, context: &Context) -> Result<&Engine, Failure> {
        let found = match self.engine.take() {
            Some(found) => found,
            None => engine(self.settings.sandbox.backend, &context.engines()).map_err(|lack| {
                Failure::new(Exit::Failed, anyhow!("{}", lack.reason)).hint(lack.remedy)
            })?,
        };
        Ok(self.engine.insert(found))
    }
}

/// The image that was named, or the one that was built last of the project.
pub(crate) fn image(
    named: Option<&ImageRef>,
    root: &Path,
    engine: &Engine,
    context: &Context,
) -> Result<Option<ImageRef>, Failure> {
    match named {
        Some(image) => Ok(Some(image.clone())),
        None => {
            let known = store::known(&context.state_dir, root)?;
            Ok(known.current(engine.endpoint()).map(|build| build.image.clone()))
        }
    }
}

/// There is nothing to look at.
pub(crate) fn none_built() -> Failure {
    Failure::new(Exit::Failed, anyhow!("no image was built of this project"))
        .hint("`cofferdam image build` builds it; or name an image")
}
