//! The state directory: every run is recorded in it, so it must take a file.

use std::fs;
use std::io;
use std::path::Path;

use super::Place;
use super::check::{Check, Question};
use super::trial;

const WRITABLE: Question = Question::new("state.writable", "state directory");

pub(super) fn examine(place: &Place) -> Check {
    judge(&place.state_dir, try_in(existing(&place.state_dir)))
}

/// The directory itself or, before the first run, the nearest one above it.
pub(super) fn existing(dir: &Path) -> &Path {
    dir.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"))
}

/// Makes a directory there and takes it away again.
fn try_in(dir: &Path) -> io::Result<()> {
    let trial = dir.join(format!(".{}", trial::name()));
    fs::create_dir(&trial)?;
    fs::remove_dir(&trial)
}

fn judge(dir: &Path, trial: io::Result<()>) -> Check {
    let dir = dir.display();
    match trial {
        Ok(()) => WRITABLE.ok(format!("{dir} can be written")),
        Err(error) => WRITABLE.fail(
            format!("{dir} cannot be written: {error}"),
            "make it yours and writable, or set XDG_STATE_HOME to a directory that is",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn a_directory_that_is_not_there_yet_is_tried_above_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("a/b");
        assert_eq!(existing(&state), dir.path());
        assert_eq!(judge(&state, try_in(existing(&state))).status, Status::Ok);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_in_the_way_fails() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        fs::write(&state, "").unwrap();
        let check = judge(&state, try_in(existing(&state)));
        assert_eq!(check.status, Status::Fail);
        assert!(check.remedy.unwrap().contains("XDG_STATE_HOME"));
    }
}
