//! Lets a run begin with what an earlier one changed.
//!
//! [`origin`] says whether that can be; [`begin`] builds the upper directory anew from the sealed set,
//! and keeps what sealing will need of it: what stood at each path before the *earlier* run. From then on
//! the two runs have nothing to do with each other, and the earlier one may be removed.

mod build;

use std::io;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::{Content, ContentHash, FileNode, Node};
use cofferdam_core::id::RunId;
use cofferdam_core::inert::Inert;
use cofferdam_core::plan::Plan;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::spec::Origin;
use cofferdam_native::UPPER;

use super::deposit::Deposit;
use super::set::MANIFEST;
use super::{ChangeSet, Objects, SetError};
use crate::runs::Store;
use crate::state::make_private_dir;
use crate::tree::remove_tree;
use build::Builder;

/// Directory in the run's own: the earlier run's manifest, and the contents that it names as `before`.
pub(super) const INHERITED: &str = "inherited";
/// The upper directory until it is whole.
const UNFINISHED: &str = "upper.new";

#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(transparent)]
    Set(#[from] SetError),
    #[error("cannot {action} {}", Inert::path(path))]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is too large: its content was not kept", Inert::path(path))]
    NotKept { path: PathBuf },
    #[error("cannot read the manifest of the run to go on from")]
    Manifest(#[source] cofferdam_core::changes::manifest::ManifestError),
    #[error(transparent)]
    State(#[from] crate::state::StateError),
}

impl ResumeError {
    fn io<E: Into<io::Error>>(
        action: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(E) -> Self {
        move |error| Self::Io { action, path: path.as_ref().to_owned(), source: error.into() }
    }
}

/// The run to go on from, if it can be: it is sealed, it is whole, and it was made in `workspace`.
pub fn origin(store: &Store, run: RunId, workspace: &Path) -> Result<Origin, Refusal> {
    let refuse = |message: String, remedy: &str| Refusal {
        rule: Rule::Consistent,
        field: "from".to_owned(),
        message: format!("run {}: {message}", run.short()),
        remedy: remedy.to_owned(),
    };
    let record = store.record(run).map_err(|error| {
        refuse(error.to_string(), "name another run: `cofferdam runs` lists them")
    })?;
    if *record.workspace != *workspace {
        return Err(refuse(
            format!("it worked in {}", record.workspace.display()),
            "go on from a run of this workspace, or name that one with --workspace",
        ));
    }
    let Some(changes) = record.changes else {
        return Err(refuse(
            "it has no sealed changes".to_owned(),
            "go on from a run that has ended and was staged",
        ));
    };
    ChangeSet::open(&store.dir(run), &changes.manifest).map_err(|error| {
        let hint = "its changes are not what was recorded; see `cofferdam audit verify`";
        refuse(error.to_string(), hint)
    })?;
    Ok(Origin { run, manifest: changes.manifest })
}

/// Makes the upper directory of the run in `dir`, if its plan goes on from another run.
pub(crate) fn begin(store: &Store, plan: &Plan, dir: &Path) -> Result<(), ResumeError> {
    let Some(origin) = &plan.from else { return Ok(()) };
    let source = store.dir(origin.run);
    let mut set = ChangeSet::open(&source, &origin.manifest)?;
    let kept = dir.join(INHERITED);
    make_private_dir(&kept)?;
    let (manifest, copy) = (source.join(MANIFEST), kept.join(MANIFEST));
    std::fs::hard_link(&manifest, &copy).map_err(ResumeError::io("link", &manifest))?;
    let unfinished = dir.join(UNFINISHED);
    let built = build(&mut set, &kept, &unfinished, &plan.workspace.source.real);
    if let Err(error) = built {
        // The error stands; what is left goes with the run.
        remove_tree(&unfinished).ok();
        return Err(error);
    }
    let upper = dir.join(UPPER);
    std::fs::rename(&unfinished, &upper).map_err(ResumeError::io("rename", &unfinished))
}

/// The set that the run in `dir` began with.
pub(super) fn inherited(dir: &Path, origin: &Origin) -> Result<ChangeSet, SetError> {
    ChangeSet::open(&dir.join(INHERITED), &origin.manifest)
}

fn build(
    set: &mut ChangeSet,
    kept: &Path,
    upper: &Path,
    workspace: &Path,
) -> Result<(), ResumeError> {
    let objects = set.objects();
    let mut deposit = Deposit::of(kept);
    let mut builder = Builder::new(upper, workspace, objects.clone())?;
    for entry in set.entries()? {
        let entry = entry.map_err(ResumeError::Manifest)?;
        if let Some(Node::File(FileNode { content: Content::Kept(hash), .. })) = &entry.before {
            keep(&objects, *hash, &mut deposit)?;
        }
        builder.add(&entry)?;
    }
    builder.finish()
}

fn keep(objects: &Objects, hash: ContentHash, deposit: &mut Deposit) -> Result<(), ResumeError> {
    let path = objects.path(hash);
    let file = objects.open(hash).map_err(ResumeError::io("read", &path))?;
    deposit
        .link(hash, rustix::fs::CWD, path.as_os_str(), &file)
        .map_err(ResumeError::io("keep", &path))
}
