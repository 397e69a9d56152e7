//! Calls whose answer depends on an argument.

use rustix::io::Errno;

use super::numbers::*;
use super::{Group, calls};
use crate::seccomp::rule::Answer::{Allow, Refuse};
use crate::seccomp::rule::{Clause, Rule, Test, Verdict};

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "clone",
        why: "processes and threads, but no namespaces: for those see unshare",
        verdict: Verdict::Depends(&CLONE),
        calls: calls![SYS_clone],
    },
    Group {
        name: "socket",
        why: "local, TCP and UDP sockets, and the netlink that lists interfaces; every other family \
              and protocol is kernel code that loads on demand, and raw sockets forge packets",
        verdict: Verdict::Depends(&SOCKET),
        calls: calls![SYS_socket],
    },
    Group {
        name: "socketpair",
        why: "only local sockets come in pairs",
        verdict: Verdict::Depends(&SOCKETPAIR),
        calls: calls![SYS_socketpair],
    },
    Group {
        name: "ioctl",
        why: "everything but typing into the terminal in the user's name (TIOCSTI, TIOCLINUX) and \
              loading line disciplines (TIOCSETD)",
        verdict: Verdict::Depends(&IOCTL),
        calls: calls![SYS_ioctl],
    },
    Group {
        name: "fcntl",
        why: "everything but leases and notices of directories (F_SETLEASE, F_NOTIFY): on a file that the host has, too, \
              a lease makes the host's writers wait; file systems without leases answer EINVAL too",
        verdict: Verdict::Depends(&FCNTL),
        calls: calls![SYS_fcntl],
    },
    Group {
        name: "prctl",
        why: "a program's own settings; PR_SET_MM would let it lie in /proc about what it runs",
        verdict: Verdict::Depends(&PRCTL),
        calls: calls![SYS_prctl],
    },
    Group {
        name: "personality",
        why: "asking, and the plain Linux ones; others turn address randomisation off or bring back \
              old behaviour that nobody tests",
        verdict: Verdict::Depends(&PERSONALITY),
        calls: calls![SYS_personality],
    },
    Group {
        name: "rename with flags",
        why: "a whiteout would leave a device node behind; file systems without whiteouts answer \
              EINVAL too",
        verdict: Verdict::Depends(&RENAME),
        calls: calls![SYS_renameat2],
    },
];

/// The last one shares its bit with the exit signal, where it means no signal there is.
const NAMESPACES: u32 = word(
    CLONE_NEWUSER
        | CLONE_NEWNS
        | CLONE_NEWPID
        | CLONE_NEWNET
        | CLONE_NEWIPC
        | CLONE_NEWUTS
        | CLONE_NEWCGROUP
        | CLONE_NEWTIME,
);

static CLONE: Rule = Rule {
    clauses: &[Clause {
        when: &[Test::AnyBit { arg: 0, bits: NAMESPACES }],
        then: Refuse(Errno::PERM),
    }],
    otherwise: Allow,
};

static SOCKET: Rule = Rule {
    clauses: &[
        Clause { when: &[one_of(0, &[word(AF_UNIX)])], then: Allow },
        Clause {
            when: &[one_of(0, &[word(AF_NETLINK)]), one_of(2, &[word(NETLINK_ROUTE)])],
            then: Allow,
        },
        Clause { when: &[one_of(0, &[word(AF_NETLINK)])], then: Refuse(Errno::PROTONOSUPPORT) },
        Clause {
            when: &[none_of(0, &[word(AF_INET), word(AF_INET6)])],
            then: Refuse(Errno::AFNOSUPPORT),
        },
        // Above the low bits stand SOCK_CLOEXEC and SOCK_NONBLOCK. SOCK_PACKET is refused with
        // SOCK_RAW: the kernel turns it into a packet socket whatever the family.
        Clause {
            when: &[Test::NoneOf {
                arg: 1,
                mask: 0xf,
                values: &[word(SOCK_STREAM), word(SOCK_DGRAM)],
            }],
            then: Refuse(Errno::PERM),
        },
        Clause {
            when: &[none_of(2, &[0, word(IPPROTO_TCP), word(IPPROTO_UDP)])],
            then: Refuse(Errno::PROTONOSUPPORT),
        },
    ],
    otherwise: Allow,
};

static SOCKETPAIR: Rule = Rule {
    clauses: &[Clause { when: &[one_of(0, &[word(AF_UNIX)])], then: Allow }],
    otherwise: Refuse(Errno::AFNOSUPPORT),
};

static IOCTL: Rule = Rule {
    clauses: &[Clause {
        // The same on both architectures; libc's constants differ in type between its targets.
        when: &[one_of(1, &[0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */, 0x5423 /* TIOCSETD */])],
        then: Refuse(Errno::PERM),
    }],
    otherwise: Allow,
};

static FCNTL: Rule = Rule {
    clauses: &[Clause {
        when: &[one_of(1, &[word(F_SETLEASE), word(F_NOTIFY)])],
        then: Refuse(Errno::INVAL),
    }],
    otherwise: Allow,
};

static PRCTL: Rule = Rule {
    clauses: &[Clause { when: &[one_of(0, &[word(PR_SET_MM)])], then: Refuse(Errno::PERM) }],
    otherwise: Allow,
};

/// PER_LINUX, PER_LINUX32, each also with UNAME26, and the question which one it is.
static PERSONALITY: Rule = Rule {
    clauses: &[Clause {
        when: &[none_of(0, &[0, 0x0008, 0x2_0000, 0x2_0008, u32::MAX])],
        then: Refuse(Errno::PERM),
    }],
    otherwise: Allow,
};

static RENAME: Rule = Rule {
    clauses: &[Clause {
        when: &[Test::AnyBit { arg: 4, bits: RENAME_WHITEOUT }],
        then: Refuse(Errno::INVAL),
    }],
    otherwise: Allow,
};

const fn one_of(arg: u32, values: &'static [u32]) -> Test {
    Test::OneOf { arg, mask: u32::MAX, values }
}

const fn none_of(arg: u32, values: &'static [u32]) -> Test {
    Test::NoneOf { arg, mask: u32::MAX, values }
}

const fn word(value: c_int) -> u32 {
    value.cast_unsigned()
}
