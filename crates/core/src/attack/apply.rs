//! A: what a program left behind, captured, shown and applied.

use super::{Attack, EVERYWHERE, Group, Step, steps};

const G: Group = Group::Apply;

/// What shows that it was not everything that was refused: a file `fine`, staged beside the others.
const FINE: Step =
    Step::Twin(&[Step::Ours(&["apply", "last", "fine"], &[0]), Step::Sees("grep -qx f fine")]);

/// The same where nothing of the attacked set can be applied any more: another set, with that file alone.
const AFRESH: Step = Step::Twin(&[
    Step::Stage("echo f > fine"),
    Step::Ours(&["apply"], &[0]),
    Step::Sees("grep -qx f fine"),
]);

pub(super) const ATTACKS: &[Attack] = &[
    steps(
        "A-staged",
        G,
        "change, remove and add files",
        "the host's are as they were, and all of it is listed",
        &[
            Step::File("a", "old\n"),
            Step::File("d/b", "old\n"),
            Step::Stage("echo new > a; rm -r d; echo f > fine; echo h > .hidden"),
            Step::Unchanged,
            Step::Ours(&["diff", "--name-only"], &[0]),
            Step::Says(".hidden"),
            Step::Says("d/b"),
            FINE,
        ],
    ),
    steps(
        "A-link-out",
        G,
        "a link out of the workspace",
        "it is held, and nothing is ever written through it",
        &[
            Step::Stage("ln -s {outside} out; echo f > fine"),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            Step::Event("changes.refused"),
            FINE,
        ],
    ),
    steps(
        "A-link-then-file",
        G,
        "a directory replaced by a link out, and a file behind it",
        "the link is a link, and the file behind it is none of ours",
        &[
            Step::File("out/x", "old\n"),
            Step::Stage("rm -r out; ln -s {outside} out; echo evil > out/x; echo f > fine; true"),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            Step::Ours(&["apply", "--allow-class", "escaping-symlink"], &[0]),
            Step::Sees("test -h out && test ! -e {outside}/x"),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-parent-swapped",
        G,
        "a directory of the host swapped for a link, between review and apply",
        "nothing is written through it",
        &[
            Step::File("src/keep", "k\n"),
            Step::Stage("echo evil > src/new; echo evil > src/keep; echo f > fine"),
            Step::Host("mv src ../aside && ln -s {outside} src"),
            Step::Ours(&["apply"], &[1, 3]),
            Step::Sees("test ! -e {outside}/new && test ! -e {outside}/keep"),
            Step::Twin(&[
                Step::Host("rm src && mv ../aside src"),
                Step::Ours(&["apply", "last", "fine"], &[0]),
            ]),
        ],
    ),
    steps(
        "A-file-swapped",
        G,
        "a file of the host swapped for a link, between review and apply",
        "what it leads to is not written",
        &[
            Step::File("f", "old\n"),
            Step::Stage("echo evil > f; echo f > fine"),
            Step::Host("rm f && ln -s {outside}/canary f"),
            Step::Ours(&["apply"], &[1, 3]),
            Step::Sees("grep -qx canary {outside}/canary"),
            FINE,
        ],
    ),
    steps(
        "A-host-edited",
        G,
        "overwrite what the user edited meanwhile",
        "a conflict, and nothing is lost",
        &[
            Step::File("f", "one\n"),
            Step::Stage("echo agent > f; echo f > fine"),
            Step::Host("echo user > f"),
            Step::Ours(&["apply"], &[3]),
            Step::Sees("grep -qx user f"),
            Step::Event("changes.conflict"),
            FINE,
        ],
    ),
    steps(
        "A-host-edited-same-size",
        G,
        "the same with an edit of the same size and time",
        "a conflict all the same",
        &[
            Step::File("f", "aaaa\n"),
            Step::Stage("echo bbbb > f; echo f > fine"),
            Step::Host("touch -r f ../time && echo cccc > f && touch -r ../time f"),
            Step::Ours(&["apply"], &[3]),
            Step::Sees("grep -qx cccc f"),
            FINE,
        ],
    ),
    steps(
        "A-pipe",
        G,
        "a pipe, to have the capture wait",
        "the capture does not wait, and the pipe is never applied",
        &[
            Step::Stage("mkfifo pipe; echo f > fine"),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            Step::Ours(&["apply", "--rest"], &[0]),
            Step::Sees("test ! -e pipe"),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-socket",
        G,
        "a socket among the changes",
        "it is never applied",
        &[
            Step::Stage("{try} leave-socket socket; test -S socket; echo f > fine"),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            FINE,
        ],
    ),
    steps(
        "A-set-id",
        G,
        "set-id bits on a new file",
        "they are told of and never applied",
        &[
            Step::Stage(
                "printf '#!/bin/sh\\n' > tool; chmod 755 tool; chmod 6755 tool; echo f > fine",
            ),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            Step::Ours(&["apply", "--allow-class", "executable"], &[0]),
            Step::Sees("test -x tool && test ! -u tool && test ! -g tool"),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-host-set-id",
        G,
        "new content for a set-id file of the host",
        "the new content does not get the bit",
        &[
            Step::Host("printf old > tool; chmod 4755 tool"),
            Step::Stage("echo new > tool; echo f > fine"),
            Step::Ours(&["apply", "--allow-class", "executable"], &[0]),
            Step::Sees("test -x tool && test ! -u tool && grep -qx new tool"),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-world-writable",
        G,
        "files that everybody may write",
        "they come home with a sane mode and owner",
        &[
            Step::Stage("echo f > fine; chmod 777 fine"),
            Step::Ours(&["apply", "--allow-class", "executable"], &[0]),
            Step::Sees(
                "test \"$(stat -c %u fine)\" = \"$(stat -c %u .)\" && \
                        ! find fine -perm -4000 | grep -q .",
            ),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-mode-nothing",
        G,
        "files that nobody may read, to stop the capture",
        "they are captured, and applied as they are",
        &[
            Step::Stage(
                "echo s > shut; chmod 000 shut; mkdir d; echo x > d/x; chmod 000 d; echo f > fine",
            ),
            Step::Ours(&["diff", "--name-only"], &[0]),
            Step::Says("shut"),
            Step::Says("d/x"),
            FINE,
        ],
    ),
    steps(
        "A-names",
        G,
        "names with line breaks, dashes, backslashes and bytes that are no text",
        "each comes home exactly as it is",
        &[
            Step::Stage(
                "n=$(printf 'a\\nb'); echo 1 > \"$n\"; echo 2 > ./-rf; echo 3 > 'c\\d'; \
                         b=$(printf 'e\\377f'); echo 4 > \"$b\"; echo f > fine",
            ),
            Step::Ours(&["apply"], &[0]),
            Step::Sees(
                "n=$(printf 'a\\nb'); b=$(printf 'e\\377f'); grep -qx 1 \"$n\" && grep -qx 2 ./-rf && \
                        grep -qx 3 'c\\d' && grep -qx 4 \"$b\"",
            ),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-long-names",
        G,
        "names as long as names can be, and deep trees",
        "they come home",
        &[
            Step::Stage(
                "n=$(head -c 255 /dev/zero | tr '\\0' n); echo 1 > $n; \
                         i=0; p=.; while [ $i -lt 150 ]; do p=$p/d; i=$((i+1)); done; mkdir -p $p; \
                         echo deep > $p/x; echo f > fine",
            ),
            Step::Ours(&["apply"], &[0]),
            Step::Sees("test \"$(find . -name x | wc -l)\" = 1 && ls | grep -q '^nnnnnn'"),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-opaque",
        G,
        "a directory removed and made anew",
        "what was in it is gone after the apply",
        &[
            Step::File("d/old", "o\n"),
            Step::Stage("rm -rf d; mkdir d; echo n > d/new; echo f > fine"),
            Step::Ours(&["apply"], &[0]),
            Step::Sees("test ! -e d/old && test -e d/new"),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-forged-whiteout",
        G,
        "names by which other overlays mark what is gone",
        "they are names like others, and nothing is gone",
        &[
            Step::File("kept", "k\n"),
            Step::File("d/old", "o\n"),
            Step::Stage("echo 1 > .wh.kept; echo 2 > d/.wh..wh..opq; echo f > fine"),
            Step::Ours(&["apply"], &[0]),
            Step::Sees("grep -qx k kept && grep -qx o d/old"),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-types",
        G,
        "a file that becomes a directory, and the other way round",
        "the tree comes out exactly",
        &[
            Step::File("a", "old\n"),
            Step::File("b/x", "old\n"),
            Step::Stage("rm a; mkdir a; echo 1 > a/y; rm -r b; echo 2 > b; echo f > fine"),
            Step::Ours(&["apply"], &[0]),
            Step::Sees("grep -qx 1 a/y && grep -qx 2 b"),
            Step::Twin(&[
                Step::Ours(&["undo"], &[0]),
                Step::Sees("grep -qx old a && grep -qx old b/x"),
            ]),
        ],
    ),
    steps(
        "A-mass-deletion",
        G,
        "remove all there is",
        "more than the budget is held",
        &[
            Step::Host("mkdir many && cd many && seq 1 250 | xargs touch"),
            Step::Stage("rm -r many; echo f > fine"),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            Step::Sees("test \"$(ls many | wc -l)\" = 250"),
            FINE,
        ],
    ),
    steps(
        "A-ignored-places",
        G,
        "changes where git status does not look",
        "they are listed",
        &[
            Step::File(".gitignore", "build/\n*.log\n"),
            Step::Stage("mkdir build; echo x > build/x; echo l > a.log; echo f > fine"),
            Step::Ours(&["diff", "--name-only"], &[0]),
            Step::Says("build/x"),
            Step::Says("a.log"),
            FINE,
        ],
    ),
    steps(
        "A-tampered-object",
        G,
        "another content in place of what was sealed",
        "the set is not applied",
        &[
            Step::Stage("echo content > changed"),
            Step::Host(
                "for o in {state}/cofferdam/runs/*/objects/*; do chmod u+w $o; \
                        printf 'CONTENT\\n' > $o; done",
            ),
            Step::Ours(&["apply"], &[1]),
            Step::Sees("test ! -e changed"),
            AFRESH,
        ],
    ),
    steps(
        "A-tampered-manifest",
        G,
        "another list in place of the one that was sealed",
        "the set is not applied",
        &[
            Step::Stage("echo 1 > one; echo 2 > two"),
            Step::Host(
                "for m in {state}/cofferdam/runs/*/manifest; do chmod u+w $m; \
                        sed -i 's/\"one\"/\"own\"/' $m; done",
            ),
            Step::Ours(&["apply"], &[1]),
            Step::Unchanged,
            AFRESH,
        ],
    ),
    steps(
        "A-reordered-manifest",
        G,
        "the list in another order",
        "the set is not applied",
        &[
            Step::Stage("echo 1 > one; echo 2 > two"),
            Step::Host(
                "for m in {state}/cofferdam/runs/*/manifest; do chmod u+w $m; \
                        sed -i '2{h;d};3{G}' $m; done",
            ),
            Step::Ours(&["apply"], &[1]),
            Step::Unchanged,
            AFRESH,
        ],
    ),
    steps(
        "A-twice",
        G,
        "apply twice, and after a discard",
        "the second time nothing happens, or it is said why not",
        &[
            Step::Stage("echo 1 > one"),
            Step::Ours(&["apply"], &[0]),
            Step::Host("echo mine > one"),
            Step::Ours(&["apply"], &[0, 1, 3]),
            Step::Sees("grep -qx mine one"),
            AFRESH,
        ],
    ),
    steps(
        "A-undo-edited",
        G,
        "undo over what the user edited since",
        "the edit is not lost",
        &[
            Step::File("f", "old\n"),
            Step::Stage("echo new > f; echo f > fine"),
            Step::Ours(&["apply"], &[0]),
            Step::Host("echo mine > f"),
            Step::Ours(&["undo"], &[3]),
            Step::Sees("grep -qx mine f"),
            Step::Twin(&[Step::Host("echo new > f"), Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-terminal-in-names",
        G,
        "escapes for the terminal in file names",
        "they are shown as text",
        &[
            Step::Stage(
                "touch \"$(printf 'a\\033[2Jb')\" \"$(printf 'c\\033]0;t\\007d')\"; echo f > fine",
            ),
            Step::Ours(&["diff"], &[0]),
            Step::SaysNot("\x1b"),
            Step::Ours(&["diff", "--name-only"], &[0]),
            Step::SaysNot("\x1b"),
            Step::Ours(&["gate"], &[0, 3]),
            Step::SaysNot("\x1b"),
            FINE,
        ],
    ),
    steps(
        "A-terminal-in-contents",
        G,
        "escapes for the terminal, and letters that turn the text around, in contents",
        "they are shown as text",
        &[
            Step::Stage(
                "printf 'a\\033]52;c;eA==\\007b\\033[2J\\n\\342\\200\\256x\\n' > text; echo f > fine",
            ),
            Step::Ours(&["diff"], &[0]),
            Step::SaysNot("\x1b"),
            Step::SaysNot("\u{202e}"),
            FINE,
        ],
    ),
    steps(
        "A-long-line",
        G,
        "a line of ten megabytes",
        "it is shown within bounds",
        &[
            Step::Stage("head -c 10000000 /dev/zero | tr '\\0' x > line; echo f > fine"),
            Step::Ours(&["diff"], &[0]),
            Step::Says("line"),
            FINE,
        ],
    ),
    steps(
        "A-sparse",
        G,
        "a file of fifty gigabytes with nothing in it",
        "it is named within bounds and not kept",
        &[
            Step::Stage("truncate -s 50G huge; echo f > fine"),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            FINE,
        ],
    ),
    steps(
        "A-links-among-names",
        G,
        "a link of the host that gives a harmless name to a dangerous file",
        "the change is held by what the name means to the host",
        &[
            Step::Host("mkdir tools && ln -s tools .vscode"),
            Step::Stage("echo {} > tools/tasks.json; echo f > fine"),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            FINE,
        ],
    ),
    steps(
        "A-direct-set-id",
        G,
        "make a set-id file in direct mode, where nothing is sealed",
        "the bit cannot be set",
        &[
            Step::Run(
                &["--mode", "direct"],
                "echo f > fine; cp fine tool; chmod 4755 tool; true",
                &[0],
            ),
            Step::Sees("test ! -u tool"),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    ),
    steps(
        "A-direct-blocked-made",
        G,
        "make a blocked file that does not exist yet, in direct mode",
        "it is not made",
        &[
            Step::Run(&["--mode", "direct"], "echo x > .env; echo f > fine; true", &[0]),
            Step::Sees("test ! -e .env"),
            Step::Twin(&[Step::Sees("grep -qx f fine")]),
        ],
    )
    .known(
        EVERYWHERE,
        "in direct mode a blocked file that does not exist yet can be created; the receipt says so",
    ),
];
