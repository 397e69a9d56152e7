//! Calls that give a file its mode, or make a node.
//!
//! Inside, set-id bits are dead: every mount is `nosuid`, and an exec gives no privileges. What matters
//! is the file that somebody on the host may find. So the set-user-id bit is always refused, and the
//! set-group-id bit where files are the host's at once. Not in a staged copy: shared trees carry that
//! bit on every directory, `cp -r` and `chmod -R` must work there, and it is never applied. `mkdir` is
//! not here: the kernel ignores both bits in it.

use rustix::io::Errno;

use super::numbers::*;
use super::{Group, calls};
use crate::seccomp::rule::{Answer, Clause, Rule, Test, Verdict};

pub(super) static STAGED: &[Group] = Refusing::<S_ISUID>::GROUPS;
pub(super) static ON_HOST: &[Group] = Refusing::<{ S_ISUID | S_ISGID }>::GROUPS;

const SET_ID: &str = "a set-id program must not appear where somebody else can run it";
const NODES: &str = "pipes, sockets and plain files; a device node is a way around every mount";
const EPERM: Answer = Answer::Refuse(Errno::PERM);

/// The calls, with these bits of a mode refused. Rules are named by where the mode stands.
struct Refusing<const BITS: mode_t>;

impl<const BITS: mode_t> Refusing<BITS> {
    const GROUPS: &[Group] = &[
        Group {
            name: "change of mode",
            why: SET_ID,
            verdict: Verdict::Depends(&Self::MODE_1),
            calls: calls![SYS_fchmod; x86_64: SYS_chmod SYS_creat],
        },
        Group {
            name: "change of mode beneath a directory",
            why: SET_ID,
            verdict: Verdict::Depends(&Self::MODE_2),
            calls: calls![SYS_fchmodat SYS_fchmodat2],
        },
        #[cfg(target_arch = "x86_64")]
        Group {
            name: "open",
            why: SET_ID,
            verdict: Verdict::Depends(&Self::CREATED_2),
            calls: calls![; x86_64: SYS_open],
        },
        Group {
            name: "open beneath a directory",
            why: SET_ID,
            verdict: Verdict::Depends(&Self::CREATED_3),
            calls: calls![SYS_openat],
        },
        #[cfg(target_arch = "x86_64")]
        Group {
            name: "nodes",
            why: NODES,
            verdict: Verdict::Depends(&Self::NODE_1),
            calls: calls![; x86_64: SYS_mknod],
        },
        Group {
            name: "nodes beneath a directory",
            why: NODES,
            verdict: Verdict::Depends(&Self::NODE_2),
            calls: calls![SYS_mknodat],
        },
    ];

    const MODE_1: Rule = refuse_if(&[Clause { when: &[Self::set_id(1)], then: EPERM }]);
    const MODE_2: Rule = refuse_if(&[Clause { when: &[Self::set_id(2)], then: EPERM }]);
    #[cfg(target_arch = "x86_64")]
    const CREATED_2: Rule =
        refuse_if(&[Clause { when: &[creates(1), Self::set_id(2)], then: EPERM }]);
    const CREATED_3: Rule =
        refuse_if(&[Clause { when: &[creates(2), Self::set_id(3)], then: EPERM }]);
    #[cfg(target_arch = "x86_64")]
    const NODE_1: Rule = refuse_if(&[
        Clause { when: &[is_device(1)], then: EPERM },
        Clause { when: &[Self::set_id(1)], then: EPERM },
    ]);
    const NODE_2: Rule = refuse_if(&[
        Clause { when: &[is_device(2)], then: EPERM },
        Clause { when: &[Self::set_id(2)], then: EPERM },
    ]);

    const fn set_id(arg: u32) -> Test {
        Test::AnyBit { arg, bits: BITS }
    }
}

const fn refuse_if(clauses: &'static [Clause]) -> Rule {
    Rule { clauses, otherwise: Answer::Allow }
}

/// With neither flag nothing is created, and the mode is whatever stood in the register.
const fn creates(arg: u32) -> Test {
    let unnamed = O_TMPFILE & !O_DIRECTORY;
    Test::AnyBit { arg, bits: (O_CREAT | unnamed).cast_unsigned() }
}

/// Anything but a plain file (which no type at all means too), a pipe or a socket.
const fn is_device(arg: u32) -> Test {
    Test::NoneOf { arg, mask: S_IFMT, values: &[0, S_IFREG, S_IFIFO, S_IFSOCK] }
}
