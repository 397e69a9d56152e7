//! Host paths that the plan names: toolchains and mounts. Each is opened anew in the sandbox's mount
//! namespace and must be the very file that the plan was made for.

use cofferdam_core::mount::{Access, HostPath, Mount};

use super::{PlaceKind, Root};
use crate::identity::Identity;
use crate::sys::SysError;
use crate::sys::mount::{Attributes, Depth, attach, clone_mount, open_pinned, set_attributes};

/// Shows a toolchain read-only under the name by which it is found on the search path. Owners stay as
/// they are: what only root may read there, the program of root's run may not.
pub(crate) fn toolchain(root: &Root, toolchain: &HostPath, depth: Depth) -> Result<(), SysError> {
    if is_of_the_system(toolchain) {
        return Ok(());
    }
    let source = open_pinned(toolchain)?;
    let mount = clone_mount(source, &toolchain.real.display(), depth)?;
    set_attributes(&mount, Attributes::READONLY, depth, None)?;
    let place = root.place(&toolchain.asked, PlaceKind::of(toolchain))?;
    attach(mount, place, &toolchain.asked.display())
}

/// Whether it is shown already.
pub(crate) fn is_of_the_system(toolchain: &HostPath) -> bool {
    toolchain.asked.starts_with("/usr")
}

/// Shows what the plan mounts, read-only unless it says otherwise.
pub(crate) fn extra(
    root: &Root,
    extra: &Mount,
    identity: &Identity,
    depth: Depth,
) -> Result<(), SysError> {
    let source = open_pinned(&extra.source)?;
    let mount = clone_mount(source, &extra.source.real.display(), depth)?;
    let attributes = match extra.access {
        Access::Read => Attributes::READONLY,
        Access::Write => Attributes::WRITABLE,
    };
    set_attributes(&mount, attributes, depth, identity.owners())?;
    let place = root.place(&extra.target, PlaceKind::of(&extra.source))?;
    attach(mount, place, &extra.target.display())
}
