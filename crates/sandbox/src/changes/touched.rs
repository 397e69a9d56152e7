//! How much a run has changed so far, counted without reading a byte of it.
//!
//! What counts is what lies in the overlay's upper directory: a file that was written back to its old bytes counts as
//! modified, and a directory that was removed counts once. Who wants to know exactly takes a [look](crate::session::look).

use std::io;
use std::path::Path;

use cofferdam_native::UPPER;
use rustix::fs::{FileType, Stat};
use serde::Serialize;

use super::capture::{Dir, Marks, Placeholders, Side, is_opaque};

/// So many entries are counted, and so deep.
const MOST: u64 = 20_000;
const DEEPEST: usize = 64;

/// Counts of paths. With `at_least` there are more that were not counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Touched {
    pub created: u64,
    pub modified: u64,
    pub deleted: u64,
    pub at_least: bool,
}

/// Of the run in `dir`, over `workspace`; `None` where it has no upper directory, as with a copy. The run may go on
/// meanwhile: nothing is followed out of the two trees.
pub fn touched(dir: &Path, workspace: &Path) -> io::Result<Option<Touched>> {
    let upper = match Dir::open(&dir.join(UPPER), Side::Host) {
        Ok(upper) => upper,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let host = Dir::open(workspace, Side::Host)?;
    let (marks, placeholders) = (Marks::ours()?, Placeholders::of(dir)?);
    let mut count = Count { sum: Touched::default(), marks, placeholders };
    count.directory(&upper, Some(&host), &mut Vec::new(), 0)?;
    Ok(Some(count.sum))
}

struct Count {
    sum: Touched,
    marks: Marks,
    placeholders: Placeholders,
}

impl Count {
    fn directory(
        &mut self,
        upper: &Dir,
        host: Option<&Dir>,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> io::Result<()> {
        if depth == DEEPEST {
            self.sum.at_least = true;
            return Ok(());
        }
        let names = upper.names()?;
        for name in names.iter() {
            if self.is_enough() {
                return Ok(());
            }
            let length = path.len();
            path.extend(name.as_encoded_bytes());
            if !self.placeholders.contains(path) {
                path.push(b'/');
                self.entry(upper, host, name, path, depth)?;
            }
            path.truncate(length);
        }
        let Some(host) = host.filter(|_| depth > 0) else { return Ok(()) };
        if is_opaque(upper.fd()?, self.marks)? {
            let gone =
                host.names()?.iter().filter(|name| names.iter().all(|kept| kept != *name)).count();
            self.sum.deleted += gone as u64;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        upper: &Dir,
        host: Option<&Dir>,
        name: &std::ffi::OsStr,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> io::Result<()> {
        // Gone again since its name was read.
        let Some(now) = upper.look(name)? else { return Ok(()) };
        let before = match host {
            Some(host) => host.look(name)?,
            None => None,
        };
        if is_whiteout(&now) {
            self.sum.deleted += 1;
            return Ok(());
        }
        let is_dir = kind(&now) == FileType::Directory;
        let was_dir = before.as_ref().is_some_and(|before| kind(before) == FileType::Directory);
        match &before {
            None => self.sum.created += 1,
            Some(_) if is_dir && was_dir => {}
            Some(_) => self.sum.modified += 1,
        }
        if !is_dir {
            return Ok(());
        }
        let below = match upper.below(name) {
            Ok(below) => below,
            Err(error) if is_out_of_reach(&error) => {
                self.sum.at_least = true;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let host = host.filter(|_| was_dir).and_then(|host| host.below(name).ok());
        self.directory(&below, host.as_ref(), path, depth + 1)
    }

    fn is_enough(&mut self) -> bool {
        let Touched { created, modified, deleted, .. } = self.sum;
        let is_enough = created + modified + deleted >= MOST;
        self.sum.at_least |= is_enough;
        is_enough
    }
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// How an overlay says that something is not there: a character device of number 0.
fn is_whiteout(stat: &Stat) -> bool {
    kind(stat) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// Closed by the program, or another thing by now.
fn is_out_of_reach(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | PermissionDenied | NotADirectory)
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn counts_what_lies_apart_and_follows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (run, workspace) = (dir.path().join("run"), dir.path().join("workspace"));
        for made in ["run/upper/old/deep", "run/upper/new", "workspace/old", "outside/many"] {
            fs::create_dir_all(dir.path().join(made)).unwrap();
        }
        fs::write(workspace.join("old/kept"), "").unwrap();
        fs::write(run.join("upper/old/kept"), "x").unwrap();
        fs::write(run.join("upper/old/deep/made"), "x").unwrap();
        fs::write(run.join("upper/hidden"), "").unwrap();
        fs::write(run.join(cofferdam_native::PLACEHOLDERS), "hidden\0").unwrap();
        symlink(dir.path().join("outside"), run.join("upper/link")).unwrap();
        let found = touched(&run, &workspace).unwrap().unwrap();
        let wanted = Touched { created: 4, modified: 1, deleted: 0, at_least: false };
        assert_eq!(found, wanted, "deep, made, new and link; kept");
        assert_eq!(touched(dir.path(), &workspace).unwrap(), None);
    }
}
