//! How it looks: to people, to programs, and to a terminal that would obey.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::{Bench, LINES, link, mode};

fn page(bench: &Bench, args: &[&str]) -> String {
    let shown = bench.env.run(["diff"].iter().chain(args));
    shown.assert_exit(0);
    String::from_utf8(shown.stdout).unwrap()
}

fn variety() -> Bench {
    let bench = Bench::new();
    bench.both("changed.txt", LINES, LINES.replace("\n3\n", "\nthree\n").replace("17\n", ""));
    bench.made("dir/new.sh", "#!/bin/sh\nexit");
    mode(&bench.new.join("dir/new.sh"), 0o755);
    bench.old("gone.txt", "bye\n");
    bench.both("image.bin", b"\0\x01", b"\0\x01\x02");
    bench.old("moved/from.txt", LINES);
    bench.made("to.txt", LINES.replace("\n9\n", "\nnine\n"));
    link(&bench.env.workspace(), "retyped", "target");
    bench.made("retyped", "a file\n");
    bench.both("tool", "x\n", "x\n");
    mode(&bench.new.join("tool"), 0o755);
    bench
}

#[test]
fn a_page_for_people() {
    let bench = variety();
    bench.seal();
    insta::assert_snapshot!(page(&bench, &[]), @r#"
    diff --git a/changed.txt b/changed.txt
    --- a/changed.txt
    +++ b/changed.txt
    @@ -1,6 +1,6 @@ hunk 1 of 2
     1
     2
    -3
    +three
     4
     5
     6
    @@ -14,7 +14,6 @@ hunk 2 of 2
     14
     15
     16
    -17
     18
     19
     20
    diff --git a/dir/new.sh b/dir/new.sh
    new file mode 100755
    ! executable: is a program: whoever calls it by name runs it
    --- /dev/null
    +++ b/dir/new.sh
    @@ -0,0 +1,2 @@
    +#!/bin/sh
    +exit
    \ No newline at end of file
    diff --git a/gone.txt b/gone.txt
    deleted file mode 100644
    --- a/gone.txt
    +++ /dev/null
    @@ -1 +0,0 @@
    -bye
    diff --git a/image.bin b/image.bin
    Binary files differ (2 -> 3 bytes)
    diff --git a/retyped b/retyped
    deleted file mode 120000
    --- a/retyped
    +++ /dev/null
    @@ -1 +0,0 @@
    -target
    \ No newline at end of file
    diff --git a/retyped b/retyped
    new file mode 100644
    --- /dev/null
    +++ b/retyped
    @@ -0,0 +1 @@
    +a file
    diff --git a/moved/from.txt b/to.txt
    similarity index 90%
    rename from moved/from.txt
    rename to to.txt
    --- a/moved/from.txt
    +++ b/to.txt
    @@ -6,7 +6,7 @@
     6
     7
     8
    -9
    +nine
     10
     11
     12
    diff --git a/tool b/tool
    old mode 100644
    new mode 100755
    ! executable: is a program: whoever calls it by name runs it
    "#);
    insta::assert_snapshot!(page(&bench, &["--stat"]), @r#"
    changed.txt              | 3 +--
    dir/new.sh               | 2 ++
    gone.txt                 | 1 -
    image.bin                | Bin 2 -> 3 bytes
    retyped                  | 2 +-
    moved/from.txt => to.txt | 2 +-
    tool                     | 0
    7 files changed, 5 insertions(+), 5 deletions(-)
    "#);
}

#[test]
fn colours_are_ours_alone() {
    let bench = Bench::new();
    bench.both("a", "old\n", "new \x1b[31m\n");
    bench.seal();
    assert!(!page(&bench, &[]).contains('\x1b'));
    let coloured = page(&bench, &["--color", "always"]);
    assert!(
        coloured.contains("\x1b[31m-old\x1b[m")
            && coloured.contains("\x1b[32m+new \\x1b[31m\x1b[m")
    );
}

#[test]
fn json_has_every_byte() {
    let bench = variety();
    bench.made(b"bad\xff", "x");
    bench.seal();
    let items = bench.env.run(["diff", "--json"]).json();
    let find = |path: &str| {
        let found = items.as_array().unwrap().iter().find(|item| item["path"] == path);
        found.unwrap_or_else(|| panic!("{path} in {items:#}"))
    };
    assert_eq!(find("changed.txt")["change"], "modified");
    assert_eq!(find("dir")["kind"], "directory");
    assert_eq!(find("dir/new.sh")["mode"], "0755");
    assert_eq!(find("dir/new.sh")["size"], 14);
    assert_eq!(find("gone.txt")["change"], "deleted");
    assert_eq!(find("to.txt")["change"], "renamed");
    assert_eq!(find("to.txt")["from"], "moved/from.txt");
    assert_eq!(find("retyped")["change"], "retyped");
    assert_eq!(find("bad\u{fffd}")["path_b64"], "YmFk/w==");
    assert!(find("to.txt").get("path_b64").is_none());
    let apart = bench.env.run(["diff", "--json", "--no-renames"]).json();
    assert_eq!(apart.as_array().unwrap().len(), items.as_array().unwrap().len() + 1);
}

#[test]
fn names_end_with_nul_and_are_exact() {
    let bench = Bench::new();
    bench.made(b"a\n\xff", "x");
    bench.made("b", "x");
    bench.seal();
    assert_eq!(bench.env.run(["diff", "--name-only", "-z"]).stdout, b"a\n\xff\0b\0");
    bench.env.run(["diff", "--name-only"]).assert_stdout("a\\n\\xff\nb\n");
}

const EVIL: &str = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b]8;;http://x\x1b\\\u{202e}\u{200b}\r";

fn is_inert(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let plain =
        |c: char| c == '\n' || c == '\t' || !(c.is_control() || "\u{202e}\u{200b}".contains(c));
    text.chars().all(plain)
}

#[test]
fn nothing_in_names_contents_and_targets_is_obeyed() {
    let bench = Bench::new();
    let name = format!("n{}", EVIL.replace('/', "_"));
    bench.both(&name, "old\n", format!("{EVIL}\n"));
    bench.made("new", EVIL);
    link(&bench.new, "link", EVIL);
    bench.seal();
    for args in [&["diff"][..], &["diff", "--stat"], &["diff", "--name-only"], &["diff", "--json"]]
    {
        let shown = bench.env.run(args);
        shown.assert_exit(0);
        assert!(is_inert(&shown.stdout), "{args:?}: {:?}", shown.stdout_text());
    }
    let patch = bench.env.run(["diff", "--patch"]);
    assert!(patch.stdout_text().contains(EVIL), "a patch has the very bytes");
    // On a terminal even a patch is harmless.
    for args in ["--patch --no-pager", "--color never --no-pager", "--color never"] {
        let seen = on_a_terminal(&bench, &format!("diff {args}"), "cat -");
        assert!(is_inert(seen.replace("\r\n", "\n").as_bytes()), "{args}: {seen:?}");
        assert!(seen.contains("\\x1b]52"), "{args}: {seen:?}");
    }
}

/// `script` gives the command a terminal of its own.
fn on_a_terminal(bench: &Bench, args: &str, pager: &str) -> String {
    let line = format!("{} {args}", env!("CARGO_BIN_EXE_cofferdam"));
    let mut script = bench.env.program("script");
    script.args(["-qec", &line, "/dev/null"]).env("COFFERDAM_PAGER", pager).env("TERM", "xterm");
    let mut child = script.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut seen = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut seen).unwrap();
    assert!(child.wait().unwrap().success(), "{}", String::from_utf8_lossy(&seen));
    String::from_utf8(seen).unwrap()
}

#[test]
fn a_terminal_gets_colours_and_a_pager() {
    let bench = Bench::new();
    bench.both("a", "old\n", "new\n");
    bench.seal();
    let paged = on_a_terminal(&bench, "diff", "sed s/^/paged:/");
    assert!(paged.contains("paged:\x1b[1mdiff --git a/a b/a"), "{paged:?}");
    assert!(paged.contains("paged:\x1b[31m-old"), "{paged:?}");
    let plain = on_a_terminal(&bench, "diff", "");
    assert!(plain.contains("\x1b[31m-old") && !plain.contains("paged:"), "{plain:?}");
    // No shell reads the line.
    let marker = bench.env.top().join("marker");
    let shell = format!("cat - ; touch {}", marker.display());
    let mut script = bench.env.program("script");
    let line = format!("{} diff", env!("CARGO_BIN_EXE_cofferdam"));
    script.args(["-qec", &line, "/dev/null"]).env("COFFERDAM_PAGER", shell);
    script.stdout(Stdio::null()).status().unwrap();
    assert!(!marker.exists());
}

#[test]
fn a_pager_that_is_left_early_is_no_failure() {
    let bench = Bench::new();
    bench.made("long", "line\n".repeat(200_000));
    bench.seal();
    let seen = on_a_terminal(&bench, "diff", "head -n 1");
    assert!(seen.contains("diff --git a/long b/long"), "{seen:?}");
}

#[test]
fn what_is_not_for_reading_is_named_and_quick() {
    let bench = Bench::new();
    bench.made("one-line", vec![b'x'; 10 << 20]);
    bench.made("wide-line", vec![b'x'; 2 << 20]);
    bench.made("wide-but-shown", vec![b'x'; 100_000]);
    bench.made("pretends", [&b"text\n".repeat(10_000)[..], b"\0"].concat());
    bench.made("utf-16", b"\xff\xfeh\0i\0");
    bench.both("hostile", hostile(0), hostile(1));
    bench.seal();
    let start = Instant::now();
    let shown = page(&bench, &[]);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(shown.contains("Too large to show (10485760 bytes; 4 MiB is the limit)\nnew blake3 "));
    assert_eq!(shown.matches("Binary files differ").count(), 3, "{}", &shown[..4000]);
    assert!(shown.contains(" … 95904 bytes more\n"));
    assert!(shown.lines().all(|line| line.len() < 5000));
}

/// Lines in an order that makes comparing slow.
fn hostile(flip: usize) -> String {
    (0..100_000).map(|n| format!("{:x}\n", n ^ flip)).collect()
}

/// The host went on: what was deleted there cannot be shown, what was modified still can.
#[test]
fn the_old_side_is_the_one_that_was_there() {
    let bench = Bench::new();
    bench.both("modified", "old\n", "new\n");
    bench.old("deleted", "gone\n");
    bench.seal();
    assert!(page(&bench, &["deleted"]).contains("-gone"));
    fs::write(bench.env.workspace().join("modified"), "host\n").unwrap();
    fs::write(bench.env.workspace().join("deleted"), "host\n").unwrap();
    assert!(page(&bench, &["modified"]).contains("-old\n+new"));
    let gone = page(&bench, &["deleted"]);
    assert!(gone.contains("Cannot be shown: the host has another file"), "{gone}");
    // Nor is a link followed to something else.
    fs::remove_file(bench.env.workspace().join("deleted")).unwrap();
    let secret = bench.env.top().join("secret");
    fs::write(&secret, "gone\n").unwrap();
    link(&bench.env.workspace(), "deleted", secret.as_os_str().as_encoded_bytes());
    assert!(!page(&bench, &["deleted"]).contains("-gone"));
    bench
        .env
        .run(["diff", "--patch"])
        .assert_exit(1)
        .assert_stderr_has("cannot be put into a patch");
}

/// What is in a directory that was a file has its place once it is applied; apply takes it, so it is no conflict.
#[test]
fn what_is_below_a_file_that_became_a_directory_is_no_conflict() {
    let bench = Bench::new();
    let host = bench.old("thing", "a file\n");
    bench.made("thing/sub/in", "in\n");
    bench.seal();
    let conflicts = || {
        let shown = bench.env.run(["diff", "--json"]).json();
        let all = shown.as_array().unwrap().clone();
        all.iter().filter(|entry| !entry["conflict"].is_null()).count()
    };
    assert_eq!(conflicts(), 0);
    bench.env.run(["apply", "--check"]).assert_exit(0);
    // Where the host has another file there, all of it is.
    fs::write(host, "edited by hand\n").unwrap();
    assert!(conflicts() > 1);
    bench.env.run(["apply", "--check"]).assert_exit(3);
}
