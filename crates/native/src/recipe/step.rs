//! The steps by name, for errors that say where a confinement stopped and what would help.

/// A step of the recipe, or what the first process does with its order. In the order of their doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Limits,
    Namespaces,
    Identity,
    Session,
    Root,
    System,
    Devices,
    Processes,
    Workspace,
    Blocked,
    Memory,
    Toolchains,
    Mounts,
    Privileges,
    Descriptors,
    Landlock,
    Seccomp,
    Confirm,
    Prove,
    Workdir,
}

impl Step {
    const ALL: [Self; 20] = [
        Self::Limits,
        Self::Namespaces,
        Self::Identity,
        Self::Session,
        Self::Root,
        Self::System,
        Self::Devices,
        Self::Processes,
        Self::Workspace,
        Self::Blocked,
        Self::Memory,
        Self::Toolchains,
        Self::Mounts,
        Self::Privileges,
        Self::Descriptors,
        Self::Landlock,
        Self::Seccomp,
        Self::Confirm,
        Self::Prove,
        Self::Workdir,
    ];

    pub(crate) fn number(self) -> u8 {
        u8::try_from(Self::ALL.iter().position(|step| *step == self).unwrap_or(0)).unwrap_or(0)
    }

    pub(crate) fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// What was being done, to follow "cannot".
    pub const fn doing(self) -> &'static str {
        match self {
            Self::Limits => "enter the control groups",
            Self::Namespaces => "set up the namespaces",
            Self::Identity => "map the user into a user namespace",
            Self::Session => "leave the caller's session",
            Self::Root => "make the root file system",
            Self::System => "show the system read-only",
            Self::Devices => "make /dev",
            Self::Processes => "make /proc",
            Self::Workspace => "mount the workspace",
            Self::Blocked => "hide the blocked paths",
            Self::Memory => "make the memory file systems",
            Self::Toolchains => "show the toolchains",
            Self::Mounts => "make the mounts",
            Self::Privileges => "give up privileges",
            Self::Workdir => "enter the working directory",
            Self::Descriptors => "close the caller's files",
            Self::Landlock => "restrict paths with Landlock",
            Self::Seccomp => "load the system call filter",
            Self::Confirm => "confirm the confinement",
            Self::Prove => "prove the confinement",
        }
    }

    /// What would help against this errno in this step.
    pub(crate) fn remedy(self, call: &str, errno: i32) -> &'static str {
        match (self, errno) {
            (_, libc::ESTALE) => {
                "the path was replaced after the plan was made: run again, and find out by whom"
            }
            (Self::Workspace, libc::EROFS) => {
                "the overlay came up read-only: put the state directory (XDG_STATE_HOME) on a local \
                 disk file system such as ext4, xfs or btrfs"
            }
            (Self::Workspace, libc::EOVERFLOW) => {
                "an owner or group in the workspace is not mapped: run as the workspace's owner"
            }
            (Self::Workspace, libc::EINVAL) if call == "mount_setattr (id-mapped)" => {
                "the workspace's file system cannot change owners in a mount: give the workspace to \
                 a user who is not root (chown), or use Linux 5.19 or later"
            }
            (Self::Workspace, libc::EINVAL | libc::ENODEV | libc::EXDEV | libc::EOPNOTSUPP) => {
                "put the state directory (XDG_STATE_HOME) on a local disk file system such as ext4, \
                 xfs or btrfs, and see that nothing is mounted inside the workspace; or use --mode \
                 direct"
            }
            (Self::Workspace, libc::ENOENT) => "see that the workspace is still there",
            (Self::Blocked, libc::ELOOP) => {
                "a blocked path leads through a symlink: block the path that it leads to"
            }
            (Self::Blocked, libc::E2BIG) => {
                "a blocked pattern means too many paths: name a directory, or use a pattern without **"
            }
            (Self::Blocked, libc::EINVAL) => {
                "write blocked paths relative to the workspace, with * and ? inside of names"
            }
            (Self::Mounts | Self::Toolchains | Self::Memory, libc::ENOENT) => {
                "inside the workspace a mount point must exist: make it first, or choose another target"
            }
            (Self::Mounts | Self::Toolchains | Self::Memory, libc::ELOOP) => {
                "a mount point leads through a symlink: name the path that it leads to"
            }
            (Self::Landlock, _) => {
                "use a kernel with Landlock (5.13 or later, lsm=landlock,…), or give it up by name \
                 with --relax landlock"
            }
            (Self::Processes, libc::EPERM) => {
                "/proc of this host is partly covered, as in a container: run the outer container \
                 with an unmasked /proc, or use the docker backend outside of it"
            }
            (_, libc::ENOSYS) => "use Linux 5.19 or later",
            (_, libc::EPERM | libc::EACCES) => {
                "run `cofferdam doctor` to see which privilege is missing; user namespaces may be \
                 restricted by AppArmor or a container"
            }
            (_, libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOSPC) => {
                "free some of the host's memory, files or disk space, and run again"
            }
            _ => "run `cofferdam doctor` to see what this host can enforce",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_steps_and_back() {
        for (at, step) in Step::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(step.number()), at);
            assert_eq!(Step::numbered(step.number()), Some(step));
        }
        assert_eq!(Step::numbered(200), None);
        assert!(Step::ALL.is_sorted());
    }
}
