//! The place in which a program hands its result over: a directory of the run's own, and the only thing of the
//! run's that the program sees.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
use std::path::Path;

use cofferdam_core::result::PLACE;

use crate::identity::Identity;
use crate::root::{PlaceKind, Root};
use crate::sys::SysError;
use crate::sys::mount::{Attributes, Depth, attach, clone_mount, open_beneath, set_attributes};

/// Its name in the run's directory.
pub const RESULT: &str = "result";

/// In the parent: makes the place. It belongs to whom the workspace belongs to, as all that the program writes.
pub(crate) fn make(state: &Path, workspace: &fs::Metadata) -> io::Result<()> {
    let place = state.join(RESULT);
    fs::DirBuilder::new().mode(0o700).create(&place)?;
    chown(&place, Some(workspace.uid()), Some(workspace.gid()))
}

/// Shows it. What is in it is only read on the host, never executed.
pub(crate) fn mount(
    root: &Root,
    state: BorrowedFd<'_>,
    identity: &Identity,
) -> Result<(), SysError> {
    let place = open_beneath(state, Path::new(RESULT))?;
    let mount = clone_mount(&place, &RESULT, Depth::One)?;
    set_attributes(&mount, Attributes::WRITABLE, Depth::One, identity.owners())?;
    attach(mount, root.place(Path::new(PLACE), PlaceKind::Directory)?, &PLACE)
}
