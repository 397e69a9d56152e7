//! Who came up against a limit in a container, by the counters of its control groups: whom the kernel killed for want of
//! memory, which not every engine says, and how many processes it would not start, which none does. The groups go when
//! the container does: kills are asked for the moment the streams end, and of a container for one command its first process says
//! how many were not started.

use std::fs;
use std::path::{Path, PathBuf};

/// The files with the counters, as far as they are to be seen from here.
#[derive(Debug, Default)]
pub(super) struct Counters {
    kills: Option<PathBuf>,
    refusals: Option<PathBuf>,
}

impl Counters {
    /// Of the groups that a process is in.
    pub(super) fn of(pid: u64) -> Self {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let top = Path::new("/sys/fs/cgroup");
        let seen = |file: Option<PathBuf>| file.filter(|file| file.is_file());
        let [kills, refusals] = [KILLS, REFUSALS].map(|counter| seen(counter.file(&groups, top)));
        Self { kills, refusals }
    }

    pub(super) fn into_files(self) -> (Option<PathBuf>, Option<PathBuf>) {
        (self.kills, self.refusals)
    }

    /// `None` where the group is gone.
    pub(super) fn kills(&self) -> Option<u64> {
        KILLS.read(self.kills.as_deref()?)
    }
}

/// Where a number stands in both versions of control groups: see cgroups(7).
struct Counter {
    controller: &'static str,
    separate: &'static str,
    unified: &'static str,
    name: &'static str,
}

const KILLS: Counter = Counter {
    controller: "memory",
    separate: "memory.oom_control",
    unified: "memory.events",
    name: "oom_kill ",
};
const REFUSALS: Counter =
    Counter { controller: "pids", separate: "pids.events", unified: "pids.events", name: "max " };

impl Counter {
    /// Its file, in the group by which its controller limits something.
    fn file(&self, groups: &str, top: &Path) -> Option<PathBuf> {
        let mut unified = None;
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
            // The host's own group says nothing about one container.
            if path.is_empty() || path.split('/').any(|part| part == "..") {
                continue;
            }
            if controllers.split(',').any(|name| name == self.controller) {
                return Some(top.join(self.controller).join(path).join(self.separate));
            }
            if controllers.is_empty() {
                unified = Some(top.join(path).join(self.unified));
            }
        }
        unified
    }

    fn read(&self, file: &Path) -> Option<u64> {
        self.number(&fs::read_to_string(file).ok()?)
    }

    fn number(&self, text: &str) -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(self.name)?.trim().parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_are_found_in_both_versions() {
        let top = Path::new("/c");
        let first = "12:pids:/x\n5:cpu,memory:/docker/id\n0::/\n";
        let kills = |groups| KILLS.file(groups, top);
        assert_eq!(kills(first), Some("/c/memory/docker/id/memory.oom_control".into()));
        assert_eq!(kills("0::/a/id\n"), Some("/c/a/id/memory.events".into()));
        assert_eq!(kills("5:memory:/\n0::/\n"), None);
        assert_eq!(kills("0::/../x\n"), None);
        assert_eq!(REFUSALS.file(first, top), Some("/c/pids/x/pids.events".into()));
        assert_eq!(REFUSALS.file("0::/a/id\n", top), Some("/c/a/id/pids.events".into()));
    }

    #[test]
    fn they_are_read() {
        assert_eq!(KILLS.number("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), Some(2));
        assert_eq!(KILLS.number("low 0\noom 1\noom_kill 0\n"), Some(0));
        assert_eq!(KILLS.number(""), None);
        assert_eq!(REFUSALS.number("max 3\n"), Some(3));
    }
}
