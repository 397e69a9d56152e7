//! Forbidden acts, tried: system calls by name, each with arguments that do no harm even where nothing stops
//! them.
//!
//! [`CALLS`] is the list. What a filter refuses is refused before the kernel looks at the arguments, so that a
//! call with senseless ones tells both cases apart: EPERM or ENOSYS where it is forbidden, another error where it
//! got through. Where the host refuses it to everybody, both are alike; whoever asks compares with the same
//! call outside. Nothing here decides what that means: see `cofferdam_sandbox::attack`.

use rustix::fs::{MemfdFlags, memfd_create};

use crate::sys::attempt::{NOWHERE, call};

/// A system call that no sandboxed program should get through to.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub name: &'static str,
    number: libc::c_long,
    args: [usize; 6],
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// With an error that means "not you" or "no such call".
    Refused(i32),
    /// The kernel looked at it, and perhaps did it.
    Reached,
}

impl Call {
    pub fn named(name: &str) -> Option<&'static Self> {
        CALLS.iter().find(|call| call.name == name)
    }

    pub fn make(&self) -> Answer {
        match call(self.number, self.args) {
            Err(errno) if REFUSALS.contains(&errno) => Answer::Refused(errno),
            // Root is nobody that this user namespace knows of.
            Err(libc::EINVAL) if self.number == libc::SYS_setresuid => {
                Answer::Refused(libc::EINVAL)
            }
            _ => Answer::Reached,
        }
    }
}

const REFUSALS: [i32; 6] = [
    libc::EPERM,
    libc::EACCES,
    libc::ENOSYS,
    libc::EAFNOSUPPORT,
    libc::EPROTONOSUPPORT,
    libc::ESOCKTNOSUPPORT,
];

/// Fills a file that has no name with so many bytes. It lives as long as the answer.
pub fn fill_memory_file(bytes: usize) -> std::io::Result<std::fs::File> {
    use std::io::Write as _;
    let mut file = std::fs::File::from(memfd_create("attempt", MemfdFlags::CLOEXEC)?);
    let block = vec![1; 1 << 20];
    for _ in 0..bytes.div_ceil(block.len()) {
        file.write_all(&block)?;
    }
    Ok(file)
}

const fn of(name: &'static str, number: libc::c_long, args: [usize; 6]) -> Call {
    Call { name, number, args }
}

const fn socket(name: &'static str, family: i32, kind: i32, protocol: i32) -> Call {
    let args = [word(family), word(kind), word(protocol), 0, 0, 0];
    of(name, libc::SYS_socket, args)
}

const fn word(value: i32) -> usize {
    value.cast_unsigned() as usize
}

/// A descriptor that nobody has.
const CLOSED: usize = usize::MAX;
const X: usize = NOWHERE;

pub static CALLS: &[Call] = &[
    of("unshare-user", libc::SYS_unshare, [word(libc::CLONE_NEWUSER), 0, 0, 0, 0, 0]),
    of(
        "unshare-net",
        libc::SYS_unshare,
        [word(libc::CLONE_NEWUSER | libc::CLONE_NEWNET), 0, 0, 0, 0, 0],
    ),
    of("unshare-mount", libc::SYS_unshare, [word(libc::CLONE_NEWNS) | 1 << 63, 0, 0, 0, 0, 0]),
    // Both flags together are senseless to the kernel, so that no child comes of it.
    of(
        "clone-newuser",
        libc::SYS_clone,
        [word(libc::CLONE_NEWUSER | libc::CLONE_FS | libc::SIGCHLD), 0, 0, 0, 0, 0],
    ),
    of("clone3", libc::SYS_clone3, [X, 0, 0, 0, 0, 0]),
    of("setns", libc::SYS_setns, [CLOSED, 0, 0, 0, 0, 0]),
    of("mount", libc::SYS_mount, [X, X, X, 0, 0, 0]),
    of("umount2", libc::SYS_umount2, [X, 0, 0, 0, 0, 0]),
    of("pivot_root", libc::SYS_pivot_root, [X, X, 0, 0, 0, 0]),
    of("chroot", libc::SYS_chroot, [X, 0, 0, 0, 0, 0]),
    of("open_tree", libc::SYS_open_tree, [CLOSED, X, 0, 0, 0, 0]),
    of("move_mount", libc::SYS_move_mount, [CLOSED, X, CLOSED, X, 0, 0]),
    of("fsopen", libc::SYS_fsopen, [X, 0, 0, 0, 0, 0]),
    of("fsmount", libc::SYS_fsmount, [CLOSED, 0, 0, 0, 0, 0]),
    of("mount_setattr", libc::SYS_mount_setattr, [CLOSED, X, 0, X, 0, 0]),
    // To attach to nobody.
    of("ptrace", libc::SYS_ptrace, [16, word(i32::MAX), 0, 0, 0, 0]),
    of("process_vm_readv", libc::SYS_process_vm_readv, [1, X, 1, X, 1, 1]),
    of("process_vm_writev", libc::SYS_process_vm_writev, [1, X, 1, X, 1, 1]),
    of("pidfd_getfd", libc::SYS_pidfd_getfd, [CLOSED, 0, 0, 0, 0, 0]),
    of("kcmp", libc::SYS_kcmp, [word(i32::MAX), word(i32::MAX), 0, 0, 0, 0]),
    of("bpf", libc::SYS_bpf, [9999, X, 8, 0, 0, 0]),
    of("keyctl", libc::SYS_keyctl, [9999, 0, 0, 0, 0, 0]),
    of("add_key", libc::SYS_add_key, [X, X, 0, 0, 0, 0]),
    of("request_key", libc::SYS_request_key, [X, X, X, 0, 0, 0]),
    of("perf_event_open", libc::SYS_perf_event_open, [X, 0, 0, CLOSED, 0, 0]),
    of("userfaultfd", libc::SYS_userfaultfd, [0xff_0000, 0, 0, 0, 0, 0]),
    of("io_uring_setup", libc::SYS_io_uring_setup, [1, X, 0, 0, 0, 0]),
    of("io_setup", libc::SYS_io_setup, [1, X, 0, 0, 0, 0]),
    of("kexec_load", libc::SYS_kexec_load, [0, 0xffff, X, 0, 0, 0]),
    of("init_module", libc::SYS_init_module, [X, 0, X, 0, 0, 0]),
    of("finit_module", libc::SYS_finit_module, [CLOSED, X, 0, 0, 0, 0]),
    of("delete_module", libc::SYS_delete_module, [X, 0, 0, 0, 0, 0]),
    of("open_by_handle_at", libc::SYS_open_by_handle_at, [CLOSED, X, 0, 0, 0, 0]),
    of("name_to_handle_at", libc::SYS_name_to_handle_at, [CLOSED, X, X, X, 0, 0]),
    of("fanotify_init", libc::SYS_fanotify_init, [0xffff_0000, 0, 0, 0, 0, 0]),
    // How large the kernel's log may be: the harmless one of its questions.
    of("syslog", libc::SYS_syslog, [10, 0, 0, 0, 0, 0]),
    of("settimeofday", libc::SYS_settimeofday, [X, X, 0, 0, 0, 0]),
    of("clock_settime", libc::SYS_clock_settime, [0, X, 0, 0, 0, 0]),
    of("adjtimex", libc::SYS_adjtimex, [X, 0, 0, 0, 0, 0]),
    of("sethostname", libc::SYS_sethostname, [X, usize::MAX, 0, 0, 0, 0]),
    of("reboot", libc::SYS_reboot, [0, 0, 0, 0, 0, 0]),
    of("swapon", libc::SYS_swapon, [X, 0x4000_0000, 0, 0, 0, 0]),
    of("swapoff", libc::SYS_swapoff, [X, 0, 0, 0, 0, 0]),
    of("acct", libc::SYS_acct, [X, 0, 0, 0, 0, 0]),
    of("quotactl", libc::SYS_quotactl, [0x7fff_ffff, X, 0, X, 0, 0]),
    of("vmsplice", libc::SYS_vmsplice, [CLOSED, X, 1, 0, 0, 0]),
    of("personality", libc::SYS_personality, [0x004_0000, 0, 0, 0, 0, 0]),
    of("prctl-mm", libc::SYS_prctl, [word(libc::PR_SET_MM), 99, 0, 0, 0, 0]),
    of("tiocsti", libc::SYS_ioctl, [CLOSED, 0x5412, X, 0, 0, 0]),
    of("tioclinux", libc::SYS_ioctl, [CLOSED, 0x541C, X, 0, 0, 0]),
    of(
        "mknod-device",
        libc::SYS_mknodat,
        [CLOSED, X, (libc::S_IFCHR | 0o666) as usize, 0x103, 0, 0],
    ),
    of("become-root", libc::SYS_setresuid, [0, 0, 0, 0, 0, 0]),
    of("drop-groups", libc::SYS_setgroups, [0, 0, 0, 0, 0, 0]),
    of("raise-priority", libc::SYS_setpriority, [0, 0, word(-20), 0, 0, 0]),
    socket("af-alg", libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
    socket("af-vsock", libc::AF_VSOCK, libc::SOCK_STREAM, 0),
    socket("af-packet", libc::AF_PACKET, libc::SOCK_RAW, 0),
    socket("af-xdp", libc::AF_XDP, libc::SOCK_RAW, 0),
    socket("af-can", libc::AF_CAN, libc::SOCK_RAW, 1),
    socket("af-bluetooth", libc::AF_BLUETOOTH, libc::SOCK_RAW, 1),
    socket("af-key", libc::AF_KEY, libc::SOCK_RAW, 2),
    socket("raw-icmp", libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
    socket("raw-icmp6", libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_ICMPV6),
    socket("sctp", libc::AF_INET, libc::SOCK_STREAM, 132),
    socket("netlink-audit", libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_AUDIT),
    socket("netlink-netfilter", libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_NETFILTER),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_call_each() {
        for call in CALLS {
            let named = Call::named(call.name).unwrap();
            assert_eq!((named.number, named.args), (call.number, call.args), "{}", call.name);
        }
        assert!(Call::named("getpid").is_none());
    }
}
