//! Which hierarchies are mounted and where our place in each is, out of the kernel's tables.

use std::path::{Path, PathBuf};

use cofferdam_native::SUPERVISOR;

use crate::doctor::Who;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// A mounted hierarchy and the directory in it under which groups of ours would be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hierarchy {
    V2 { dir: PathBuf },
    V1 { dir: PathBuf, controllers: Vec<String> },
}

impl Hierarchy {
    pub(super) fn dir(&self) -> &Path {
        match self {
            Self::V2 { dir } | Self::V1 { dir, .. } => dir,
        }
    }

    pub(super) fn version(&self) -> Version {
        match self {
            Self::V2 { .. } => Version::V2,
            Self::V1 { .. } => Version::V1,
        }
    }
}

/// From the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`; version 2 first, as it is preferred.
/// Root makes its groups at the top, others beneath the group they are in.
pub(super) fn find(mountinfo: &str, own: &str, who: Who) -> Vec<Hierarchy> {
    let mut found: Vec<_> =
        mountinfo.lines().filter_map(|line| hierarchy(line, own, who)).collect();
    found.sort_by_key(|hierarchy| match hierarchy.version() {
        Version::V2 => 0,
        Version::V1 => 1,
    });
    found
}

/// A line of mountinfo (proc_pid_mountinfo(5)): … root point … - kind source options
fn hierarchy(line: &str, own: &str, who: Who) -> Option<Hierarchy> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3);
    let (root, point) = (mount.next()?, mount.next()?);
    let mut kind = kind.split(' ');
    let (kind, options) = (kind.next()?, kind.nth(1)?);
    let place = |membership: Option<&str>| match who {
        Who::Root => Some(PathBuf::from(point)),
        Who::Ordinary => beneath(point, root, membership?),
    };
    match kind {
        "cgroup2" => {
            let own = membership(own, "");
            // Where a sandbox was made already, its maker has stepped aside.
            let own = own.map(|own| own.strip_suffix(&format!("/{SUPERVISOR}")).unwrap_or(own));
            Some(Hierarchy::V2 { dir: place(own)? })
        }
        "cgroup" => {
            let options = options.split(',').filter(|option| !matches!(*option, "rw" | "ro"));
            let controllers: Vec<_> = options.map(str::to_owned).collect();
            let dir = place(controllers.iter().find_map(|name| membership(own, name)))?;
            Some(Hierarchy::V1 { dir, controllers })
        }
        _ => None,
    }
}

/// The group that we are in, in the hierarchy of a controller; the empty name is version 2's.
fn membership<'a>(own: &'a str, controller: &str) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, names, path) = (fields.next()?, fields.next()?, fields.next()?);
        names.split(',').any(|name| name == controller).then_some(path)
    })
}

/// The directory of a group. In a container the mount shows only what is beneath its own root.
fn beneath(point: &str, root: &str, group: &str) -> Option<PathBuf> {
    let inside = Path::new(group).strip_prefix(root).ok()?;
    Some(Path::new(point).components().chain(inside.components()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str = "23 27 0:22 / /sys rw,relatime - sysfs sysfs rw\n\
        31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const HYBRID: &str = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const HYBRID_OWN: &str = "4:memory:/jobs/a:b\n2:cpu,cpuacct:/\n0::/x\n";

    fn dirs(mountinfo: &str, own: &str, who: Who) -> Vec<String> {
        let found = find(mountinfo, own, who);
        found.iter().map(|one| one.dir().display().to_string()).collect()
    }

    #[test]
    fn root_is_at_the_top_and_others_in_their_own_group() {
        let own = "0::/user.slice/app.scope\n";
        let aside = "0::/user.slice/app.scope/cofferdam.supervisor\n";
        assert_eq!(dirs(UNIFIED, aside, Who::Ordinary), dirs(UNIFIED, own, Who::Ordinary));
        assert_eq!(dirs(UNIFIED, own, Who::Root), ["/sys/fs/cgroup"]);
        assert_eq!(dirs(UNIFIED, own, Who::Ordinary), ["/sys/fs/cgroup/user.slice/app.scope"]);
    }

    #[test]
    fn hybrid_lists_version_two_first_and_each_controller_by_itself() {
        assert_eq!(
            dirs(HYBRID, HYBRID_OWN, Who::Ordinary),
            [
                "/sys/fs/cgroup/unified/x",
                "/sys/fs/cgroup/memory/jobs/a:b",
                "/sys/fs/cgroup/cpu,cpuacct"
            ]
        );
        let found = find(HYBRID, HYBRID_OWN, Who::Root);
        let Hierarchy::V1 { controllers, .. } = &found[2] else { panic!("{found:?}") };
        assert_eq!(controllers, &["cpu", "cpuacct"]);
    }

    #[test]
    fn a_container_sees_its_part_only() {
        let mounted = "31 23 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        assert_eq!(dirs(mounted, "0::/docker/abc/x\n", Who::Ordinary), ["/sys/fs/cgroup/x"]);
        assert!(dirs(mounted, "0::/elsewhere\n", Who::Ordinary).is_empty());
    }

    #[test]
    fn nonsense_is_nothing() {
        for text in ["", "\n", " - cgroup2", "1 2 3 / /p rw - cgroup2", "a - b - c"] {
            assert!(find(text, "::\nx", Who::Root).is_empty(), "{text:?}");
        }
    }
}
