//! Builds the image of a project, where its inputs have changed since it was built.

use std::path::Path;
use std::time::Duration;

use cofferdam_core::backend::{Backend, BackendChoice};
use cofferdam_core::caps::Lack;
use cofferdam_core::event::{Event, EventKind};
use cofferdam_core::image::ImageRef;
use cofferdam_core::quantity::Span;
use cofferdam_core::spec::{Fetch, Network, Pull};
use serde_json::Value;

use super::context::{Context, ContextError};
use super::draft::{Draft, DraftError};
use super::store::{self, Build, key};
use crate::backend::docker;
use crate::clock;
use crate::engine::build::Build as Asked;
use crate::engine::{Engine, EngineError, Patience, Surroundings, at};
use crate::events::Journal;
use crate::state::{StateDir, StateError};

/// How it is to be built.
#[derive(Debug)]
pub struct Order<'a> {
    pub draft: &'a Draft,
    pub engine: &'a Engine,
    pub around: &'a Surroundings,
    /// What is done about bases that the engine has not.
    pub fetch: Fetch,
    pub timeout: Span,
    pub actor: &'a str,
    /// Built even where nothing has changed.
    pub anew: bool,
}

/// The image of a project, as it is in an engine now.
#[derive(Debug, Clone, PartialEq)]
pub struct Built {
    pub build: Build,
    /// It was there already.
    pub is_unchanged: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(transparent)]
    Context(#[from] ContextError),
    #[error("the engine has no image {0}, and nothing is fetched unasked")]
    NoBase(ImageRef),
    #[error("which image {0:?} is cannot be made out: write it without variables")]
    UnknownBase(String),
    #[error("{0} carries ONBUILD triggers, which are instructions that nobody here has seen")]
    Triggers(ImageRef),
    #[error("a build has the network none, bridge or host")]
    Network,
    #[error("{0}")]
    Engine(String),
    #[error("{0}")]
    Slow(String),
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<EngineError> for BuildError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Hung { .. } => Self::Slow(error.to_string()),
            _ => Self::Engine(error.to_string()),
        }
    }
}

/// Whose image it is: state directory, project and inputs, each by its hash.
pub(crate) const LABEL: &str = "cofferdam.build";

/// The engine that builds for a backend. `auto` takes Docker's, else Podman's.
pub fn engine(choice: BackendChoice, around: &Surroundings) -> Result<Engine, Lack> {
    match choice.named() {
        Some(Backend::Docker) => Engine::find(Backend::Docker, around),
        Some(Backend::Podman) => Engine::find(Backend::Podman, around),
        Some(other) => Err(Lack {
            reason: format!("the {other} backend has no images"),
            remedy: "use --sandbox docker or --sandbox podman".to_owned(),
        }),
        None => Engine::find(Backend::Docker, around)
            .or_else(|lack| Engine::find(Backend::Podman, around).map_err(|_| lack)),
    }
}

impl Order<'_> {
    /// Builds it, if it has to be. `progress` is told each line of what is being done.
    pub fn carry_out(
        &self,
        state: &StateDir,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Built, BuildError> {
        if self.draft.network == Network::Allow {
            return Err(BuildError::Network);
        }
        self.draft.permitted()?;
        let context = self.draft.context()?;
        let bases = self.bases(progress)?;
        let inputs = self.inputs(&context, &bases);
        let workspace = self.draft.workspace();
        let mut known = store::known(state.root(), workspace)?;
        let there = known
            .builds
            .iter()
            .find(|build| build.engine == self.engine.at && build.inputs == inputs);
        if let (false, Some(build)) = (self.anew, there)
            && self.id(&build.image)?.as_deref() == Some(&build.id)
        {
            let build = build.clone();
            // A project whose files were put back has its old image again.
            known.add(build.clone());
            store::write(state, &known)?;
            return Ok(Built { build, is_unchanged: true });
        }
        let image = self.name(&inputs)?;
        let dockerfile = blake3::hash(self.draft.text.as_bytes()).to_hex().to_string();
        // One label: Podman puts several down in whatever order, and the image would be another each time.
        let label = format!("{}/{}/{inputs}", docker::state_label(state.root()), key(workspace));
        let asked = Asked {
            context: &context,
            dockerfile: &self.draft.name(),
            tag: image.as_str(),
            label: (LABEL, &label),
            network: self.draft.network,
            timeout: Duration::from_millis(self.timeout.millis),
        };
        self.engine.build(&asked, progress)?;
        let id = self
            .id(&image)?
            .ok_or_else(|| BuildError::Engine(format!("{image} was built and is not there")))?;
        let build = Build {
            engine: self.engine.at.clone(),
            image,
            id,
            inputs,
            dockerfile,
            built_at: clock::now(),
            scan: None,
        };
        known.add(build.clone());
        store::write(state, &known)?;
        self.tell(state, workspace, &build)?;
        Ok(Built { build, is_unchanged: false })
    }

    /// Hash of all that decides what comes out: the files, the instructions, what they can reach and the bases.
    fn inputs(&self, context: &Context<'_>, bases: &[String]) -> String {
        let mut hasher = blake3::Hasher::new();
        context.hash(&mut hasher);
        hasher.update(self.draft.network.name().as_bytes());
        for id in bases {
            hasher.update(id.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The ids of all images that it starts from, which are there then.
    fn bases(&self, progress: &mut dyn FnMut(&str)) -> Result<Vec<String>, BuildError> {
        let mut ids = Vec::new();
        for base in self.draft.file.bases() {
            let image = base.map_err(BuildError::UnknownBase)?;
            let found = self.inspected(&image)?;
            let found = match (found, self.fetch.pull) {
                (Some(found), Pull::Never | Pull::Missing) => found,
                (None, Pull::Never) => return Err(BuildError::NoBase(image)),
                _ => {
                    progress(&format!("fetching {image}"));
                    let patience = Duration::from_millis(self.fetch.timeout.millis);
                    self.engine.pull(&image, &self.around.docker_config, patience, &mut |_| {})?;
                    self.inspected(&image)?.ok_or_else(|| BuildError::NoBase(image.clone()))?
                }
            };
            if at(&found, &["Config", "OnBuild"]).as_array().is_some_and(|all| !all.is_empty()) {
                return Err(BuildError::Triggers(image));
            }
            ids.push(at(&found, &["Id"]).as_str().unwrap_or_default().to_owned());
        }
        Ok(ids)
    }

    fn inspected(&self, image: &ImageRef) -> Result<Option<Value>, EngineError> {
        match self.engine.get::<Value>(&format!("/images/{image}/json"), Patience::Short) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn id(&self, image: &ImageRef) -> Result<Option<String>, EngineError> {
        let found = self.inspected(image)?;
        Ok(found.and_then(|found| at(&found, &["Id"]).as_str().map(str::to_owned)))
    }

    /// A name that people know it by, and that no two inputs share.
    fn name(&self, inputs: &str) -> Result<ImageRef, BuildError> {
        let dir = self.draft.workspace().file_name().unwrap_or_default().to_string_lossy();
        let slug: String = dir.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        let slug = if slug.is_empty() { "project".to_owned() } else { slug.to_ascii_lowercase() };
        let (project, version) = (key(self.draft.workspace()), &inputs[..16]);
        let name = format!("cofferdam/{slug}-{}:{version}", &project[..8]);
        name.parse().map_err(|error| BuildError::Engine(format!("{error}")))
    }

    fn tell(&self, state: &StateDir, workspace: &Path, build: &Build) -> Result<(), StateError> {
        let event = Event {
            ts: clock::now(),
            run: None,
            workspace: Some(workspace.to_owned().into()),
            actor: self.actor.to_owned(),
            kind: EventKind::ImageBuilt {
                image: build.image.to_string(),
                digest: build.id.clone(),
            },
        };
        if let Ok(Value::Object(event)) = serde_json::to_value(&event) {
            Journal::new(state).append(&[event])?;
        }
        Ok(())
    }
}
