//! A patch, applied by git to a copy of the old tree, makes the new tree.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cofferdam_testkit::TreeHash;

use crate::{Bench, LINES, link, mode};

/// git with nobody's configuration, in a directory that is in no repository.
fn git(bench: &Bench, dir: &PathBuf, args: &[&str]) -> Command {
    let mut git = bench.env.program("git");
    git.current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", bench.env.top())
        .args(args);
    git
}

/// The patch's stderr.
#[track_caller]
fn applies(bench: &Bench, flags: &[&str]) -> String {
    bench.seal();
    let patch = bench.env.run(["diff", "--patch"].iter().chain(flags));
    patch.assert_exit(0);
    let file = bench.env.top().join("patch");
    fs::write(&file, &patch.stdout).unwrap();
    let copy = bench.env.top().join("copy");
    let copied = Command::new("cp").arg("-a").arg(bench.env.workspace()).arg(&copy).status();
    assert!(copied.unwrap().success());
    let apply = git(bench, &copy, &["apply", "--whitespace=nowarn", "../patch"])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&patch.stdout);
    assert!(apply.status.success(), "{}\n{shown}", String::from_utf8_lossy(&apply.stderr));
    assert_eq!(TreeHash::of(&copy), TreeHash::of(&bench.new), "{shown}");
    patch.stderr_text().into_owned()
}

#[test]
fn texts() {
    let bench = Bench::new();
    bench.both("two-hunks", LINES, LINES.replace("2\n3", "2\nx\n3").replace("18\n", ""));
    bench.both("no-end", "a\nb", "a\nb\nc");
    bench.both("end-added", "a", "a\n");
    bench.both("end-lost", "a\n", "a");
    bench.both("crlf", "a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n");
    bench.both("latin", b"\xe9\n", b"\xe8\n");
    bench.both("escapes", "\x1b[2J\n", "\x1b]52;c;eA==\x07\n");
    bench.both("emptied", "a\n", "");
    bench.both("filled", "", "a\n");
    bench.made("new/deep/file", "x\n");
    bench.made("new-empty", "");
    bench.old("gone/deep/file", "y\n");
    bench.old("gone-empty", "");
    bench.both("binary", b"\0a", b"\0b");
    assert_eq!(applies(&bench, &[]), "");
    let copy = bench.env.top().join("copy");
    let back = git(&bench, &copy, &["apply", "-R", "--whitespace=nowarn", "../patch"]).status();
    assert!(back.unwrap().success());
    assert_eq!(TreeHash::of(&copy), TreeHash::of(&bench.env.workspace()), "taken back");
}

#[test]
fn names_of_any_bytes() {
    let bench = Bench::new();
    for name in [
        &b"a b"[..],
        b" lead",
        b"trail ",
        b"tab\there",
        b"line\nbreak",
        b"quo\"te",
        b"back\\slash",
        b"-dash",
        "ä 日本".as_bytes(),
        b"bad\xff\xfe",
        b"esc\x1b[2J",
        b"dir \n/f\"",
        b"cr\r",
    ] {
        bench.both([b"mod/", name].concat(), LINES, LINES.replace("7", "seven"));
        bench.made([b"new/", name].concat(), name);
        bench.old([b"del/", name].concat(), [b"gone ", name].concat());
        bench.old([b"from/", name].concat(), [LINES.as_bytes(), name].concat());
        bench.made([b"to/", name].concat(), [LINES.as_bytes(), name].concat());
        bench.both([b"bin/", name].concat(), b"\0a", b"\0b");
        bench.both([b"mode/", name].concat(), "same", "same");
        mode(&bench.made([b"mode/", name].concat(), "same"), 0o755);
    }
    assert_eq!(applies(&bench, &[]), "");
}

#[test]
fn contents_that_are_no_text() {
    let bench = Bench::new();
    let noise: Vec<u8> =
        (0..200_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    bench.both("noise", &noise, [&noise[1..], b"x"].concat());
    bench.made("new", &noise);
    bench.old("gone", [&noise[..], b"!"].concat());
    bench.both("from-text", "a\n", b"a\0");
    bench.both("to-text", b"a\0", "a\n");
    bench.both("utf-16", b"\xff\xfea\0", b"\xff\xfeb\0");
    bench.both("long-line", vec![b'x'; 10 << 20], vec![b'y'; 10 << 20]);
    bench.both("large-text", "line\n".repeat(1 << 20), "Line\n".repeat(1 << 20));
    assert_eq!(applies(&bench, &[]), "");
}

#[test]
fn modes_and_links() {
    let bench = Bench::new();
    bench.both("run", "a\n", "a\n");
    mode(&bench.made("run", "a\n"), 0o755);
    mode(&bench.old("stop", "a\n"), 0o755);
    bench.made("stop", "b\n");
    mode(&bench.made("new-run", "#!/bin/sh\n"), 0o755);
    link(&bench.new, "new-link", "run");
    link(&bench.env.workspace(), "gone-link", "nowhere");
    link(&bench.env.workspace(), "other", "a");
    link(&bench.new, "other", b"\xff odd\n");
    assert_eq!(applies(&bench, &[]), "");
}

#[test]
fn another_kind_of_thing() {
    let bench = Bench::new();
    let (old, new) = (bench.env.workspace(), bench.new.clone());
    bench.old("file-to-link", "text\n");
    link(&new, "file-to-link", "x");
    link(&old, "link-to-file", "x");
    bench.made("link-to-file", "text\n");
    bench.old("file-to-dir", "text\n");
    bench.made("file-to-dir/inner", "text 2\n");
    bench.old("dir-to-file/inner", "text\n");
    bench.made("dir-to-file", "text 3\n");
    bench.old("dir-to-link/inner", "text\n");
    link(&new, "dir-to-link", "elsewhere");
    link(&old, "link-to-dir", "elsewhere");
    bench.made("link-to-dir/inner", "text 4\n");
    assert_eq!(applies(&bench, &["--no-renames"]), "");
}

#[test]
fn moves() {
    let bench = Bench::new();
    bench.old("a/equal", "equal\n");
    bench.made("b/equal", "equal\n");
    bench.old("alike", LINES);
    bench.made("was alike", LINES.replace("10\n", "ten\n"));
    bench.old("script", format!("#!\n{LINES}"));
    mode(&bench.made("bin/script", format!("#!\n{LINES}x\n")), 0o755);
    bench.old("noise", b"\0noise");
    bench.made("noise2", b"\0noise");
    // In a ring.
    bench.both("x", format!("x\n{LINES}"), format!("y\n{LINES}"));
    bench.both("y", format!("y\n{LINES}"), format!("x\n{LINES}"));
    assert_eq!(applies(&bench, &[]), "");
    let patch = bench.env.run(["diff", "--patch"]);
    assert_eq!(patch.stdout_text().matches("\nrename to ").count(), 4, "{}", patch.stdout_text());
}

/// What git would refuse or cannot carry is left out, and said.
#[test]
fn what_git_cannot_carry_is_left_out_and_told() {
    let bench = Bench::new();
    bench.both("text", "a\n", "b\n");
    bench.made(".git/hooks/pre-commit", "#!/bin/sh\n");
    bench.made("sub/.GIT/config", "x\n");
    fs::create_dir(bench.new.join("empty")).unwrap();
    bench.both("private", "a\n", "a\n");
    mode(&bench.new.join("private"), 0o600);
    bench.seal();
    let patch = bench.env.run(["diff", "--patch"]);
    patch.assert_exit(0);
    for name in [".git/hooks/pre-commit", "sub/.GIT/config", "empty", "private"] {
        patch.assert_stderr_has(&format!("not in the patch: {name}: "));
    }
    assert_eq!(patch.stdout_text().matches("diff --git").count(), 1, "{}", patch.stdout_text());
}
