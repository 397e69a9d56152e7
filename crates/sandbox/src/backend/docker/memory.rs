//! Whether the kernel killed something in a container for want of memory, by the counter of its control group. Not
//! every engine says so. The group goes when the container does, so that it is asked the moment the streams end.

use std::fs;
use std::path::{Path, PathBuf};

/// The file with the counter.
#[derive(Debug)]
pub(super) struct Counter(PathBuf);

impl Counter {
    /// Of the group that a process is in, as far as it is to be seen from here.
    pub(super) fn of(pid: u64) -> Option<Self> {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let file = counter(&groups, Path::new("/sys/fs/cgroup"))?;
        file.is_file().then_some(Self(file))
    }

    pub(super) fn into_file(self) -> PathBuf {
        self.0
    }

    /// `None` where the group is gone.
    pub(super) fn kills(&self) -> Option<u64> {
        kills(&fs::read_to_string(&self.0).ok()?)
    }
}

/// Of both versions of control groups, the one that limits memory: see cgroups(7).
fn counter(groups: &str, top: &Path) -> Option<PathBuf> {
    let mut unified = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        // The host's own group says nothing about one container.
        if path.is_empty() || path.split('/').any(|part| part == "..") {
            continue;
        }
        if controllers.split(',').any(|name| name == "memory") {
            return Some(top.join("memory").join(path).join("memory.oom_control"));
        }
        if controllers.is_empty() {
            unified = Some(top.join(path).join("memory.events"));
        }
    }
    unified
}

fn kills(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_in_both_versions() {
        let top = Path::new("/c");
        let first = "12:pids:/x\n5:cpu,memory:/docker/id\n0::/\n";
        assert_eq!(counter(first, top), Some("/c/memory/docker/id/memory.oom_control".into()));
        assert_eq!(counter("0::/a/id\n", top), Some("/c/a/id/memory.events".into()));
        assert_eq!(counter("5:memory:/\n0::/\n", top), None);
        assert_eq!(counter("0::/../x\n", top), None);
    }

    #[test]
    fn it_is_read() {
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), Some(2));
        assert_eq!(kills("low 0\noom 1\noom_kill 0\n"), Some(0));
        assert_eq!(kills(""), None);
    }
}
