//! Seals what a run changed: a manifest and its objects, which nobody writes to again.
//!
//! The manifest appears whole, by a rename, and only then is the upper directory removed. So a sealing
//! that was interrupted is done again from the upper directory, or its clean-up is finished; nothing that
//! the program did is lost on the way.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::manifest::{
    FORMAT, Header, ManifestError, ManifestReader, ManifestWriter, Moment, Summary, Tree, VERSION,
};
use cofferdam_core::changes::{Content, ContentHash, FileNode, Node};
use cofferdam_core::id::RunId;
use cofferdam_core::mount::HostPath;
use cofferdam_core::record::Glimpse;
use cofferdam_core::spec::Origin;
use cofferdam_native::{COPY, GIT_COPY, GIT_UPPER, PLACEHOLDERS, UPPER, WORK};

use super::bases::{BASES, Saved};
use super::capture::{
    Befores, CaptureError, Dir, Inherited, Marks, Out, Placeholders, Reading, Side, Walk, Whole,
    Written, read_all,
};
use super::copy::{COPIED, Index};
use super::deposit::Deposit;
use super::halt::{Halt, Halted, halted};
use super::resume::{self, INHERITED};
use super::set::{MANIFEST, OBJECTS};
use super::settled::Settled;
use super::{Objects, SetError};
use crate::clock;
use crate::state::private_file;
use crate::tree::{empty_unless, remove_tree, remove_tree_unless};
use crate::waste::Waste;

/// The manifest until it is whole.
const UNFINISHED: &str = "manifest.tmp";

/// What is to be sealed. The sandbox must be gone.
#[derive(Debug)]
pub struct SealRequest<'a> {
    pub run: RunId,
    /// The run's directory, which holds `upper` and gets the set.
    pub dir: &'a Path,
    /// The tree that the changes are changes of.
    pub workspace: &'a HostPath,
    pub tree: Tree,
    /// When the run began: the ctime of a file that was made then.
    pub base: Moment,
    /// The set that the run went on from.
    pub from: Option<&'a Origin>,
    /// What has it end early. What was there to be sealed then still is.
    pub halt: &'a Halt<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub hash: ContentHash,
    pub summary: Summary,
    /// Changes whose paths are too long to be named. They are lost to the set, and counted.
    pub left_out: u64,
    /// The first entries, where they were sealed just now.
    pub first: Option<Vec<Glimpse>>,
}

/// In the run's directory, while the copy of the workspace is worked on elsewhere; and where that never comes back.
pub(crate) const AWAY: &str = "away";
pub(crate) const LOST: &str = "lost";

#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error(transparent)]
    Capture(CaptureError),
    #[error(transparent)]
    Halted(#[from] Halted),
    #[error("cannot {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not the directory that the run began in", path.display())]
    OtherWorkspace { path: PathBuf },
    #[error("what the run changed is still with the engine that it ran on")]
    Away,
    #[error("the engine has removed what the run changed")]
    Lost,
    #[error("cannot read the manifest that is there already")]
    Manifest(#[from] ManifestError),
}

impl SealError {
    fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| match halted(&source) {
            Some(halted) => Self::Halted(halted),
            None => Self::Io { action, path: path.to_owned(), source },
        }
    }

    /// Whether trying again cannot help.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Capture(error) => error.is_final(),
            Self::Manifest(_) | Self::Lost => true,
            Self::Io { .. } | Self::OtherWorkspace { .. } | Self::Halted(_) | Self::Away => false,
        }
    }
}

impl From<CaptureError> for SealError {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Halted(halted) => Self::Halted(halted),
            error => Self::Capture(error),
        }
    }
}

impl From<SetError> for SealError {
    fn from(error: SetError) -> Self {
        Self::Capture(error.into())
    }
}

/// Seals, or finishes what an earlier sealing left undone.
pub(crate) fn seal(request: &SealRequest<'_>, waste: &Waste) -> Result<Sealed, SealError> {
    let dir = request.dir;
    // The kernel's scratch space says nothing about changes. Its directories are the most of what has to be
    // removed after a short run.
    throw_away(WORK, request, waste)?;
    let sealed = set(request)?;
    clear(dir, request.halt)?;
    // It goes last: while it is there, this is not over.
    throw_away(UPPER, request, waste)?;
    Ok(sealed)
}

/// A directory of the run's that takes up no room.
fn throw_away(name: &str, request: &SealRequest<'_>, waste: &Waste) -> Result<(), SealError> {
    let tree = match request.tree {
        Tree::Workspace => "workspace",
        Tree::GitCommon => "repository",
    };
    let path = request.dir.join(name);
    let unique = format!("{}-{tree}-{name}", request.run);
    waste.take(&path, &unique).map_err(SealError::io("remove", &path))
}

/// The set, captured now or found as an earlier sealing left it. What it was captured from stays.
pub fn set(request: &SealRequest<'_>) -> Result<Sealed, SealError> {
    let dir = request.dir;
    let path = dir.join(MANIFEST);
    match File::open(&path) {
        Ok(file) => what_was_sealed(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            is_here(dir)?;
            capture(request, &Layers::of(dir), dir, Deposit::of(dir)).inspect_err(|_| {
                // On a full disk, what is half written takes the room of what says so.
                fs::remove_file(dir.join(UNFINISHED)).ok();
            })
        }
        Err(error) => Err(SealError::io("open", &path)(error)),
    }
}

/// What was worked on elsewhere must be back.
fn is_here(dir: &Path) -> Result<(), SealError> {
    if dir.join(LOST).exists() {
        return Err(SealError::Lost);
    }
    if dir.join(AWAY).exists() { Err(SealError::Away) } else { Ok(()) }
}

/// Seals what the run in `dir` has changed so far, as a set in another directory. Everything that the program may
/// still change is copied. The run goes on, so that the set is what was read while somebody may have been writing.
pub(crate) fn snapshot(
    request: &SealRequest<'_>,
    layers: &Layers,
    into: &Path,
) -> Result<Sealed, SealError> {
    let sealed = capture(request, layers, into, Deposit::copying(into))?;
    bring_bases(request.dir, into)?;
    Deposit::of(into).close(request.halt).map_err(SealError::io("close", into))?;
    Ok(sealed)
}

/// Contents that were saved while the program ran lie among the run's own objects. One that is lost is
/// only missing as a base for merges.
fn bring_bases(dir: &Path, into: &Path) -> Result<(), SealError> {
    let path = into.join(MANIFEST);
    let file = File::open(&path).map_err(SealError::io("open", &path))?;
    let objects = Objects::at(dir.join(OBJECTS));
    let mut deposit = Deposit::copying(into);
    for entry in ManifestReader::begin(BufReader::new(file))? {
        let Some(Node::File(FileNode { content: Content::Kept(hash), .. })) = entry?.before else {
            continue;
        };
        if let Ok(file) = objects.open(hash) {
            let from = objects.path(hash);
            deposit
                .link(hash, rustix::fs::CWD, from.as_os_str(), &file)
                .map_err(SealError::io("keep", &from))?;
        }
    }
    Ok(())
}

/// Whether the run in `dir` has changes that are not sealed yet, or not cleared away.
pub(crate) fn is_due(dir: &Path) -> bool {
    dir.join(UPPER).exists() || dir.join(COPY).exists()
}

/// Removes a copy whose making was interrupted: nothing was ever started in it.
pub(crate) fn drop_unfinished(dir: &Path) -> Result<(), SealError> {
    let copy = dir.join(COPY);
    if is_sealed(dir) || dir.join(COPIED).exists() || !copy.exists() {
        return Ok(());
    }
    remove_tree(&copy).map_err(SealError::io("remove", &copy))
}

/// Whether there is a manifest.
pub(crate) fn is_sealed(dir: &Path) -> bool {
    dir.join(MANIFEST).exists()
}

/// Where a program's work lies: in one of these.
#[derive(Debug)]
pub(crate) struct Layers {
    upper: PathBuf,
    copy: PathBuf,
}

impl Layers {
    /// Of a tree whose set is made in `dir`.
    fn of(dir: &Path) -> Self {
        Self { upper: dir.join(UPPER), copy: dir.join(COPY) }
    }

    /// Of the workspace of a run that goes on.
    pub(crate) fn of_workspace(run_dir: &Path) -> Self {
        Self::of(run_dir)
    }

    /// Of a repository outside the workspace, while the run goes on.
    pub(crate) fn of_repository(run_dir: &Path) -> Self {
        Self { upper: run_dir.join(GIT_UPPER), copy: run_dir.join(GIT_COPY) }
    }

    pub(crate) fn are_there(&self) -> bool {
        self.upper.exists() || self.copy.exists()
    }
}

/// Captures the changes of the run and puts the set that they make into a directory.
fn capture(
    request: &SealRequest<'_>,
    layers: &Layers,
    into: &Path,
    deposit: Deposit,
) -> Result<Sealed, SealError> {
    let dir = request.dir;
    let (path, temporary) = (into.join(MANIFEST), into.join(UNFINISHED));
    let mut from = request.from.map(|_| resume::inherited(dir)).transpose()?;
    let began = from.as_ref().map(|set| set.header().base);
    let header = Header {
        format: FORMAT.to_owned(),
        version: VERSION,
        run: request.run,
        workspace: request.workspace.real.clone(),
        tree: request.tree,
        // What was there before an earlier run was there before that run's own base.
        base: began.map_or(request.base, |began| began.min(request.base)),
        sealed_at: clock::now(),
    };
    let file = private_file()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&temporary)
        .map_err(SealError::io("create", &temporary))?;
    let manifest = ManifestWriter::begin(BufWriter::with_capacity(64 * 1024, file), &header)
        .map_err(CaptureError::Write)?;
    let mut out = Out::new(manifest, deposit);

    let inherited = from.as_mut().map(Inherited::from).transpose()?;
    let befores = Befores::new(request.base, Saved::of(dir), inherited, request.halt);
    let mut placeholders =
        Placeholders::of(dir).map_err(SealError::io("read", &dir.join(PLACEHOLDERS)))?;
    if request.tree == Tree::GitCommon {
        let repository = &request.workspace.real;
        placeholders =
            placeholders.and_settings_of(repository).map_err(SealError::io("read", repository))?;
    }
    let whole = copied(dir, &layers.copy, request.halt)?;
    let (layer, reading) = match &whole {
        Some(whole) => (&layers.copy, Reading::Whole(whole)),
        None => {
            let marks = Marks::ours().map_err(SealError::io("read", Path::new("/proc/self")))?;
            (&layers.upper, Reading::Upper(marks))
        }
    };
    let after = Dir::open(layer, Side::Ours).map_err(SealError::io("open", layer))?;
    let before = workspace(request.workspace)?;
    Walk::new(reading, befores, placeholders, &mut out).run(after, before)?;

    let Written { mut hash, mut summary, left_out, first } =
        out.finish().map_err(CaptureError::Write)?;
    let mut first = Some(first);
    let settled = Settled::of(dir).map_err(SealError::io("read", dir))?;
    if !settled.is_empty() {
        (hash, summary) = settled.rewrite(&temporary, &header)?;
        first = None;
    }
    fs::rename(&temporary, &path).map_err(SealError::io("rename", &temporary))?;
    Ok(Sealed { hash, summary, left_out, first })
}

/// The copy that the program worked in, if it did in one.
fn copied(dir: &Path, copy: &Path, halt: &Halt<'_>) -> Result<Option<Whole>, SealError> {
    match Index::read(dir).map_err(SealError::io("read", &dir.join(COPIED)))? {
        None => Ok(None),
        Some(index) => Ok(Some(Whole::look_through(copy, index, halt)?)),
    }
}

/// The workspace, if it is the one that the run began in: a host tree that was moved away says nothing
/// about what was there.
fn workspace(host: &HostPath) -> Result<Dir, SealError> {
    let dir = Dir::open(&host.real, Side::Host).map_err(SealError::io("open", &host.real))?;
    if dir.id() == (host.identity.device, host.identity.inode) {
        return Ok(dir);
    }
    Err(SealError::OtherWorkspace { path: host.real.0.clone() })
}

/// Of a manifest that was renamed into its place before whoever sealed died.
fn what_was_sealed(mut file: &File) -> Result<Sealed, SealError> {
    let mut hasher = blake3::Hasher::new();
    read_all(file, &mut hasher).map_err(ManifestError::Io)?;
    io::Seek::seek(&mut file, io::SeekFrom::Start(0)).map_err(ManifestError::Io)?;
    let mut summary = Summary::default();
    let mut entries = ManifestReader::begin(BufReader::new(file))?;
    for entry in &mut entries {
        summary.count(entry?.change);
    }
    let (hash, left_out) = (hasher.finalize().into(), entries.left_out());
    Ok(Sealed { hash, summary, left_out, first: None })
}

/// Removes what the set was made of, but for the upper directory itself.
fn clear(dir: &Path, halt: &Halt<'_>) -> Result<(), SealError> {
    Deposit::of(dir).close(halt).map_err(SealError::io("close", dir))?;
    for name in [BASES, PLACEHOLDERS, COPIED] {
        let path = dir.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(SealError::io("remove", &path)(error));
            }
            _ => {}
        }
    }
    for name in [INHERITED, COPY] {
        let path = dir.join(name);
        remove_tree_unless(&path, halt).map_err(SealError::io("remove", &path))?;
    }
    let upper = dir.join(UPPER);
    empty_unless(&upper, halt).map_err(SealError::io("empty", &upper))
}

#[cfg(test)]
mod tests;
