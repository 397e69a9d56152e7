//! How a run ended, left where there is no room to write it down.
//!
//! A full disk has no room for a record or an event, but a short link takes none: its target stands in the
//! inode. Whoever cleans up writes the record, and by these words it tells how the command ended.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use cofferdam_core::outcome::{Outcome, OutcomeClass};
use serde_json::Value;

/// Its name in the run's directory.
const NAME: &str = "outcome";

/// Leaves word of an outcome, without its message.
pub(crate) fn leave(dir: &Path, outcome: &Outcome) -> io::Result<()> {
    let class = serde_json::to_value(outcome.class)?;
    let number = |number: Option<i32>| number.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let class = class.as_str().unwrap_or_default();
    symlink(
        format!("{class}:{}:{}", number(outcome.exit_code), number(outcome.signal)),
        dir.join(NAME),
    )
}

/// What was left, if anything was.
pub(crate) fn read(dir: &Path) -> Option<Outcome> {
    let target = fs::read_link(dir.join(NAME)).ok()?;
    let mut words = target.to_str()?.split(':');
    let class: OutcomeClass = serde_json::from_value(Value::from(words.next()?)).ok()?;
    let mut number = || words.next().and_then(|word| word.parse().ok());
    let (exit_code, signal) = (number(), number());
    Some(Outcome { class, exit_code, signal, message: None })
}

/// They stand in the record now.
pub(crate) fn forget(dir: &Path) -> io::Result<()> {
    match fs::remove_file(dir.join(NAME)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_read_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()), None);
        for outcome in [Outcome::exited(7), Outcome::signaled(9), Outcome::exited(-1)] {
            leave(dir.path(), &outcome).unwrap();
            assert_eq!(read(dir.path()), Some(outcome));
            forget(dir.path()).unwrap();
        }
        forget(dir.path()).unwrap();
        symlink("nonsense", dir.path().join(NAME)).unwrap();
        assert_eq!(read(dir.path()), None);
    }
}
