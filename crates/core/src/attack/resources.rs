//! F: more than it was given.

use super::{Attack, Group, Step, harmful, inside, steps};

const G: Group = Group::Resources;

pub(super) const ATTACKS: &[Attack] = &[
    steps(
        "F-memory",
        G,
        "take more memory than it was given",
        "it is ended inside its limit, and that is told",
        &[
            Step::Run(&["--memory", "64m"], "{try} memory 200", &[137]),
            Step::Class("oom"),
            Step::Event("sandbox.oom"),
            Step::Twin(&[Step::Run(&["--memory", "512m"], "{try} memory 200", &[0])]),
        ],
    ),
    steps(
        "F-memory-file",
        G,
        "the same with files that have no name",
        "they count as memory",
        &[
            Step::Run(&["--memory", "64m"], "{try} memory-file 200", &[137]),
            Step::Class("oom"),
            Step::Twin(&[Step::Run(&["--memory", "512m"], "{try} memory-file 200", &[0])]),
        ],
    ),
    steps(
        "F-shared-memory",
        G,
        "the same in /dev/shm",
        "it is full, or counts as memory",
        &[
            Step::Run(&["--memory", "64m"], "head -c 200M /dev/zero > /dev/shm/x", &[1, 137]),
            Step::Twin(&[Step::Run(
                &["--memory", "256m"],
                "head -c 8M /dev/zero > /dev/shm/x",
                &[0],
            )]),
        ],
    ),
    steps(
        "F-tmp",
        G,
        "fill /tmp",
        "it is full when it is full",
        &[
            Step::Settings("sandbox: { tmpfs: { /tmp: 4m } }"),
            Step::Run(&[], "head -c 16M /dev/zero > /tmp/x", &[1]),
            Step::Twin(&[Step::Run(&[], "head -c 1M /dev/zero > /tmp/x", &[0])]),
        ],
    ),
    steps(
        "F-processes",
        G,
        "more processes than it was given",
        "no more can be started",
        &[
            Step::Run(&["--pids", "16"], "{try} processes 40", &[1]),
            Step::Twin(&[Step::Run(&["--pids", "128"], "{try} processes 40", &[0])]),
        ],
    ),
    steps(
        "F-threads",
        G,
        "the same with threads",
        "threads count as processes",
        &[
            Step::Run(&["--pids", "16"], "{try} threads 40", &[1]),
            Step::Twin(&[Step::Run(&["--pids", "128"], "{try} threads 40", &[0])]),
        ],
    ),
    steps(
        "F-fork-bomb",
        G,
        "a fork bomb",
        "it stays within its limit and ends with its run",
        &[
            Step::Settings("sandbox: { stop_grace: 1s }"),
            Step::Run(
                &["--pids", "64", "--timeout", "3s"],
                "f() { f | f & }; f 2>/dev/null; sleep 60",
                &[2, 124, 126, 127, 254, 255],
            ),
            Step::Ours(&["show", "--json"], &[0]),
            Step::Says("\"receipt\": \"terminated\""),
            Step::Twin(&[Step::Run(
                &["--pids", "64"],
                "for i in 1 2 3; do sleep 0 & done; wait",
                &[0],
            )]),
        ],
    ),
    steps(
        "F-exec-chain",
        G,
        "a chain of programs that each execute the next, for ever",
        "it ends with its time",
        &[
            Step::Settings("sandbox: { stop_grace: 1s }"),
            Step::File("chain", "#!/bin/sh\nexec ./chain\n"),
            Step::Host("chmod +x chain"),
            Step::Run(&["--timeout", "2s"], "./chain", &[124]),
            Step::Class("timed_out"),
            Step::Twin(&[Step::Run(&[], "test -x chain", &[0])]),
        ],
    ),
    steps(
        "F-deaf",
        G,
        "ignore every signal",
        "what will not stop is stopped",
        &[
            Step::Settings("sandbox: { stop_grace: 1s }"),
            Step::Run(
                &["--timeout", "1s"],
                "trap '' TERM INT HUP QUIT; (setsid sh -c 'trap \"\" TERM; sleep 300 & sleep 300' &); \
                 while :; do sleep 0.1; done",
                &[124],
            ),
            Step::Class("timed_out"),
            Step::Twin(&[Step::Run(&["--timeout", "20s"], "sleep 0.1", &[0])]),
        ],
    ),
    steps(
        "F-silent",
        G,
        "do nothing, for ever",
        "silence ends, too",
        &[
            Step::Settings("sandbox: { stop_grace: 1s }"),
            Step::Run(&["--idle-timeout", "1s"], "sleep 300", &[124]),
            Step::Class("timed_out"),
            Step::Twin(&[Step::Run(&["--idle-timeout", "10s"], "sleep 0.1", &[0])]),
        ],
    ),
    steps(
        "F-daemon",
        G,
        "leave a process behind",
        "it does not outlive the command",
        &[
            Step::Run(
                &["--mode", "direct"],
                "(setsid sh -c 'echo > begun; sleep 2; echo > late' >/dev/null 2>&1 &); \
                 while [ ! -e begun ]; do sleep 0.1; done",
                &[0],
            ),
            Step::Sees("sleep 2.5; test ! -e late"),
            Step::Ours(&["show", "--json"], &[0]),
            Step::Says("\"receipt\": \"terminated\""),
            Step::Twin(&[Step::Sees("test -e begun")]),
        ],
    ),
    steps(
        "F-output",
        G,
        "print without end",
        "what is kept is bounded, and what was printed is counted",
        &[
            Step::Settings("sandbox: { output_limit: 1m }"),
            Step::Run(&[], "head -c 20000000 /dev/zero", &[0]),
            Step::Sees("test \"$(cat {state}/cofferdam/runs/*/stdout | wc -c)\" -lt 3000000"),
            Step::Ours(&["show", "--json"], &[0]),
            Step::Says("\"stdout_bytes\": 20000000"),
            Step::Event("sandbox.output_truncated"),
            Step::Twin(&[
                Step::Run(&[], "echo all of it", &[0]),
                Step::Ours(&["logs"], &[0]),
                Step::Says("all of it"),
            ]),
        ],
    ),
    harmful(
        "F-raise-limits",
        G,
        "raise its own limits in the control groups",
        "their files cannot be opened for writing",
        [
            "for f in $(find /sys/fs/cgroup -maxdepth 3 -name memory.max -o -maxdepth 3 -name pids.max \
             -o -maxdepth 3 -name cpu.max -o -maxdepth 3 -name memory.limit_in_bytes); do ( : >> $f ) && won; done",
            "( : >> made ) && won",
        ],
    ),
    inside(
        "F-core-limit",
        G,
        "allow itself core dumps, which the host would write",
        "the limit cannot be raised",
        "ulimit -H -c unlimited && test \"$(ulimit -H -c)\" = unlimited && won",
    ),
    Attack {
        id: "F-priority",
        group: G,
        tried: "go before everybody else on the host",
        holds: "its priority cannot be raised",
        way: super::Way::Call("raise-priority"),
        on: super::EVERYWHERE,
        known: None,
    },
];
