//! Calls that work as ever: what git, compilers, interpreters, shells and build tools live on.

use super::numbers::*;
use super::{Group, calls};
use crate::seccomp::rule::{Answer, Verdict};

pub(super) static GROUPS: &[Group] = &[
    allow(
        "open files",
        "works on descriptors the program already has; what it may open is decided by mounts and Landlock",
        calls![
            SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_preadv SYS_pwritev
            SYS_preadv2 SYS_pwritev2 SYS_lseek SYS_close SYS_close_range SYS_dup SYS_dup3
            SYS_flock SYS_fsync SYS_fdatasync SYS_sync SYS_syncfs SYS_sync_file_range SYS_ftruncate
            SYS_fallocate SYS_fadvise64 SYS_readahead SYS_cachestat SYS_sendfile SYS_splice SYS_tee
            SYS_copy_file_range SYS_getdents64 SYS_pipe2;
            x86_64: SYS_dup2 SYS_getdents SYS_pipe
        ],
    ),
    allow(
        "names",
        "finds, makes, moves and removes names; mounts and Landlock decide where",
        calls![
            SYS_fstat SYS_newfstatat SYS_statx SYS_statfs SYS_fstatfs SYS_faccessat SYS_faccessat2
            SYS_readlinkat SYS_getcwd SYS_chdir SYS_fchdir SYS_mkdirat SYS_unlinkat SYS_renameat
            SYS_linkat SYS_symlinkat SYS_truncate SYS_utimensat SYS_umask;
            x86_64: SYS_stat SYS_lstat SYS_access SYS_readlink SYS_mkdir SYS_rmdir SYS_unlink
            SYS_rename SYS_link SYS_symlink SYS_utime SYS_utimes SYS_futimesat
        ],
    ),
    allow(
        "owners",
        "without capabilities only one's own group can be chosen",
        calls![SYS_fchown SYS_fchownat; x86_64: SYS_chown SYS_lchown],
    ),
    allow(
        "extended attributes",
        "archivers and copiers carry them over; the privileged namespaces need capabilities",
        calls![
            SYS_setxattr SYS_lsetxattr SYS_fsetxattr SYS_getxattr SYS_lgetxattr SYS_fgetxattr
            SYS_listxattr SYS_llistxattr SYS_flistxattr SYS_removexattr SYS_lremovexattr
            SYS_fremovexattr SYS_setxattrat SYS_getxattrat SYS_listxattrat SYS_removexattrat
        ],
    ),
    allow(
        "file watching",
        "dev servers and test runners watch their sources; it tells of files the program can read",
        calls![
            SYS_inotify_init1 SYS_inotify_add_watch SYS_inotify_rm_watch;
            x86_64: SYS_inotify_init
        ],
    ),
    allow(
        "memory",
        "the program's own address space; how much of it is the cgroup's matter",
        calls![
            SYS_brk SYS_mmap SYS_munmap SYS_mremap SYS_mprotect SYS_madvise SYS_msync SYS_mincore
            SYS_mlock SYS_mlock2 SYS_mlockall SYS_munlock SYS_munlockall SYS_membarrier
            SYS_memfd_create SYS_mseal SYS_pkey_alloc SYS_pkey_free SYS_pkey_mprotect
            SYS_map_shadow_stack
        ],
    ),
    allow(
        "processes",
        "starting and awaiting; namespaces are refused where clone asks for them",
        calls![
            SYS_execve SYS_execveat SYS_exit SYS_exit_group SYS_wait4 SYS_waitid SYS_getpid
            SYS_getppid SYS_gettid SYS_setpgid SYS_getpgid SYS_setsid SYS_getsid
            SYS_set_tid_address SYS_pidfd_open SYS_restart_syscall;
            x86_64: SYS_fork SYS_vfork SYS_getpgrp SYS_arch_prctl
        ],
    ),
    allow(
        "threads",
        "locks and hand-overs between threads",
        calls![
            SYS_futex SYS_futex_waitv SYS_futex_wake SYS_futex_wait SYS_futex_requeue
            SYS_set_robust_list SYS_get_robust_list SYS_rseq
        ],
    ),
    allow(
        "signals",
        "reach only the sandbox's own pid namespace",
        calls![
            SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_rt_sigpending
            SYS_rt_sigtimedwait SYS_rt_sigsuspend SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo
            SYS_sigaltstack SYS_kill SYS_tkill SYS_tgkill SYS_pidfd_send_signal SYS_signalfd4;
            x86_64: SYS_pause SYS_signalfd
        ],
    ),
    allow(
        "time",
        "reading clocks and waiting for them; setting them is refused",
        calls![
            SYS_clock_gettime SYS_clock_getres SYS_clock_nanosleep SYS_nanosleep SYS_gettimeofday
            SYS_timer_create SYS_timer_settime SYS_timer_gettime SYS_timer_getoverrun
            SYS_timer_delete SYS_timerfd_create SYS_timerfd_settime SYS_timerfd_gettime
            SYS_getitimer SYS_setitimer;
            x86_64: SYS_time SYS_alarm
        ],
    ),
    allow(
        "polling",
        "every event loop",
        calls![
            SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_ppoll SYS_pselect6
            SYS_eventfd2;
            x86_64: SYS_epoll_create SYS_epoll_wait SYS_poll SYS_select SYS_eventfd
        ],
    ),
    allow(
        "sockets",
        "where they lead is the network namespace's matter; which kinds exist is checked at socket",
        calls![
            SYS_bind SYS_listen SYS_accept SYS_accept4 SYS_connect SYS_getsockname SYS_getpeername
            SYS_sendto SYS_recvfrom SYS_sendmsg SYS_recvmsg SYS_sendmmsg SYS_recvmmsg SYS_shutdown
            SYS_setsockopt SYS_getsockopt
        ],
    ),
    allow(
        "ids",
        "asking is harmless; without capabilities one can only set what one already is",
        calls![
            SYS_getuid SYS_geteuid SYS_getgid SYS_getegid SYS_getresuid SYS_getresgid SYS_getgroups
            SYS_setuid SYS_setgid SYS_setreuid SYS_setregid SYS_setresuid SYS_setresgid
            SYS_setfsuid SYS_setfsgid SYS_setgroups SYS_capget SYS_capset
        ],
    ),
    allow(
        "scheduling and limits",
        "without capabilities priorities and limits only go down; cgroup limits stand above",
        calls![
            SYS_sched_yield SYS_sched_getaffinity SYS_sched_setaffinity SYS_sched_getparam
            SYS_sched_setparam SYS_sched_getscheduler SYS_sched_setscheduler SYS_sched_getattr
            SYS_sched_setattr SYS_sched_get_priority_max SYS_sched_get_priority_min
            SYS_sched_rr_get_interval SYS_getpriority SYS_setpriority SYS_ioprio_get SYS_ioprio_set
            SYS_prlimit64 SYS_getrlimit SYS_setrlimit SYS_getrusage SYS_times SYS_getcpu
        ],
    ),
    allow(
        "system information",
        "names and totals that /proc tells as well",
        calls![SYS_uname SYS_sysinfo SYS_getrandom],
    ),
    allow(
        "ipc",
        "System V and POSIX queues, semaphores and segments of the sandbox's own ipc namespace",
        calls![
            SYS_shmget SYS_shmat SYS_shmdt SYS_shmctl SYS_semget SYS_semop SYS_semtimedop
            SYS_semctl SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl SYS_mq_open SYS_mq_unlink
            SYS_mq_timedsend SYS_mq_timedreceive SYS_mq_notify SYS_mq_getsetattr
        ],
    ),
    allow(
        "own confinement",
        "a program may only confine itself further: the strictest filter and every ruleset hold",
        calls![
            SYS_seccomp SYS_landlock_create_ruleset SYS_landlock_add_rule
            SYS_landlock_restrict_self
        ],
    ),
];

const fn allow(
    name: &'static str,
    why: &'static str,
    calls: &'static [crate::seccomp::Call],
) -> Group {
    Group { name, why, verdict: Verdict::Always(Answer::Allow), calls }
}
