//! The name of what the doctor makes to try something, and how it is found again where the doctor was killed.

use std::fs;
use std::path::Path;

use crate::tree::remove_tree;

const PREFIX: &str = "cofferdam-probe-";

/// Of this process's trials.
pub(super) fn name() -> String {
    format!("{PREFIX}{}", std::process::id())
}

/// A trial whose doctor is dead.
#[derive(Debug)]
pub(crate) struct Abandoned {
    pub(crate) name: String,
    /// Whether it was of this state directory: groups do not tell.
    pub(crate) is_ours: bool,
    /// What would not go.
    pub(crate) left: Vec<String>,
}

/// Removes the sandboxes of doctors that died: their groups, and their directories where runs are kept.
pub(crate) fn sweep(state: &Path) -> Vec<Abandoned> {
    let mut names = cofferdam_native::names_with(PREFIX);
    let entries = fs::read_dir(state).into_iter().flatten().flatten();
    names.extend(entries.filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str()?.strip_prefix('.')?;
        name.starts_with(PREFIX).then(|| name.to_owned())
    }));
    let dead = names.into_iter().filter(|name| is_of_the_dead(name));
    dead.map(|name| {
        let dir = state.join(format!(".{name}"));
        let is_ours = dir.exists();
        let mut left = cofferdam_native::sweep(&name);
        let removed = remove_tree(&dir);
        left.extend(removed.err().map(|error| format!("directory {}: {error}", dir.display())));
        Abandoned { name, is_ours, left }
    })
    .collect()
}

/// Whether this is the name of a trial whose doctor lives.
pub(crate) fn goes_on(name: &str) -> bool {
    doctor(name).is_some_and(lives)
}

fn is_of_the_dead(name: &str) -> bool {
    doctor(name).is_some_and(|pid| !lives(pid))
}

fn doctor(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

fn lives(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_dead_and_of_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let dead = format!("{PREFIX}{}", child.id());
        assert!(goes_on(&name()) && !goes_on(&dead) && !goes_on("else"));
        let others = [name(), "cofferdam-probe-x".to_owned(), "else".to_owned()];
        for name in [&dead].into_iter().chain(&others) {
            fs::create_dir_all(dir.path().join(format!(".{name}/state"))).unwrap();
        }
        let swept = sweep(dir.path());
        let gone = swept.iter().find(|gone| gone.name == dead).unwrap();
        assert!(gone.is_ours && gone.left.is_empty(), "{gone:?}");
        assert!(!dir.path().join(format!(".{dead}")).exists());
        for name in others {
            assert!(dir.path().join(format!(".{name}")).exists(), "{name}");
        }
    }
}
