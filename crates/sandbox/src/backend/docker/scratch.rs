//! Removes what was made in a run's directory for its container alone.
//!
//! Of an overlay that an engine mounted, the kernel's scratch space belongs to root and may hold a marker of
//! removed files. Whoever is not root cannot take it away; so a container does, which sees that one directory,
//! the host's programs and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cofferdam_native::{GIT_UPPER, GIT_WORK, UPPER, WORK};

use super::chore::{self, Chore};
use super::{Trouble, root, workspace};
use crate::engine::{Engine, Rights};

/// What would not go. Nothing may be mounted in `dir` any more.
pub(crate) fn remove(
    engine: &Engine,
    dir: &Path,
    labels: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut left = Vec::new();
    for work in [WORK, GIT_WORK].map(|name| dir.join(name)) {
        let kernels = work.join("work");
        if let Err(error) = fs::remove_dir(&kernels)
            && error.kind() == io::ErrorKind::DirectoryNotEmpty
            && !cofferdam_native::outside::can_show()
        {
            if let Err(trouble) = empty_as_root(engine, &work, labels) {
                left.push(format!("directory {}: {trouble}", kernels.display()));
            }
            // What is still wrong shows when its parent is removed.
            fs::remove_dir(&kernels).ok();
        }
    }
    if let Err(trouble) = open_uppers(engine, dir, labels) {
        left.push(format!("directories of what was changed: {trouble}"));
    }
    for name in [root::ETC, root::HOME_FILES, workspace::COVERS, WORK, GIT_WORK] {
        note(&dir.join(name), fs::remove_dir_all(dir.join(name)), &mut left);
    }
    for name in [workspace::LOWER, workspace::GIT_LOWER, root::SECRETS] {
        note(&dir.join(name), fs::remove_file(dir.join(name)), &mut left);
    }
    left
}

fn note(path: &Path, answer: io::Result<()>, left: &mut Vec<String>) {
    match answer {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            left.push(format!("{}: {e}", path.display()));
        }
        _ => {}
    }
}

/// Empties `work/work`. Root without any capability may do that to what belongs to root. An engine without root
/// made it as the root of a container in which its user is somebody else: that is the first of the ids which the
/// user was given, and where the user is root itself, the next.
fn empty_as_root(
    engine: &Engine,
    work: &Path,
    labels: &BTreeMap<String, String>,
) -> Result<(), Trouble> {
    let script = "chmod 700 /scratch/work && rm -rf /scratch/work/*";
    let bind = Some((work, Path::new("/scratch")));
    let user = match engine.rights {
        Rights::Roots => "0:0",
        Rights::Users => "1:1",
    };
    chore::done(engine, &Chore { script, user, labels, bind }).map(|_| ())
}

/// Lets whoever owns the run see what was changed.
pub(super) fn open_uppers(
    engine: &Engine,
    dir: &Path,
    labels: &BTreeMap<String, String>,
) -> Result<(), Trouble> {
    let mut uppers = [UPPER, GIT_UPPER].into_iter().map(|name| dir.join(name));
    uppers.try_for_each(|upper| open_upper(engine, &upper, labels))
}

/// Podman gives a volume to the owner that its place has in the image, which is root. What was changed is to
/// be sealed and removed by us all the same; nobody else gets as far as this directory.
fn open_upper(
    engine: &Engine,
    upper: &Path,
    labels: &BTreeMap<String, String>,
) -> Result<(), Trouble> {
    let is_roots = fs::metadata(upper).is_ok_and(|meta| meta.uid() == 0);
    if !is_roots || cofferdam_native::outside::can_show() {
        return Ok(());
    }
    let bind = Some((upper, Path::new("/scratch")));
    let script = "chmod 777 /scratch";
    chore::done(engine, &Chore { script, user: "0:0", labels, bind }).map(|_| ())
}
