//! What the kernel counts of those who came up against a limit: whom it killed for want of memory, and how many
//! processes it would not start.

use std::fs::File;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::kernel_text;

/// The files with the counters, each where its limit is in force.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub(crate) kills: Option<PathBuf>,
    pub(crate) refusals: Option<PathBuf>,
}

/// The same, open: a group may go before they are read.
#[derive(Debug)]
pub(crate) struct Tally {
    kills: Option<File>,
    refusals: Option<File>,
}

impl Tally {
    /// What cannot be read is not counted.
    pub(crate) fn open(counters: &Counters) -> Self {
        let open = |file: &Option<PathBuf>| file.as_ref().and_then(|file| File::open(file).ok());
        Self { kills: open(&counters.kills), refusals: open(&counters.refusals) }
    }

    /// How many were killed for want of memory.
    pub(crate) fn kills(&self) -> u64 {
        read(self.kills.as_ref(), "oom_kill ")
    }

    /// How many processes and threads were not started, because there were as many as may be.
    pub(crate) fn refusals(&self) -> u64 {
        read(self.refusals.as_ref(), "max ")
    }
}

/// The same of the container that we are in, whose own groups an engine shows there, to be read.
pub(crate) fn refused_in_here() -> u64 {
    let files = ["/sys/fs/cgroup/pids/pids.events", "/sys/fs/cgroup/pids.events"];
    let text = files.iter().find_map(|file| kernel_text::read(file).ok());
    number(&text.unwrap_or_default(), "max ")
}

/// Both versions of control groups say `NAME N`, in different files.
fn read(file: Option<&File>, name: &str) -> u64 {
    let text = file.and_then(|file| kernel_text::again(file).ok()).unwrap_or_default();
    number(&text, name)
}

fn number(text: &str, name: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.strip_prefix(name))
        .find_map(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted_in_both_dialects() {
        let kills = |text| number(text, "oom_kill ");
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), 2);
        assert_eq!(kills("low 0\nmax 3\noom 1\noom_kill 1\noom_group_kill 0\n"), 1);
        assert_eq!(kills("oom_kill_disable 1\n"), 0);
    }

    #[test]
    fn what_cannot_be_read_is_not_counted() {
        let dir = tempfile::tempdir().unwrap();
        let refusals = dir.path().join("pids.events");
        std::fs::write(&refusals, "max 7\n").unwrap();
        let tally = Tally::open(&Counters { kills: None, refusals: Some(refusals) });
        assert_eq!((tally.kills(), tally.refusals()), (0, 7));
        let gone = Counters { kills: None, refusals: Some(dir.path().join("gone")) };
        assert_eq!(Tally::open(&gone).refusals(), 0);
    }
}
