//! Calls that are known and refused.

use rustix::io::Errno;

use super::numbers::*;
use super::{Call, Group, calls};
use crate::seccomp::rule::{Answer, Verdict};

pub(super) static GROUPS: &[Group] = &[
    refuse(
        Errno::PERM,
        "namespaces",
        "a new user namespace gives capabilities back, and with them most of the kernel's attack surface",
        calls![SYS_unshare SYS_setns],
    ),
    refuse(
        Errno::PERM,
        "mounts",
        "the tree a program sees is the boundary; both the old and the new calls would change it",
        calls![
            SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_open_tree SYS_open_tree_attr
            SYS_move_mount SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr
        ],
    ),
    refuse(
        Errno::PERM,
        "other processes' memory",
        "one command could take over another of its session; gdb and strace do not work inside",
        calls![SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_pidfd_getfd SYS_kcmp],
    ),
    refuse(
        Errno::PERM,
        "the kernel itself",
        "modules, kexec, BPF, tracing, the kernel's log and page faults served from user space",
        calls![
            SYS_init_module SYS_finit_module SYS_delete_module SYS_kexec_load SYS_kexec_file_load
            SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_syslog SYS_lookup_dcookie;
            x86_64: SYS_iopl SYS_ioperm
        ],
    ),
    refuse(
        Errno::PERM,
        "the machine",
        "clock, name, power, swap, accounting and quotas belong to the host",
        calls![
            SYS_settimeofday SYS_clock_settime SYS_adjtimex SYS_clock_adjtime SYS_sethostname
            SYS_setdomainname SYS_reboot SYS_swapon SYS_swapoff SYS_acct SYS_quotactl
            SYS_quotactl_fd SYS_vhangup
        ],
    ),
    refuse(
        Errno::PERM,
        "file handles",
        "open files by number, past every directory and mount; fanotify hands such numbers out",
        calls![SYS_open_by_handle_at SYS_name_to_handle_at SYS_fanotify_init SYS_fanotify_mark],
    ),
    refuse(
        Errno::PERM,
        "keys",
        "the kernel's keyrings are not namespaced: the host user's keys could be found in them",
        calls![SYS_add_key SYS_request_key SYS_keyctl],
    ),
    refuse(
        Errno::NOSYS,
        "arguments in memory",
        "a filter cannot see flags behind a pointer: clone3 could make namespaces, openat2 a set-id file; \
         libc and libraries fall back to clone and openat",
        calls![SYS_clone3 SYS_openat2],
    ),
    refuse(
        Errno::NOSYS,
        "asynchronous io",
        "its contexts are counted for the whole host: one sandbox could take them all; callers fall back",
        calls![SYS_io_setup SYS_io_destroy SYS_io_submit SYS_io_cancel SYS_io_getevents],
    ),
    refuse(
        Errno::NOSYS,
        "io_uring",
        "does what it is told past the filter, and is the kernel's richest source of holes; runtimes \
         fall back to epoll and threads",
        calls![SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register],
    ),
    refuse(
        Errno::NOSYS,
        "memory placement",
        "buys nothing in a sandbox; libnuma takes ENOSYS for a machine without NUMA",
        calls![
            SYS_mbind SYS_get_mempolicy SYS_set_mempolicy SYS_set_mempolicy_home_node
            SYS_migrate_pages SYS_move_pages
        ],
    ),
    refuse(
        Errno::NOSYS,
        "rare memory",
        "pages lent to pipes, hidden from the kernel, cut out of files or in 16-bit segments: no \
         everyday program needs them, and each has had its holes",
        calls![
            SYS_vmsplice SYS_memfd_secret SYS_remap_file_pages SYS_process_madvise
            SYS_process_mrelease;
            x86_64: SYS_modify_ldt
        ],
    ),
];

const fn refuse(
    errno: Errno,
    name: &'static str,
    why: &'static str,
    calls: &'static [Call],
) -> Group {
    Group { name, why, verdict: Verdict::Always(Answer::Refuse(errno)), calls }
}
