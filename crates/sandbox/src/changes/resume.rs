//! Lets a run begin with what an earlier one changed.
//!
//! [`origin`] says whether that can be; [`begin`] builds the upper directory anew from the sealed set,
//! and keeps what sealing will need of it: what stood at each path before the *earlier* run. From then on
//! the two runs have nothing to do with each other, and the earlier one may be removed.

mod build;

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::manifest::ManifestWriter;
use cofferdam_core::changes::{Content, ContentHash, Entry, FileNode, Node};
use cofferdam_core::id::RunId;
use cofferdam_core::inert::Inert;
use cofferdam_core::plan::Plan;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::spec::Origin;
use cofferdam_native::{COPY, GIT_COPY, GIT_UPPER, UPPER};

use super::deposit::Deposit;
use super::set::MANIFEST;
use super::{ChangeSet, EntryState, Ledger, LedgerError, Objects, REPOSITORY, SetError};
use crate::runs::Store;
use crate::state::{make_private_dir, private_file};
use crate::tree::remove_tree;
use build::{Builder, Ground};

/// Directory in the run's own: what of the earlier run's manifest was undecided, and the contents that it names as `before`.
pub(super) const INHERITED: &str = "inherited";
/// In there: the hash of that manifest.
const SEALED: &str = "sealed";
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
    Ledger(#[from] LedgerError),
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

/// Makes the upper directories of the run in `dir`, if its plan goes on from another run. Where the program
/// is to work in a copy, it is there already, and gets what the other run changed.
pub(crate) fn begin(store: &Store, plan: &Plan, dir: &Path) -> Result<(), ResumeError> {
    let Some(origin) = &plan.from else { return Ok(()) };
    let source = store.dir(origin.run);
    let workspace = &plan.workspace.source.real;
    let ground = |upper, copy| match plan.copies() {
        false => Ground::Upper(dir.join(upper)),
        true => Ground::Copy(dir.join(copy)),
    };
    go_on(&source, &origin.manifest, &ground(UPPER, COPY), (dir, workspace))?;
    let changes = store.record(origin.run)?.changes;
    match (&plan.repository, changes.and_then(|changes| changes.repository)) {
        (Some(repository), Some(sealed)) => {
            let git = dir.join(REPOSITORY);
            make_private_dir(&git)?;
            let tree = (git.as_path(), &*repository.source.real);
            go_on(&source.join(REPOSITORY), &sealed, &ground(GIT_UPPER, GIT_COPY), tree)
        }
        _ => Ok(()),
    }
}

/// The same for one tree: its set in `source`, its new upper directory, and where the tree's own set will
/// be and the tree itself is.
fn go_on(
    source: &Path,
    sealed: &str,
    ground: &Ground,
    (dir, tree): (&Path, &Path),
) -> Result<(), ResumeError> {
    let mut set = ChangeSet::open(source, sealed)?;
    let ledger = Ledger::load(&set)?;
    let kept = dir.join(INHERITED);
    make_private_dir(&kept)?;
    let unfinished = match ground {
        Ground::Upper(_) => dir.join(UNFINISHED),
        Ground::Copy(copy) => copy.clone(),
    };
    let built = Builder::new(ground, &unfinished, tree, set.objects())
        .and_then(|builder| build(&mut set, &ledger, &kept, builder));
    if let Err(error) = built {
        // The error stands; what is left goes with the run.
        remove_tree(&unfinished).ok();
        return Err(error);
    }
    match ground {
        Ground::Upper(upper) => {
            std::fs::rename(&unfinished, upper).map_err(ResumeError::io("rename", &unfinished))
        }
        Ground::Copy(_) => Ok(()),
    }
}

/// Whether the set that will be in `dir` goes on from another.
pub(crate) fn goes_on(dir: &Path) -> bool {
    dir.join(INHERITED).exists()
}

/// What the run in `dir` began with: of an earlier set, what was still to be decided.
pub(super) fn inherited(dir: &Path) -> Result<ChangeSet, SetError> {
    let dir = dir.join(INHERITED);
    let path = dir.join(SEALED);
    let sealed = std::fs::read_to_string(&path);
    let sealed = sealed.map_err(|source| SetError::Io { action: "read", path, source })?;
    ChangeSet::open(&dir, sealed.trim_end())
}

fn build(
    set: &mut ChangeSet,
    ledger: &Ledger,
    kept: &Path,
    mut builder: Builder,
) -> Result<(), ResumeError> {
    let objects = set.objects();
    let mut deposit = Deposit::of(kept);
    let path = kept.join(MANIFEST);
    let file = private_file().write(true).create_new(true).open(&path);
    let file = BufWriter::new(file.map_err(ResumeError::io("create", &path))?);
    let written = ResumeError::io("write", &path);
    let mut manifest = ManifestWriter::begin(file, set.header()).map_err(written)?;
    for (index, entry) in (0..).zip(set.entries()?) {
        let entry = entry.map_err(ResumeError::Manifest)?;
        let state = match ledger.state(index) {
            // A directory that the host has lost since is made again, for what is pending in it.
            EntryState::Applied
                if matches!(entry.after, Some(Node::Directory { .. }))
                    && !builder.is_on_host(&entry.path)? =>
            {
                EntryState::Pending
            }
            state => state,
        };
        let Some(entry) = undecided(entry, state) else { continue };
        manifest.push(&entry).map_err(ResumeError::io("write", &path))?;
        if let Some(Node::File(FileNode { content: Content::Kept(hash), .. })) = &entry.before {
            keep(&objects, *hash, &mut deposit)?;
        }
        builder.add(&entry)?;
    }
    let (_, hash, _) = manifest.finish().map_err(ResumeError::io("write", &path))?;
    let sealed = kept.join(SEALED);
    std::fs::write(&sealed, format!("{hash}\n")).map_err(ResumeError::io("write", &sealed))?;
    builder.finish()
}

/// What of an entry is still to be decided. What was applied stands on the host, so that it is there
/// already; of a file of which some hunks were applied, that is what now stands before the rest.
fn undecided(entry: Entry, state: EntryState) -> Option<Entry> {
    match state {
        EntryState::Pending => Some(entry),
        EntryState::Applied | EntryState::Discarded => None,
        EntryState::Partly { put } => {
            let put = match put {
                Node::File(FileNode { content: Content::Kept(hash), mode, size, link }) => {
                    Node::File(FileNode { content: Content::Known(hash), mode, size, link })
                }
                other => other,
            };
            Entry::between(entry.path, Some(put), entry.after)
        }
    }
}

fn keep(objects: &Objects, hash: ContentHash, deposit: &mut Deposit) -> Result<(), ResumeError> {
    let path = objects.path(hash);
    let file = objects.open(hash).map_err(ResumeError::io("read", &path))?;
    deposit
        .link(hash, rustix::fs::CWD, path.as_os_str(), &file)
        .map_err(ResumeError::io("keep", &path))
}
