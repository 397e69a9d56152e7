//! Places to write to that are gone at the end: what the plan names, and a home.

use std::collections::BTreeMap;
use std::path::Path;

use cofferdam_core::paths::ExactPath;
use cofferdam_core::plan::HOME;
use cofferdam_core::quantity::ByteSize;

use super::{PlaceKind, Root};
use crate::identity::Identity;
use crate::sys::SysError;
use crate::sys::mount::open_beneath;

/// Bytes that a home may hold where the plan does not say.
const HOME_SIZE: u64 = 64 << 20;

pub(crate) fn make(
    root: &Root,
    sizes: &BTreeMap<ExactPath, ByteSize>,
    identity: &Identity,
) -> Result<(), SysError> {
    for (target, size) in sizes.iter().filter(|(target, _)| **target != ExactPath::from(HOME)) {
        let place = root.place(target, PlaceKind::Directory)?;
        root.memory(place, size.0, "1777", None, &target.display())?;
    }
    let home = root.place(Path::new(HOME), PlaceKind::Directory)?;
    let size = sizes.get(&ExactPath::from(HOME)).map_or(HOME_SIZE, |size| size.0);
    root.memory(home, size, "0700", Some(identity), &HOME)?;
    // One place for temporary files, unless two were asked for.
    match open_beneath(root, Path::new("var/tmp")) {
        Ok(_) => Ok(()),
        Err(_) => root.symlink("var/tmp", "/tmp"),
    }
}
