//! A shell in a sandbox as a person has it: in tmux, with keys that are pressed and a screen that is read.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::process::Command;
use std::time::Duration;

use cofferdam_testkit::{TestEnv, claim, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// A window with a shell of the host in it, on a server of its own.
struct Window<'a> {
    env: &'a TestEnv,
}

impl<'a> Window<'a> {
    fn open(env: &'a TestEnv, binary: &str) -> Self {
        let window = Self { env };
        let shell = "bash --norc --noprofile";
        window.tmux(&["new-session", "-d", "-x", "90", "-y", "30", shell]);
        window.types(&format!("PS1='host> '; COFFERDAM={binary}; stty -a | grep -c icanon; clear"));
        window.shows("host>");
        window
    }

    fn command(&self) -> Command {
        let mut command = self.env.program("tmux");
        // Beside the state, where the path is short enough for a socket.
        command
            .arg("-S")
            .arg(self.env.top().join("tmux"))
            .env("TERM", "xterm")
            .env("LC_ALL", "C.UTF-8");
        command
    }

    fn tmux(&self, words: &[&str]) -> String {
        let output = self.command().args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn presses(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// A line, with Enter after it.
    fn types(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.presses(&["Enter"]);
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        let there = wait_until(Duration::from_secs(20), || self.screen().contains(text));
        assert!(there, "{text:?} is not on the screen:\n{}", self.screen());
    }

    #[track_caller]
    fn hides(&self, text: &str) {
        let gone = wait_until(Duration::from_secs(20), || !self.screen().contains(text));
        assert!(gone, "{text:?} is still on the screen:\n{}", self.screen());
    }

    /// Opens a shell in a sandbox.
    fn enters(&self) {
        self.types("$COFFERDAM shell --sandbox native --relax limits -- bash --norc --noprofile");
        self.types("PS1='in''side> '; clear");
        self.shows("inside>");
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        // What is still open in it fails the test by what it leaves.
        self.command().arg("kill-server").output().ok();
    }
}

/// The binary where the user of `env` can start it.
fn binary(env: &TestEnv) -> String {
    env.cofferdam().get_program().to_str().unwrap().to_owned()
}

#[test]
fn an_editor_opens_and_quits_and_what_it_wrote_is_staged() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("poem", "first line\n");
        let window = Window::open(env, &binary(env));
        window.enters();
        window.types("vim -u NONE -N poem");
        window.shows("~\n~\n");
        window.shows("first line");
        window.presses(&["o"]);
        window.tmux(&["send-keys", "-l", "second line"]);
        window.presses(&["Escape"]);
        window.shows("second line");
        window.types(":wq");
        window.hides("~\n~\n");
        window.types("clear; cat poem; echo editor=$?");
        window.shows("second line");
        window.shows("editor=0");
        window.types("exit 7");
        window.shows("it changed, apart from your files: 1 modified");
        window.types("echo code=$?");
        window.shows("code=7");
        assert_eq!(std::fs::read_to_string(env.workspace().join("poem")).unwrap(), "first line\n");
        drop(window);
    });
}

#[test]
fn keys_that_interrupt_and_stop_reach_the_program_inside() {
    let env = TestEnv::with_binary(BINARY);
    let window = Window::open(&env, &binary(&env));
    window.enters();
    window.types("sh -c 'echo as''leep; sleep 600'; echo interrupted=$?");
    window.shows("asleep\n");
    window.presses(&["C-c"]);
    window.types("clear; echo went on");
    window.shows("went on");
    // The whole line is gone, as with any shell.
    assert!(!window.screen().contains("interrupted=0"), "{}", window.screen());
    window.types("sh -c 'echo doz''ing; sleep 601'");
    window.shows("dozing\n");
    window.presses(&["C-z"]);
    window.shows("Stopped");
    window.types("clear; jobs; echo listed");
    window.shows("listed\n");
    window.shows("[1]+  Stopped");
    window.types("fg; echo fg=$?");
    wait_for_no_prompt(&window);
    window.presses(&["C-c"]);
    window.types("clear; echo awake");
    window.shows("awake\n");
    window.types("exit 0");
    window.shows("host>");
}

/// The shell has given the terminal away: its last line is no prompt.
fn wait_for_no_prompt(window: &Window<'_>) {
    let has_gone = wait_until(Duration::from_secs(10), || {
        window.screen().trim_end().lines().last().is_some_and(|line| !line.starts_with("inside>"))
    });
    assert!(has_gone, "{}", window.screen());
}

#[test]
fn a_window_of_another_size_is_one_inside_too() {
    let env = TestEnv::with_binary(BINARY);
    let window = Window::open(&env, &binary(&env));
    window.enters();
    window.types("stty size");
    window.shows("30 90");
    window.tmux(&["resize-window", "-x", "70", "-y", "20"]);
    // It is told a moment later.
    window.types("clear; until stty size | grep '20 70'; do sleep 0.1; done");
    window.shows("20 70\n");
    window.types(
        "bash -c 'trap \"stty size; exit\" WINCH; echo wa''iting; while :; do sleep 0.1; done'",
    );
    window.shows("waiting\n");
    window.tmux(&["resize-window", "-x", "100", "-y", "25"]);
    window.shows("25 100\n");
    window.types("exit");
    window.shows("host>");
}

#[test]
fn after_a_kill_the_terminal_is_as_it_was_and_nothing_runs() {
    let env = TestEnv::with_binary(BINARY);
    let window = Window::open(&env, &binary(&env));
    window.types("stty -a > before");
    window.enters();
    window.types("vim -u NONE -N");
    window.shows("~\n~\n");
    let pid = window.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let child = Command::new("pgrep").args(["-P", pid.trim()]).output().unwrap();
    let child = String::from_utf8(child.stdout).unwrap();
    assert!(Command::new("kill").args(["-9", child.trim()]).status().unwrap().success());
    // The editor's screen is left, and the cursor is seen.
    let flags = || window.tmux(&["display-message", "-p", "#{alternate_on}#{cursor_flag}"]);
    assert!(wait_until(Duration::from_secs(10), || flags().trim() == "01"), "{}", flags());
    window.types("stty -a > after; clear; echo typed is seen");
    window.shows("typed is seen");
    // Seen as it was typed, and once more as it was said: the echo is back.
    let seen = wait_until(Duration::from_secs(10), || {
        window.screen().matches("typed is seen").count() >= 1
    });
    assert!(seen, "{}", window.screen());
    window.types("echo li''nes");
    window.shows("echo li''nes\nlines");
    let read = |name| std::fs::read_to_string(env.workspace().join(name)).unwrap();
    assert_eq!(read("after"), read("before"));
    env.run(["gc"]).assert_exit(0);
}

#[test]
fn a_program_that_takes_too_long_leaves_no_screen_behind() {
    let env = TestEnv::with_binary(BINARY);
    let window = Window::open(&env, &binary(&env));
    window.types(
        "$COFFERDAM run --tty --sandbox native --relax limits --timeout 2s -- vim -u NONE -N",
    );
    window.shows("~\n~\n");
    window.shows("timed out");
    window.types("echo code=$?");
    window.shows("code=124\n");
    let another = window.tmux(&["display-message", "-p", "#{alternate_on}#{cursor_flag}"]);
    assert_eq!(another.trim(), "01");
}
