//! The table as ARM64 has it, seen from any machine: which calls stand in it, under which numbers, and what the filter
//! made of them says.

use std::collections::BTreeMap;

use super::super::table::{Call, Group, Table};
use super::super::{Arch, Writes, compile};
use super::agreement::{ALLOW, BOTH, ENOSYS, assert_agrees, on};
use super::interpreter::run;

/// What the kernel calls them.
const NAMES: &str = include_str!("arm64.txt");

/// Newer than the table, or gone from the kernel: as if they did not exist.
const UNKNOWN: [&str; 11] = [
    "file_getattr",
    "file_setattr",
    "io_pgetevents",
    "listmount",
    "listns",
    "lsm_get_self_attr",
    "lsm_list_modules",
    "lsm_set_self_attr",
    "nfsservctl",
    "rseq_slice_yield",
    "statmount",
];

fn numbers() -> BTreeMap<&'static str, u32> {
    let lines = NAMES.lines().filter(|line| !line.starts_with('#'));
    lines
        .flat_map(|line| {
            let (first, names) = line.split_once(' ').unwrap();
            names.split(' ').zip(first.parse().unwrap()..)
        })
        .collect()
}

/// The table with the numbers of ARM64, wherever this runs.
fn table(writes: Writes) -> Table {
    let numbers = numbers();
    let group = |group: &'static Group| {
        let calls = group.calls.iter().filter(|call| !call.is_old);
        let calls = calls.map(|call| Call { number: numbers[call.name()].into(), ..*call });
        let calls: Vec<Call> = calls.collect();
        Group { calls: calls.leak(), ..*group }
    };
    let parts =
        Table::of(writes).parts.map(|part| &*part.iter().map(group).collect::<Vec<Group>>().leak());
    Table { parts }
}

#[test]
fn every_call_of_the_machine_stands_where_it_has_it() {
    let numbers = numbers();
    let mut missing = numbers.clone();
    for call in Table::of(Writes::Staged).groups().flat_map(|group| group.calls) {
        let number = numbers.get(call.name());
        assert_eq!(number.is_none(), call.is_old, "{}: is it only on x86-64?", call.name());
        if cfg!(target_arch = "aarch64") {
            assert_eq!(number, Some(&call.number()), "{}", call.name());
        }
        missing.remove(call.name());
    }
    assert_eq!(missing.into_keys().collect::<Vec<_>>(), UNKNOWN);
}

#[test]
fn the_filter_for_it_says_what_the_table_says() {
    for writes in BOTH {
        let table = table(writes);
        let program = compile(&table, Arch::Aarch64);
        assert_agrees(&program, Arch::Aarch64, &table, 0..1024);
        if cfg!(target_arch = "aarch64") {
            let ours = super::super::program(writes);
            assert_eq!(format!("{ours:?}"), format!("{program:?}"));
        }
    }
}

/// Numbers as they stand in the kernel, so that a mistake in the list cannot hide one in the table.
#[test]
fn its_best_known_calls_get_what_is_promised() {
    const EPERM: u32 = 0x0005_0000 | 1;
    let program = compile(&table(Writes::Staged), Arch::Aarch64);
    let said = |arch, number, first| {
        run(program.instructions(), on(arch, number, [first, 0, 0, 0, 0, 0])).0
    };
    let here = |number| said(Arch::Aarch64, number, 0);
    // read, write, execve, exit_group, getrlimit, setrlimit
    for allowed in [63, 64, 221, 94, 163, 164] {
        assert_eq!(here(allowed), ALLOW, "{allowed}");
    }
    // unshare, setns, mount, umount2, pivot_root, chroot, ptrace, bpf, keyctl, init_module, reboot
    for refused in [97, 268, 40, 39, 41, 51, 117, 280, 219, 105, 142] {
        assert_eq!(here(refused), EPERM, "{refused}");
    }
    // clone3, openat2, io_uring_setup
    for hidden in [435, 437, 425] {
        assert_eq!(here(hidden), ENOSYS, "{hidden}");
    }
    let clone = 220;
    assert_eq!(said(Arch::Aarch64, clone, 17), ALLOW);
    assert_eq!(said(Arch::Aarch64, clone, 0x1000_0000 | 17), EPERM);
    assert_eq!(said(Arch::X86_64, 63, 0), 0x8000_0000, "a call of another machine");
}
