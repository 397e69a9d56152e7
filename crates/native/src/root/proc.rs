//! `/proc` of the sandbox's own pid namespace. What in it is the kernel's and not a process's is hidden
//! where it tells about the host, and read-only where it could be changed.
//!
//! The program has no privileges to use any of it with; this is the second door behind that one.

use cofferdam_core::weaken::{Weakness, weakened};
use std::path::Path;

use super::{Covers, Root};
use crate::sys::SysError;
use crate::sys::mount::{
    Attributes, Depth, attach, attach_at, clone_mount, new_filesystem, open_beneath, set_attributes,
};

/// What everybody may read, and what tells about the host and not about the program. Names that only
/// root may open (`kcore`, `timer_list`, …) need no cover: the program is never root.
const HIDDEN: [&str; 7] = [
    "proc/acpi",
    "proc/asound",
    "proc/interrupts",
    "proc/keys",
    "proc/key-users",
    "proc/scsi",
    "proc/sysrq-trigger",
];

/// Settings of the kernel. Only root may change them; nobody needs to.
const READONLY: [&str; 1] = ["proc/sys"];

pub(crate) fn mount(root: &Root) -> Result<(), SysError> {
    attach_at(new_filesystem("proc", &[], Attributes::KERNEL)?, root, "proc")
}

/// Hides and locks. Where this kernel has no such name there is nothing to do.
pub(crate) fn harden(root: &Root, covers: &Covers) -> Result<(), SysError> {
    if weakened(Weakness::ProcWritable) {
        return Ok(());
    }
    for path in HIDDEN {
        covers.hide_in(root, path)?;
    }
    for path in READONLY {
        let place = match open_beneath(root, Path::new(path)) {
            Ok(place) => place,
            Err(e) if e.source.raw_os_error() == Some(libc::ENOENT) => continue,
            Err(e) => return Err(e),
        };
        let same = clone_mount(&place, &path, Depth::One)?;
        set_attributes(&same, Attributes::KERNEL_READONLY, Depth::One, None)?;
        attach(same, place, &path)?;
    }
    Ok(())
}
