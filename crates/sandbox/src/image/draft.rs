//! A Dockerfile as it was read, once: what is looked at, approved and sent are the same bytes.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::ChangePath;
use cofferdam_core::dockerfile::Dockerfile;
use cofferdam_core::dockerfile::ignore::{BadPattern, Ignored};
use cofferdam_core::dockerfile::permit::{Objection, objections};
use cofferdam_core::inert::Inert;
use cofferdam_core::project::ignore;
use cofferdam_core::spec::Network;

use super::context::{Context, ContextError};
use crate::changes::{Workspace, WorkspaceError};

#[derive(Debug)]
pub struct Draft {
    workspace: Workspace,
    below: ChangePath,
    /// Where the Dockerfile lies.
    pub path: PathBuf,
    pub text: String,
    pub file: Dockerfile,
    ignored: Ignored,
    ignore_text: String,
    pub(super) network: Network,
}

#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    #[error("there is no {}", Inert::path(.0))]
    Missing(PathBuf),
    #[error("{} is not below the workspace", Inert::path(.0))]
    Outside(PathBuf),
    #[error("cannot read {}: {source}", Inert::path(.path))]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("{} cannot be built: {}", Inert::path(.path), said(.objections))]
    Refused { path: PathBuf, objections: Vec<Objection> },
    #[error(".dockerignore: {0}")]
    Ignore(#[from] BadPattern),
}

fn said(objections: &[Objection]) -> String {
    objections.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

const MOST: u64 = 1 << 20;

impl Draft {
    /// Reads a Dockerfile of a workspace. `blocked` are patterns of files that no sandbox sees, and so no image.
    pub fn read(
        workspace: &Path,
        dockerfile: &Path,
        network: Network,
        blocked: &[String],
    ) -> Result<Self, DraftError> {
        let outside = || DraftError::Outside(dockerfile.to_owned());
        let workspace = Workspace::open(workspace)?;
        let below = dockerfile.strip_prefix(workspace.path()).map_err(|_| outside())?;
        let below = ChangePath::new(below.as_os_str()).map_err(|_| outside())?;
        let Some(text) = text(&workspace, &below)? else {
            return Err(DraftError::Missing(dockerfile.to_owned()));
        };
        let ignore_path = ChangePath::new(ignore::NAME).map_err(|_| outside())?;
        let ignore_text = self::text(&workspace, &ignore_path)?.unwrap_or_default();
        let ignored = Ignored::new(&ignore_text, blocked)?;
        let file = Dockerfile::parse(&text);
        let path = dockerfile.to_owned();
        Ok(Self { workspace, below, path, text, file, ignored, ignore_text, network })
    }

    /// What somebody has to have said yes to.
    pub fn approval(&self) -> Vec<u8> {
        approval(&self.text, &self.ignore_text)
    }

    /// Refuses what no build of ours does.
    pub fn permitted(&self) -> Result<(), DraftError> {
        let objections = objections(&self.file, self.network);
        match objections.is_empty() {
            true => Ok(()),
            false => Err(DraftError::Refused { path: self.path.clone(), objections }),
        }
    }

    pub(super) fn context(&self) -> Result<Context<'_>, ContextError> {
        let sources = self.file.sources();
        Context::gather(
            &self.workspace,
            (&self.below, &self.text),
            sources.as_deref(),
            &self.ignored,
        )
    }

    /// The Dockerfile's name among what is sent.
    pub(super) fn name(&self) -> String {
        String::from_utf8_lossy(self.below.as_bytes()).into_owned()
    }

    pub fn workspace(&self) -> &Path {
        self.workspace.path()
    }
}

/// The bytes of an approval. Where a Dockerfile takes whatever there is, what is left out is part of it.
pub fn approval(dockerfile: &str, left_out: &str) -> Vec<u8> {
    match Dockerfile::parse(dockerfile).sources() {
        Some(_) => dockerfile.as_bytes().to_vec(),
        None => [dockerfile.as_bytes(), b"\0", left_out.as_bytes()].concat(),
    }
}

fn text(workspace: &Workspace, path: &ChangePath) -> Result<Option<String>, DraftError> {
    let full = || workspace.path().join(path.as_path());
    let fail = |source| DraftError::Read { path: full(), source };
    let place = match workspace.place(path) {
        Err(WorkspaceError::NoParent { .. }) => return Ok(None),
        place => place?,
    };
    let file = match place.open_file() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(fail)?,
    };
    let meta = file.metadata().map_err(fail)?;
    if !meta.is_file() || meta.len() > MOST {
        return Err(fail(io::Error::other("it is not a plain file of at most 1 MiB")));
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(fail)?;
    Ok(Some(text))
}
