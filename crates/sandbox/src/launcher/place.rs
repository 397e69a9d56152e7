//! Where prepared sandboxes keep their layers until a run gets them: `pool/<launcher>/<sandbox>/`.
//!
//! The directory of a sandbox stays until the sandbox is gone, empty when a run has its layers: its
//! name is that of the sandbox's control groups, so that they are found after a crash. One that is made for a
//! run has such a directory, too: the run may be closed by others while its launcher is still at it.
//! `owner.json` says which process the launcher is.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cofferdam_core::plan::Plan;
use cofferdam_native::witness::Witness;
use cofferdam_native::{GIT_UPPER, GIT_WORK, PLACEHOLDERS, RESULT, UPPER, WORK};

use crate::clock;
use crate::runs::current_owner;
use crate::state::{StateDir, StateError, keep_apart, make_private_dir, private_file};
use crate::tree::remove_tree;

/// What a run of this plan gets of a prepared sandbox's directory.
fn layers(plan: &Plan) -> Vec<&'static str> {
    let mut names = vec![UPPER, WORK, PLACEHOLDERS];
    if plan.repository.is_some() {
        names.extend([GIT_UPPER, GIT_WORK]);
    }
    if plan.result.is_some() {
        names.push(RESULT);
    }
    names
}

const OWNER: &str = "owner.json";
/// A launcher that died before it said who it is leaves a directory that is older than this.
const UNNAMED: Duration = Duration::from_secs(60);

/// The directory of one launcher.
#[derive(Debug)]
pub(super) struct Pool {
    dir: PathBuf,
    /// Locked for as long as the launcher lives: that is what tells others that it does.
    _owner: File,
}

/// The directory of one prepared sandbox.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) dir: PathBuf,
}

impl Pool {
    pub(super) fn open(state: &StateDir) -> Result<Self, StateError> {
        make_private_dir(&state.pool())?;
        let dir = state.pool().join(clock::new_run_id(clock::now())?.to_string());
        make_private_dir(&dir)?;
        // One place for each sandbox, as for each run.
        keep_apart(&dir);
        let owner = serde_json::to_vec(&current_owner())
            .unwrap_or_else(|_| unreachable!("an owner is two numbers and a text"));
        // Locked before it has its name: nobody ever finds it without a lock while we live.
        let (unnamed, named) = (dir.join("owner.new"), dir.join(OWNER));
        let mut file = private_file()
            .write(true)
            .create_new(true)
            .open(&unnamed)
            .map_err(StateError::io("create", &unnamed))?;
        file.lock().map_err(StateError::io("lock", &unnamed))?;
        file.write_all(&owner)
            .and_then(|()| fs::rename(&unnamed, &named))
            .map_err(StateError::io("write", &named))?;
        Ok(Self { dir, _owner: file })
    }

    pub(super) fn place(&self) -> Result<Place, StateError> {
        self.place_of(clock::new_run_id(clock::now())?.to_string())
    }

    /// Of a sandbox that has this name.
    pub(super) fn place_of(&self, name: String) -> Result<Place, StateError> {
        let dir = self.dir.join(&name);
        make_private_dir(&dir)?;
        Ok(Place { name, dir })
    }

    pub(super) fn remove(self) -> Result<(), StateError> {
        remove_tree(&self.dir).map_err(StateError::io("remove", &self.dir))
    }
}

impl Place {
    /// Moves the layers into a run's directory where their sandbox is as good as a new one: the host looks as it did when
    /// it was made, and it still waits.
    pub(super) fn give_if_good(
        &self,
        (made, now): (&Witness, &Witness),
        is_alive: bool,
        run: &Path,
        plan: &Plan,
    ) -> bool {
        made == now && is_alive && self.give_to(run, &layers(plan)).is_ok()
    }

    /// Moves the layers into a run's directory, all or none. The sandbox holds them by descriptor and
    /// does not see the move.
    fn give_to(&self, run: &Path, layers: &[&str]) -> io::Result<()> {
        let moved = layers.iter().try_for_each(|name| shift(&self.dir, run, name));
        if moved.is_err() {
            for name in layers {
                shift(run, &self.dir, name)?;
            }
        }
        moved
    }

    /// Removes what is left of it and says what would not go.
    pub(super) fn remove(self) -> Option<String> {
        let removed = remove_tree(&self.dir);
        removed.err().map(|error| format!("directory {}: {error}", self.dir.display()))
    }
}

fn shift(from: &Path, to: &Path, name: &str) -> io::Result<()> {
    match fs::rename(from.join(name), to.join(name)) {
        // Only staged workspaces have layers; only blocked names that are missing, placeholders.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        answer => answer,
    }
}

/// What a dead launcher left.
#[derive(Debug)]
pub(crate) struct Swept {
    pub(crate) launcher: String,
    /// Sandboxes that are gone now.
    pub(crate) removed: Vec<String>,
    /// What would not go; the next clean-up tries again.
    pub(crate) left: Vec<String>,
}

/// Removes what launchers left that are dead.
pub(crate) fn sweep_dead(state: &StateDir) -> Result<Vec<Swept>, StateError> {
    let mut all = Vec::new();
    for dir in directories(&state.pool())? {
        let Some(_claim) = claim(&dir)? else { continue };
        let mut swept = Swept { launcher: name_of(&dir), removed: Vec::new(), left: Vec::new() };
        for place in directories(&dir)? {
            let stays = cofferdam_native::sweep(&name_of(&place));
            if stays.is_empty() {
                swept.removed.push(format!("sandbox {}", name_of(&place)));
            }
            swept.left.extend(stays);
        }
        if swept.left.is_empty()
            && let Err(error) = remove_tree(&dir)
        {
            swept.left.push(format!("directory {}: {error}", dir.display()));
        }
        all.push(swept);
    }
    Ok(all)
}

fn name_of(dir: &Path) -> String {
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Who may clean up this directory: one process at a time, and none while its launcher lives.
fn claim(dir: &Path) -> Result<Option<Option<File>>, StateError> {
    let path = dir.join(OWNER);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let age = fs::metadata(dir).and_then(|meta| meta.modified()).ok();
            let old = age.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > UNNAMED);
            return Ok(old.then_some(None));
        }
        Err(e) => return Err(StateError::io("open", &path)(e)),
    };
    match file.try_lock() {
        Ok(()) => Ok(path.exists().then_some(Some(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(e)) => Err(StateError::io("lock", &path)(e)),
    }
}

fn directories(dir: &Path) -> Result<Vec<PathBuf>, StateError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StateError::io("list", dir)(e)),
    };
    let dirs = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    Ok(dirs.map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_what_a_dead_launcher_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let alive = Pool::open(&state).unwrap();
        let dead = Pool::open(&state).unwrap();
        let place = dead.place().unwrap();
        fs::create_dir_all(place.dir.join("work/work")).unwrap();
        fs::set_permissions(place.dir.join("work/work"), fs::Permissions::from_mode(0o000))
            .unwrap();
        let unnamed = state.pool().join("unnamed");
        fs::create_dir(&unnamed).unwrap();
        // Dead: its lock is gone, its directory is not.
        let gone = dead.dir.clone();
        drop(dead);
        let swept = sweep_dead(&state).unwrap();
        assert_eq!(swept.len(), 1);
        assert!(swept[0].left.is_empty() && swept[0].removed.len() == 1, "{swept:?}");
        assert!(alive.dir.exists() && unnamed.exists() && !gone.exists());
        alive.remove().unwrap();
    }

    #[test]
    fn layers_move_and_what_is_not_there_is_not_missed() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let place = Pool::open(&state).unwrap().place().unwrap();
        fs::create_dir(place.dir.join(UPPER)).unwrap();
        place.give_to(dir.path(), &[UPPER, WORK]).unwrap();
        assert!(dir.path().join(UPPER).exists() && place.dir.exists());
        assert_eq!(place.remove(), None);
    }
}
