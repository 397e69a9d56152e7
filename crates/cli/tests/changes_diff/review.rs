//! `cofferdam review`, on a real terminal.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cofferdam_testkit::wait_until;

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

/// A review that stays open while something else happens.
struct Open {
    child: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Open {
    fn new(bench: &Bench, command: &str) -> Self {
        let line = format!("stty rows 24 cols 80; timeout --foreground -s KILL 60 {command}");
        let mut script = bench.env.program("script");
        script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut piece) {
                sink.lock().unwrap().extend_from_slice(&piece[..count]);
            }
        });
        Self { child, keys, seen }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for a word on the page. Only cells that change are sent, so it is one that stands alone.
    fn shows(&self, word: &str) {
        let end = Instant::now() + Duration::from_secs(30);
        while !self.seen().contains(word) {
            assert!(Instant::now() < end, "{word:?} is not in {:?}", self.seen());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    /// Types the keys that end it, and gives back all that the terminal was sent.
    fn leave(mut self, keys: &str) -> String {
        self.press(keys);
        self.child.wait().unwrap();
        self.seen()
    }
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

/// What is newest changes while a review is open; what the review is about does not.
#[test]
fn another_run_meanwhile_does_not_take_the_place_of_what_is_shown() {
    for words in ["", " aa.txt bb.txt"] {
        let bench = Bench::new();
        bench.both("aa.txt", "old\n", "new\n");
        bench.both("bb.txt", "old\n", "WICKED\n");
        bench.seal();
        let page = Open::new(&bench, &format!("{}{words}", binary()));
        page.shows("aa.txt");
        bench.made("bb.txt", "harmless\n");
        bench.seal();
        // One file after the other; with the last it ends.
        let seen = page.leave("yAyxyAy");
        assert!(seen.contains("WICKED") && !seen.contains("harmless"), "{words}: {seen:?}");
        let now = fs::read_to_string(bench.env.workspace().join("bb.txt")).unwrap();
        assert_eq!(now, "WICKED\n");
    }
}

/// Numbers that were chosen before another apply would be those of other hunks after it.
#[test]
fn a_hunk_is_applied_only_while_it_is_the_one_that_was_shown() {
    let bench = Bench::new();
    let changed = |old: &str, new: &str, text: &str| {
        text.replace(&format!("\n{old}\n"), &format!("\n{new}\n"))
    };
    let first = changed("2", "two", LINES);
    let all = changed("19", "WICKED", &changed("10", "good", &first));
    bench.both("f.txt", LINES, all);
    bench.seal();
    let mut page = Open::new(&bench, &binary());
    page.shows("f.txt");
    page.press("sny");
    // The edge of a hunk that is chosen.
    page.shows("┃");
    bench.env.run(["apply", "-q", "--hunk", "f.txt:1"]).assert_exit(0);
    page.press("Ay");
    page.shows("others");
    page.leave("xqy");
    let now = fs::read_to_string(bench.env.workspace().join("f.txt")).unwrap();
    assert_eq!(now, first);
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

/// Whoever closes the window has said neither yes nor no, and wants no process that looks for keys for ever.
#[test]
fn a_terminal_that_goes_away_ends_it_and_nothing_is_applied() {
    let bench = Bench::new();
    bench.both("a", "old\n", "new\n");
    bench.seal();
    let before = bench.env.tree_hash("");
    // With the signal that goes with it, deaf to that, in a session that is not told; and between the look at the
    // terminal and the reading of it, for which each look is made to last.
    let late =
        "trap '' HUP; exec strace -qq -o /dev/null -e trace=poll -e inject=poll:delay_exit=300000";
    for how in ["exec", "trap '' HUP; exec", "exec setsid -w", late] {
        let pid = bench.env.top().join("pid");
        let inner = format!("sh -c 'echo $$ > {}; exec {}'", pid.display(), binary());
        let line = format!("stty rows 24 cols 80; {how} {inner}");
        let mut script = bench.env.program("script");
        script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"y").unwrap();
        input.flush().unwrap();
        // The page stands.
        let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
        let out = child.stdout.as_mut().unwrap();
        while !String::from_utf8_lossy(&seen).contains("leave") {
            let count = out.read(&mut piece).unwrap();
            assert!(count > 0, "{how}: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&piece[..count]);
        }
        let review = fs::read_to_string(&pid).unwrap().trim().to_owned();
        // It holds the other end of the terminal.
        child.kill().unwrap();
        child.wait().unwrap();
        let process = std::path::Path::new("/proc").join(&review);
        let ended = wait_until(Duration::from_secs(5), || !process.exists());
        if !ended {
            std::process::Command::new("kill").args(["-KILL", &review]).status().unwrap();
        }
        assert!(ended, "{how}: it goes on without a terminal");
        fs::remove_file(&pid).unwrap();
    }
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
