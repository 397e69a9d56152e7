//! Finds out what a run changed.
//!
//! - [`Walk`]: goes through the tree as it was left and the tree as it was, side by side, in the order of
//!   a manifest. Its cost is that of the changes where the tree is an overlay's upper directory, and that
//!   of the tree where it is a plain copy.
//! - [`Befores`]: what stood at a path when the run began.
//! - [`Out`]: where entries and contents go.
//!
//! Nothing here follows a link, opens anything but files and directories, or needs more memory than the
//! names of one directory and its ancestors. The sandbox is dead by now; the host's tree may still change,
//! and what was read while it did is not taken for what was there before.

mod attributes;
mod before;
mod content;
mod dir;
mod inherited;
mod out;
mod placeholders;
mod union;
mod walk;
mod whole;

use std::io;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::manifest::{ManifestError, Moment};
use cofferdam_core::changes::{BadPath, ContentHash};
use cofferdam_core::inert::Inert;
use rustix::fs::Stat;

use super::SetError;
use super::halt::{Halted, halted};
pub(crate) use attributes::{Marks, is_opaque};
pub(super) use before::Befores;
pub(super) use content::{LARGEST_KEPT, bytes_of, read_all};
pub(crate) use dir::{Dir, Side};
pub(super) use inherited::Inherited;
pub(super) use out::{Out, Written};
pub(super) use placeholders::Placeholders;
pub(super) use walk::{Reading, Walk};
pub(super) use whole::Whole;

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("cannot {action} {}", Inert::path(path))]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Path(#[from] BadPath),
    #[error("cannot write the manifest")]
    Write(#[source] io::Error),
    #[error("cannot keep the content {hash}")]
    Keep { hash: ContentHash, source: io::Error },
    #[error("{} is no longer where it was a moment ago", Inert::path(path))]
    Moved { path: PathBuf },
    #[error("cannot read the changes that this run began with")]
    Inherited(#[source] ManifestError),
    #[error(transparent)]
    Set(#[from] SetError),
    #[error(transparent)]
    Halted(#[from] Halted),
}

impl CaptureError {
    pub(crate) fn io<E: Into<io::Error>>(
        action: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(E) -> Self {
        move |error| {
            let source = error.into();
            match halted(&source) {
                Some(halted) => Self::Halted(halted),
                None => Self::Io { action, path: path.as_ref().to_owned(), source },
            }
        }
    }

    /// Whether trying again cannot help.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Path(_) | Self::Inherited(_) | Self::Set(_))
    }
}

/// When a file last changed in any way, which nobody can set.
pub(crate) fn changed_at(stat: &Stat) -> Moment {
    Moment { seconds: stat.st_ctime, nanos: u32::try_from(stat.st_ctime_nsec).unwrap_or(0) }
}

pub(super) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
