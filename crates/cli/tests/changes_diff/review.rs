//! `cofferdam review`, on a real terminal.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use crate::{Bench, LINES};

/// Types keys into a review on a terminal of its own, and gives back all that the terminal was sent.
fn review(bench: &Bench, command: &str, keys: &str) -> String {
    // A page that is not left would keep the test waiting.
    let line = format!("stty rows 24 cols 80; timeout --foreground -s KILL 20 {command}");
    let mut script = bench.env.program("script");
    script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Held open until the end: a terminal whose other side closes is gone.
    let mut input = child.stdin.take().unwrap();
    input.write_all(keys.as_bytes()).unwrap();
    input.flush().unwrap();
    let mut seen = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut seen).unwrap();
    child.wait().unwrap();
    drop(input);
    String::from_utf8(seen).unwrap()
}

fn binary() -> String {
    format!("{} review", env!("CARGO_BIN_EXE_cofferdam"))
}

/// Where the page ends, the terminal is as it was before.
fn is_restored(seen: &str) -> bool {
    let (entered, left) = (seen.rfind("\x1b[?1049h"), seen.rfind("\x1b[?1049l"));
    entered.is_some() && left > entered
}

#[test]
fn what_is_chosen_is_applied_and_nothing_else() {
    let bench = Bench::new();
    bench.both("a", "old\n", "new\n");
    bench.both("b", LINES, LINES.replace("\n2\n", "\ntwo\n").replace("\n19\n", "\nnineteen\n"));
    bench.both("c", "old\n", "new\n");
    bench.seal();
    // Of b the second hunk, of the others only a.
    let seen = review(&bench, &binary(), "ysnyAyxq");
    assert!(is_restored(&seen), "{seen:?}");
    assert!(seen.contains("applied"), "{seen:?}");
    let read = |name: &str| fs::read_to_string(bench.env.workspace().join(name)).unwrap();
    assert_eq!(read("a"), "new\n");
    assert_eq!(read("b"), LINES.replace("\n19\n", "\nnineteen\n"));
    assert_eq!(read("c"), "old\n");
    let left = bench.env.run(["diff"]);
    assert!(left.stdout_text().contains("+two") && !left.stdout_text().contains("nineteen\n+"));
    bench.env.run(["diff", "--name-only"]).assert_stdout("b\nc\n");
    // And back again.
    let seen = review(&bench, &binary(), "uyxq");
    assert!(is_restored(&seen), "{seen:?}");
    assert_eq!((read("a"), read("b")), ("old\n".to_owned(), LINES.to_owned()));
}

#[test]
fn a_class_needs_its_own_yes() {
    let bench = Bench::new();
    bench.made(".github/workflows/ci.yml", "on: push\n");
    bench.both("a", "old\n", "new\n");
    bench.seal();
    let workflow = bench.env.workspace().join(".github/workflows/ci.yml");
    let seen = review(&bench, &binary(), "aAnyxq");
    assert!(seen.contains("GitHub"), "{seen:?}");
    assert!(!workflow.exists());
    assert_eq!(fs::read_to_string(bench.env.workspace().join("a")).unwrap(), "new\n");
    review(&bench, &binary(), "aAyy");
    assert_eq!(fs::read_to_string(&workflow).unwrap(), "on: push\n");
}

#[test]
fn leaving_and_being_ended_change_nothing_and_restore_the_terminal() {
    let bench = Bench::new();
    bench.both("a", "old\n", "new\n");
    bench.seal();
    let before = bench.env.tree_hash("");
    for keys in ["q", "yqy", "yAnqy", "?xq"] {
        assert!(is_restored(&review(&bench, &binary(), keys)), "{keys:?}");
    }
    let ended = format!("timeout --foreground -s TERM 1 {}", binary());
    assert!(is_restored(&review(&bench, &ended, "y")));
    assert_eq!(bench.env.tree_hash(""), before);
    bench.env.run(["diff", "--name-only"]).assert_stdout("a\n");
}

#[test]
fn nothing_on_the_page_is_obeyed() {
    let bench = Bench::new();
    let evil = "\x1b]52;c;ZXZpbA==\x07\u{202e}";
    bench.both(format!("n{evil}"), "old\n", format!("{evil}\n\ttab\n"));
    bench.seal();
    let seen = review(&bench, &binary(), "\tjjjjq");
    assert!(!seen.contains("\x1b]52") && !seen.contains('\x07') && !seen.contains('\u{202e}'));
    assert!(seen.contains("\\x1b]52"), "{seen:?}");
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let bench = Bench::new();
    bench.both("a", "old\n", "new\n");
    bench.seal();
    bench.env.run(["review"]).assert_exit(2).assert_stderr_has("cofferdam apply");
}
