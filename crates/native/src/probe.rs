//! What this kernel lets us do, found out by trying in a child process.

use crate::sys::{self, SysError};

/// A namespace that a sandbox is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespace {
    User,
    Mount,
    Pid,
    Net,
    Ipc,
    Uts,
    Cgroup,
}

impl Namespace {
    pub const ALL: [Self; 7] =
        [Self::User, Self::Mount, Self::Pid, Self::Net, Self::Ipc, Self::Uts, Self::Cgroup];

    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Mount => "mount",
            Self::Pid => "pid",
            Self::Net => "net",
            Self::Ipc => "ipc",
            Self::Uts => "uts",
            Self::Cgroup => "cgroup",
        }
    }

    const fn flag(self) -> i32 {
        match self {
            Self::User => libc::CLONE_NEWUSER,
            Self::Mount => libc::CLONE_NEWNS,
            Self::Pid => libc::CLONE_NEWPID,
            Self::Net => libc::CLONE_NEWNET,
            Self::Ipc => libc::CLONE_NEWIPC,
            Self::Uts => libc::CLONE_NEWUTS,
            Self::Cgroup => libc::CLONE_NEWCGROUP,
        }
    }
}

/// Makes the namespace in a child, inside a new user namespace unless we may do without: the errno it
/// failed with, or 0. The calling process must be single-threaded.
pub fn namespace(namespace: Namespace) -> Result<i32, SysError> {
    sys::try_in_child(|| {
        let flag = namespace.flag();
        match sys::unshare(flag) {
            // That one is there says little: AppArmor takes all rights in it away. So one of them is used.
            Ok(()) if namespace == Namespace::User => sys::unshare(libc::CLONE_NEWNS),
            Err(libc::EPERM) if namespace != Namespace::User => {
                sys::unshare(flag | libc::CLONE_NEWUSER)
            }
            answer => answer,
        }
    })
}

/// The Landlock version this kernel speaks; 0 where it has none.
pub fn landlock_abi() -> u32 {
    sys::landlock_abi()
}

pub fn seccomp_filters() -> bool {
    sys::seccomp_filters()
}
