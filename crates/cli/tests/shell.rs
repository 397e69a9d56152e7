//! A terminal in a sandbox, tried on a real one: `script` makes it and types into it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cofferdam_testkit::{TestEnv, claim, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// A terminal with a shell of the host on it.
struct Screen {
    child: Child,
    seen: std::sync::Arc<std::sync::Mutex<String>>,
}

impl Screen {
    fn new(env: &TestEnv, binary: &str, line: &str) -> Self {
        let mut command = env.program("script");
        command.args(["-qec", line, "/dev/null"]).env("COFFERDAM", binary).env("TERM", "xterm");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let seen = std::sync::Arc::default();
        let shown: std::sync::Arc<std::sync::Mutex<String>> = std::sync::Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut piece) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..count]));
            }
        });
        Self { child, seen }
    }

    fn text(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        let there = wait_until(Duration::from_secs(20), || self.text().contains(text));
        assert!(there, "{text:?} is not on the screen:\n{}", self.text());
    }

    fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    fn ends(mut self) -> Option<i32> {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.child.kill().unwrap();
        panic!("the screen stays:\n{}", self.text());
    }
}

fn shell(env: &TestEnv) -> String {
    format!("$COFFERDAM shell {} --", claim::sandbox(env).join(" "))
}

#[test]
fn job_control_size_and_exit_code() {
    claim::as_root_and_as_user(BINARY, |env| {
        let line =
            format!("stty rows 33 cols 99; {} bash --norc; echo code=$?; stty -a", shell(env));
        let mut screen = Screen::new(env, &binary(env), &line);
        screen.types("PS1='in''side> '\n");
        screen.shows("inside> ");
        screen.types("tty\n");
        screen.shows("/dev/pts/0");
        // An engine is told the size when the container runs already.
        screen.types("while [ \"$(stty size)\" = '0 0' ]; do sleep 0.1; done; stty size\n");
        screen.shows("33 99");
        screen.types("sleep 600\n");
        std::thread::sleep(Duration::from_millis(300));
        screen.types("\x1a");
        screen.shows("Stopped");
        screen.types("kill %1; cat\n");
        std::thread::sleep(Duration::from_millis(300));
        screen.types("\x03");
        // What was typed before is thrown away with it.
        screen.shows("Terminated");
        std::thread::sleep(Duration::from_millis(300));
        screen.types("echo after=$?; echo made > made\n");
        screen.shows("after=130");
        screen.types("exit 9\n");
        screen.shows("it changed, apart from your files: 1 created");
        screen.shows("code=9");
        // As it was: lines are edited by the terminal, and keys are shown.
        screen.shows(" icanon ");
        let text = screen.text();
        assert!(!text.contains("-icanon") && !text.contains("-echo "), "{text}");
        assert_eq!(screen.ends(), Some(0));
        assert!(!env.workspace().join("made").exists());
    });
}

#[test]
fn a_new_size_arrives() {
    let env = TestEnv::with_binary(BINARY);
    let line = format!(
        "tty > ../tty; {} sh -c 'trap \"stty size; exit 4\" WINCH; echo ready; while :; do sleep 0.1; done'",
        shell(&env)
    );
    let screen = Screen::new(&env, BINARY, &line);
    screen.shows("ready");
    let tty = std::fs::read_to_string(env.top().join("tty")).unwrap();
    let set = Command::new("stty").args(["-F", tty.trim(), "rows", "11", "cols", "44"]).status();
    assert!(set.unwrap().success());
    screen.shows("11 44");
    assert_eq!(screen.ends(), Some(4));
}

/// Not even a kill leaves a terminal on which nothing that is typed can be seen.
#[test]
fn the_terminal_is_put_back_after_a_kill() {
    let env = TestEnv::with_binary(BINARY);
    let line = format!(
        "sh -c 'echo $$ > ../pid; exec {} sh -c \"echo ready; sleep 600\"'; sleep 1; echo; stty -a; echo over",
        shell(&env)
    );
    let screen = Screen::new(&env, BINARY, &line);
    screen.shows("ready");
    let pid = std::fs::read_to_string(env.top().join("pid")).unwrap();
    assert!(Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap().success());
    screen.shows("over");
    let text = screen.text();
    assert!(text.contains(" icanon ") && !text.contains("-icanon"), "{text}");
    screen.ends();
    env.run(["gc"]).assert_exit(0);
}

/// A day is for whoever has said nothing about time; what was said anywhere stands.
#[test]
fn a_timeout_that_was_set_stands() {
    let took = |env: &TestEnv, before: &str, script: &str| {
        let line = format!("{before} {} sh -c '{script}'; echo code=$?", shell(env));
        let screen = Screen::new(env, BINARY, &line);
        screen.shows("code=");
        let text = screen.text();
        assert_eq!(screen.ends(), Some(0));
        (text, env.latest_record()["plan"]["limits"]["timeout"].clone())
    };
    let env = TestEnv::with_binary(BINARY);
    let (said, timeout) = took(&env, "", "exit 5");
    assert!(said.contains("code=5") && timeout == "24h", "{timeout}: {said}");
    let (said, _) = took(&env, "COFFERDAM_TIMEOUT=1s", "sleep 30");
    assert!(said.contains("code=124"), "{said}");
    env.project_config("sandbox: { timeout: 1s }");
    let (said, _) = took(&env, "", "sleep 30");
    assert!(said.contains("code=124"), "{said}");
    env.project_config("sandbox: { timeout: 2h }");
    let (said, timeout) = took(&env, "", "exit 5");
    assert!(!said.contains("looser") && timeout == "2h", "{timeout}: {said}");
    env.host_config("sandbox: { timeout: 30m }");
    env.project_config("");
    let (said, timeout) = took(&env, "", "exit 5");
    assert!(said.contains("code=5") && timeout == "30m", "{timeout}: {said}");
}

#[test]
fn without_a_terminal_there_is_none_to_give() {
    let env = TestEnv::with_binary(BINARY);
    env.run(["shell"].into_iter().chain(claim::sandbox(&env)))
        .assert_exit(125)
        .assert_stderr_has("must be a terminal");
}

#[test]
fn help_and_wrong_usage_have_colours_only_where_they_are_wanted() {
    let env = TestEnv::with_binary(BINARY);
    for (line, last) in [("--help", "Print version"), ("run --frob", "try '--help'")] {
        let shown = |variables: &str| {
            let line = format!("{variables} $COFFERDAM {line}");
            let screen = Screen::new(&env, &binary(&env), &line);
            // Between its words there may be colours.
            let plain = |text: &str| text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
            let there =
                wait_until(Duration::from_secs(20), || plain(&screen.text()).contains(last));
            assert!(there, "{}", screen.text());
            screen.text()
        };
        assert!(shown("").contains('\u{1b}'), "{line}");
        assert!(shown("NO_COLOR=").contains('\u{1b}'), "an empty one is none: {line}");
        assert!(!shown("NO_COLOR=1").contains('\u{1b}'), "{line}");
    }
}

/// The path that the user of this environment can execute.
fn binary(env: &TestEnv) -> String {
    env.cofferdam().get_program().to_str().unwrap().to_owned()
}
