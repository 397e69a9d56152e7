//! The compiled filter says what the table says: for every number, and for arguments that sit on the
//! edges of the rules.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::super::rule::{Answer, Clause, Rule, Test, Verdict};
use super::super::table::{Call, Group, Table};
use super::super::{Arch, Program, Writes, compile, program};
use super::interpreter::{Seen, run};

pub(super) const BOTH: [Writes; 2] = [Writes::Staged, Writes::OnHost];
pub(super) const ALLOW: u32 = 0x7fff_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
pub(super) const ENOSYS: u32 = 0x0005_0000 | 38;

fn here(number: u32, args: [u64; 6]) -> Seen {
    on(Arch::HERE, number, args)
}

pub(super) fn on(arch: Arch, number: u32, args: [u64; 6]) -> Seen {
    Seen { number, arch: arch.audit(), args }
}

/// Values around which a rule may change its mind about an argument.
fn edges(rule: &Rule) -> Vec<[u64; 6]> {
    let mut values: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for test in rule.clauses.iter().flat_map(|clause| clause.when) {
        let (arg, interesting) = match *test {
            Test::AnyBit { arg, bits } => {
                let single = (0..32).map(|bit| 1_u32 << bit).filter(|bit| bits & bit != 0);
                (arg, single.chain([bits, !bits]).collect::<Vec<_>>())
            }
            Test::OneOf { arg, mask, values } | Test::NoneOf { arg, mask, values } => {
                (arg, values.iter().flat_map(|v| [*v, v ^ 1, v | !mask]).collect())
            }
        };
        let known = values.entry(arg).or_insert_with(|| vec![0, u64::MAX]);
        for value in interesting.into_iter().map(u64::from) {
            known.extend([value, value + 1, value | 1 << 32, value | 0xdead_beef << 32]);
        }
        known.sort_unstable();
        known.dedup();
    }
    let mut all = vec![[0; 6]];
    for (arg, values) in values {
        let arg = usize::try_from(arg).unwrap();
        all = all
            .into_iter()
            .flat_map(|args| {
                values.iter().map(move |value| {
                    let mut args = args;
                    args[arg] = *value;
                    args
                })
            })
            .collect();
    }
    all
}

pub(super) fn assert_agrees(
    program: &Program,
    arch: Arch,
    table: &Table,
    numbers: impl Iterator<Item = u32>,
) {
    for number in numbers {
        let verdict = table.verdict(number);
        let cases = match verdict {
            Verdict::Always(_) => vec![[0; 6], [u64::MAX; 6]],
            Verdict::Depends(rule) => edges(rule),
        };
        for args in cases {
            let (said, _) = run(program.instructions(), on(arch, number, args));
            let meant = verdict.answer(args).code();
            assert_eq!(said, meant, "call {number} with {args:x?}: {said:#x}, not {meant:#x}");
        }
    }
}

#[test]
fn every_number_gets_what_the_table_says() {
    for writes in BOTH {
        assert_agrees(program(writes), Arch::HERE, &Table::of(writes), 0..1024);
    }
}

#[test]
fn numbers_past_the_table_do_not_exist() {
    const X32: u32 = 0x4000_0000;
    for writes in BOTH {
        let program = program(writes).instructions();
        for number in (0..1024).map(|nr| nr | X32).chain([1 << 31, u32::MAX - 1, u32::MAX]) {
            assert_eq!(run(program, here(number, [0; 6])).0, ENOSYS, "{number:#x}");
        }
    }
}

#[test]
fn another_calling_convention_kills_whatever_it_asks() {
    const I386: u32 = 0x4000_0003;
    const ARM: u32 = 0x4000_0028;
    let program = program(Writes::Staged).instructions();
    for arch in [I386, ARM, 0, u32::MAX, Arch::HERE.audit() ^ 1] {
        for number in 0..1024 {
            let seen = Seen { number, arch, args: [0; 6] };
            assert_eq!(run(program, seen).0, KILL_PROCESS, "{arch:#x} {number}");
        }
    }
    assert_eq!(run(program, here(number_of("read"), [0; 6])).0, ALLOW);
}

#[test]
fn the_filter_is_small_and_the_way_through_it_short() {
    for writes in BOTH {
        let program = program(writes).instructions();
        assert!(program.len() <= 250, "{} instructions", program.len());
        let longest = (0..1024).map(|nr| run(program, here(nr, [0; 6])).1).max().unwrap();
        assert!(longest <= 30, "{longest} steps");
    }
}

#[test]
fn each_call_stands_in_one_group_and_each_group_has_its_reason() {
    for writes in BOTH {
        let mut seen: BTreeMap<u32, &str> = BTreeMap::new();
        for group in Table::of(writes).groups() {
            assert!(!group.why.is_empty() && !group.calls.is_empty(), "{}", group.name);
            for call in group.calls {
                assert_eq!(seen.insert(call.number(), group.name), None, "{}", call.name());
            }
        }
        assert!(seen.len() > 310, "{}", seen.len());
    }
}

#[test]
fn the_edges_of_the_rules_are_where_they_are_meant_to_be() {
    let said = |name: &str, args: [u64; 6]| {
        run(program(Writes::Staged).instructions(), here(number_of(name), args)).0
    };
    let errno = |errno: i32| 0x0005_0000 | errno.cast_unsigned();
    let eperm = errno(libc::EPERM);
    let high = 1 << 32;
    // As pthread_create and fork ask.
    assert_eq!(said("clone", [0x3d_0f00, 0, 0, 0, 0, 0]), ALLOW);
    assert_eq!(said("clone", [0x0120_0011, 0, 0, 0, 0, 0]), ALLOW);
    for bit in [17, 25, 26, 27, 28, 29, 30, 7] {
        assert_eq!(said("clone", [1 << bit | 17, 0, 0, 0, 0, 0]), eperm, "{bit}");
        assert_eq!(said("clone", [1 << bit | high, 0, 0, 0, 0, 0]), eperm, "{bit}");
    }
    assert_eq!(said("ioctl", [0, 0x5413, 0, 0, 0, 0]), ALLOW);
    assert_eq!(said("ioctl", [0, 0x5412, 0, 0, 0, 0]), eperm);
    assert_eq!(said("ioctl", [0, 0x5412 | high, 0, 0, 0, 0]), eperm);
    assert_eq!(said("socket", [2, 1 | 0o2_004_000, 6, 0, 0, 0]), ALLOW);
    assert_eq!(said("socket", [10, 2, 17, 0, 0, 0]), ALLOW);
    assert_eq!(said("socket", [2, 3 | 0o2_000_000, 1, 0, 0, 0]), eperm);
    assert_eq!(said("socket", [2, 10, 0, 0, 0, 0]), eperm);
    assert_eq!(said("socket", [2, 2, 1, 0, 0, 0]), errno(libc::EPROTONOSUPPORT));
    assert_eq!(said("socket", [16, 3, 0, 0, 0, 0]), ALLOW);
    assert_eq!(said("socket", [16, 3, 12, 0, 0, 0]), errno(libc::EPROTONOSUPPORT));
    for family in [17, 38, 40, 15, 31, 44, 0] {
        assert_eq!(said("socket", [family, 1, 0, 0, 0, 0]), errno(libc::EAFNOSUPPORT), "{family}");
        assert_eq!(said("socket", [family | high, 1, 0, 0, 0, 0]), errno(libc::EAFNOSUPPORT));
    }
    assert_eq!(said("openat", [0, 0, 0o100, 0o755, 0, 0]), ALLOW);
    assert_eq!(said("openat", [0, 0, 0o100, 0o4755, 0, 0]), eperm);
    assert_eq!(said("openat", [0, 0, 0o20_200_000, 0o4755, 0, 0]), eperm);
    assert_eq!(said("openat", [0, 0, 0o200_000, 0o4755, 0, 0]), ALLOW);
    assert_eq!(said("mknodat", [0, 0, 0o010_644, 0, 0, 0]), ALLOW);
    assert_eq!(said("mknodat", [0, 0, 0o020_644, 0, 0, 0]), eperm);
    assert_eq!(said("mknodat", [0, 0, 0o060_644 | high, 0, 0, 0]), eperm);
    assert_eq!(said("mknodat", [0, 0, 0o104_755, 0, 0, 0]), eperm);
    assert_eq!(said("personality", [0xffff_ffff, 0, 0, 0, 0, 0]), ALLOW);
    assert_eq!(said("personality", [0x4_0000, 0, 0, 0, 0, 0]), eperm);
}

#[test]
fn a_program_too_long_for_one_jump_still_agrees() {
    static FIRST: Rule = Rule {
        clauses: &[Clause {
            when: &[Test::AnyBit { arg: 5, bits: 6 }],
            then: Answer::Refuse(Errno::INVAL),
        }],
        otherwise: Answer::Allow,
    };
    static SECOND: Rule = Rule {
        clauses: &[Clause {
            when: &[
                Test::OneOf { arg: 0, mask: 0xff, values: &[1, 2, 3] },
                Test::NoneOf { arg: 1, mask: u32::MAX, values: &[7] },
            ],
            then: Answer::Kill,
        }],
        otherwise: Answer::Refuse(Errno::PERM),
    };
    let verdicts = [
        Verdict::Always(Answer::Allow),
        Verdict::Depends(&FIRST),
        Verdict::Always(Answer::Refuse(Errno::PERM)),
        Verdict::Depends(&SECOND),
        Table::UNKNOWN,
    ];
    let groups: Vec<Group> = (0..1500)
        .map(|number| Group {
            name: "synthetic",
            why: "no two neighbours alike",
            // A step of 1, 2 or 3: never the verdict of the number before.
            verdict: verdicts[(number + number / 7) % verdicts.len()],
            calls: Box::leak(Box::new([Call {
                constant: "SYS_synthetic",
                number: libc::c_long::try_from(number).unwrap(),
                is_old: false,
            }])),
        })
        .collect();
    let table = Table { parts: [Box::leak(groups.into_boxed_slice()), &[], &[], &[]] };
    let program = compile(&table, Arch::HERE);
    assert!(program.instructions().len() > 1400, "{}", program.instructions().len());
    assert_agrees(&program, Arch::HERE, &table, 0..1600);
}

#[test]
fn an_empty_table_refuses_everything() {
    let table = Table { parts: [&[], &[], &[], &[]] };
    assert_agrees(&compile(&table, Arch::HERE), Arch::HERE, &table, 0..600);
}

fn number_of(name: &str) -> u32 {
    let table = Table::of(Writes::Staged);
    let mut calls = table.groups().flat_map(|group| group.calls);
    calls.find(|call| call.name() == name).unwrap_or_else(|| panic!("{name}")).number()
}
