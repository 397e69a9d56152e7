//! Directories that only have to be removed, and with that can wait: `waste/` in the state directory.
//!
//! A disk takes its time for each directory that goes, and whoever waits for a short command would wait for
//! that, too. So the kernel's empty scratch space is only moved here at the end of a run; the next run
//! removes it while its own command is at work, and so does [`gc`](crate::reconcile::clear_waste). Nothing
//! comes here that takes up space.
//!
//! One at a time removes: many runs at once would all go for the same few, and get in each other's way.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::state::{StateDir, make_private_dir};
use crate::tree::remove_tree;

/// How much a run takes upon itself: more than it leaves, so that the heap does not grow.
const AT_ONCE: usize = 6;

#[derive(Debug, Clone)]
pub(crate) struct Waste {
    dir: PathBuf,
}

impl Waste {
    pub(crate) fn of(state: &StateDir) -> Self {
        Self { dir: state.root().join("waste") }
    }

    /// Moves a directory here, if it is there. Its new name must be nobody else's. Where it cannot be moved
    /// it is removed now.
    pub(crate) fn take(&self, path: &Path, name: &str) -> io::Result<()> {
        let to = self.dir.join(name);
        match fs::rename(path, &to) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound && path.exists() => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(_) => return remove_tree(path),
        }
        if make_private_dir(&self.dir).is_ok() && fs::rename(path, &to).is_ok() {
            return Ok(());
        }
        remove_tree(path)
    }

    /// Removes some of what is here, unless somebody else is at it. What will not go is left to the next.
    pub(crate) fn reduce(&self) {
        // Without the directory there is nothing to remove.
        let Ok(turn) = File::open(&self.dir) else { return };
        if turn.try_lock().is_err() {
            return;
        }
        for path in self.paths().into_iter().take(AT_ONCE) {
            remove_tree(&path).ok();
        }
    }

    /// Removes all of it, once nobody else is at it, and says what would not go.
    pub(crate) fn clear(&self) -> Vec<String> {
        let Ok(turn) = File::open(&self.dir) else { return Vec::new() };
        let stays = |path: PathBuf| match remove_tree(&path) {
            Err(error) if path.exists() => Some(format!("directory {}: {error}", path.display())),
            _ => None,
        };
        if let Err(error) = turn.lock() {
            return vec![format!("directory {}: {error}", self.dir.display())];
        }
        self.paths().into_iter().filter_map(stays).collect()
    }

    fn paths(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_away_at_once_and_gone_after_a_while() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(top.path().join("state")).unwrap();
        let waste = Waste::of(&state);
        waste.take(&top.path().join("never"), "never").unwrap();
        for number in 0..AT_ONCE + 2 {
            let work = top.path().join("work");
            fs::create_dir_all(work.join("work")).unwrap();
            waste.take(&work, &number.to_string()).unwrap();
            assert!(!work.exists());
        }
        assert_eq!(waste.paths().len(), AT_ONCE + 2);
        waste.reduce();
        assert_eq!(waste.paths().len(), 2);
        assert_eq!(waste.clear(), [""; 0]);
        assert!(waste.paths().is_empty());
    }

    #[test]
    fn one_at_a_time_removes_some() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(top.path().join("state")).unwrap();
        let waste = Waste::of(&state);
        waste.reduce();
        fs::create_dir_all(waste.dir.join("work/work")).unwrap();
        let another = File::open(&waste.dir).unwrap();
        another.lock().unwrap();
        waste.reduce();
        assert_eq!(waste.paths().len(), 1);
        drop(another);
        waste.reduce();
        assert!(waste.paths().is_empty());
    }

    #[test]
    fn what_cannot_be_moved_is_removed() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDir::open(top.path().join("state")).unwrap();
        let waste = Waste::of(&state);
        fs::create_dir_all(waste.dir.join("taken/by/another")).unwrap();
        let work = top.path().join("work");
        fs::create_dir_all(work.join("work")).unwrap();
        waste.take(&work, "taken").unwrap();
        assert!(!work.exists() && waste.dir.join("taken/by/another").exists());
    }
}
