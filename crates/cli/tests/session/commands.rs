//! What commands of a session see of each other, and what becomes of each.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cofferdam_testkit::{TestEnv, claim, wait_until};

use super::{BINARY, Session};

#[test]
fn commands_share_the_staged_workspace_and_have_their_own_ends() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("kept", "host");
        let before = env.tree_hash("");
        let session = Session::start(env, &[]);
        session.exec(&[], "echo one > made; rm kept").assert_exit(0);
        session.exec(&[], "cat made; test ! -e kept; exit 7").assert_exit(7).assert_stdout("one\n");
        session.exec(&[], "echo no >&2; kill -SEGV $$").assert_exit(139).assert_stderr_has("no");
        session.exec(&["--timeout", "1s"], "sleep 60").assert_exit(124);
        session.sub("exec", &["--", "no-such-program"]).assert_exit(127);
        session.exec(&["--workdir", "nowhere"], "true").assert_exit(125);
        session
            .exec(&["--env", "A=b c", "--workdir", "/tmp"], "printf '%s %s' \"$A\" \"$PWD\"")
            .assert_stdout("b c /tmp");
        assert_eq!(env.tree_hash(""), before, "nothing reaches the host before it is applied");
        session.sub("stop", &[]).assert_exit(0).assert_stderr_has("1 created, 1 deleted");
        let changed = env.run(["diff", "--name-only"]);
        assert_eq!(changed.stdout_text().lines().collect::<Vec<_>>(), ["kept", "made"]);
        env.run(["audit", "verify"]).assert_exit(0);
    });
}

/// Whatever was ignored where Cofferdam was started, and by Cofferdam itself: a program keeps what it finds ignored.
#[test]
fn a_program_begins_with_every_signal_as_at_birth() {
    // Two that the C library keeps for itself, and that no program is sent, may be ignored: 32 and 33.
    const SIGNALS: &str = "grep -E '^Sig(Blk|Ign)' /proc/self/status | \
                           sed 's/0000000[0-1][08]0000000/0000000000000000/'";
    let env = TestEnv::with_binary(BINARY);
    let deaf = |words: &[&str]| {
        let mut command = env.program("sh");
        command
            .args(["-c", "trap '' HUP INT USR1 PIPE WINCH; exec \"$0\" \"$@\"", BINARY])
            .args(words);
        env.finish(command)
    };
    let none = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n";
    let sandbox: Vec<&str> = claim::sandbox(&env).into_iter().collect();
    let run = [&["run", "-q"][..], &sandbox, &["--", "sh", "-c", SIGNALS]].concat();
    deaf(&run).assert_exit(0).assert_stdout(none);
    let started = deaf(&[&["session", "start"][..], &sandbox].concat());
    let session = Session { env: &env, id: started.stdout_text().trim().to_owned() };
    session.exec(&[], SIGNALS).assert_exit(0).assert_stdout(none);
    session.exec(&[], SIGNALS).assert_exit(0).assert_stdout(none);
}

#[test]
fn input_reaches_a_command_and_only_that() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &[]);
    let mut child = env
        .cofferdam()
        .args(["session", "exec", "last", "--", "tr", "a-z", "A-Z"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"shout").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"SHOUT");
    // A file is carried, not handed over: the program must not hold one of the host's.
    let file = env.file("words", "quiet");
    let mut command = env.cofferdam();
    command.args(["session", "exec", "last", "--", "sh", "-c", "cat; readlink /proc/self/fd/0"]);
    command.stdin(std::fs::File::open(file).unwrap());
    let seen = env.finish(command);
    assert!(seen.stdout_text().starts_with("quietpipe:"), "{}", seen.stdout_text());
    drop(session);
}

#[test]
fn several_run_at_once() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &[]);
    let began = Instant::now();
    // Each waits for the other: one after the other they would never end.
    let script = |own: &str, other: &str| {
        format!("touch /tmp/{own}; while [ ! -e /tmp/{other} ]; do sleep 0.05; done; echo {own}")
    };
    let mut command = env.cofferdam();
    command.args(["session", "exec", "last", "--", "sh", "-c", &script("a", "b")]);
    let first = command.stdout(Stdio::piped()).spawn().unwrap();
    session.exec(&[], &script("b", "a")).assert_exit(0).assert_stdout("b\n");
    assert_eq!(first.wait_with_output().unwrap().stdout, b"a\n");
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn what_is_left_running_lives_on_until_it_is_killed() {
    claim::as_root_and_as_user(BINARY, |env| {
        let session = Session::start(env, &[]);
        let pids = || session.exec(&[], "pgrep -x sleep | wc -l").stdout_text().trim().to_owned();
        // Left behind by a command that has ended, one of them far away from it.
        session.exec(&[], "sleep 600 & setsid sleep 600 & exit 0").assert_exit(0);
        assert_eq!(pids(), "2");
        session.sub("exec", &["--detach", "--name", "web", "--", "sh", "-c", "echo up; sleep 600"]);
        assert!(wait_until(Duration::from_secs(10), || pids() == "3"));
        session.sub("exec", &["--name", "web", "--", "true"]).assert_exit(125);
        assert!(wait_until(Duration::from_secs(10), || {
            session.sub("output", &["web"]).stdout_text() == "up\n"
        }));
        session.sub("kill", &["web"]).assert_exit(0);
        assert!(wait_until(Duration::from_secs(10), || pids() == "2"));
        session.sub("kill", &["1"]).assert_exit(0);
        assert!(wait_until(Duration::from_secs(10), || pids() == "0"));
        let jobs = session.jobs();
        let web = jobs.as_array().unwrap().iter().find(|job| job["name"] == "web").unwrap();
        assert_eq!(
            (&web["outcome"]["class"], &web["outcome"]["signal"]),
            (&"signaled".into(), &9.into())
        );
        session.sub("kill", &["nobody"]).assert_exit(1);
    });
}

#[test]
fn much_output_is_bounded_and_counted() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &[]);
    let script = "head -c 100000000 /dev/zero";
    let done = session.exec(&["--json", "--output-limit", "1m"], script).assert_exit(0).json();
    assert_eq!(done["output"]["stdout_bytes"], 100_000_000);
    assert_eq!(done["output"]["truncated"], true);
    let kept = session.sub("output", &["1"]).stdout.len();
    assert!(kept <= (1 << 20) + 100, "{kept}");
    // Whoever reads gets all of it.
    assert_eq!(session.exec(&[], script).stdout.len(), 100_000_000);
}
