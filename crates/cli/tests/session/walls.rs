//! What a session keeps out: other users, other sessions, limits that are not for one command, other backends.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use cofferdam_testkit::TestEnv;

use super::{BINARY, Session};

#[test]
fn two_sessions_see_nothing_of_each_other() {
    let env = TestEnv::with_binary(BINARY);
    let (one, other) = (Session::start(&env, &[]), Session::start(&env, &[]));
    one.exec(&[], "echo mine > made; touch /tmp/mine; sleep 600 &").assert_exit(0);
    other.exec(&[], "test ! -e made && test ! -e /tmp/mine && ! pgrep -x sleep").assert_exit(0);
    one.exec(&[], "test -e made && test -e /tmp/mine && pgrep -x sleep").assert_exit(0);
}

#[test]
fn limits_of_the_whole_sandbox_are_refused_for_one_command_by_name() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &["--timeout", "5s"]);
    for (flag, value, name) in [
        ("--memory", "1g", "memory_limit"),
        ("--cpus", "1", "cpu_limit"),
        ("--pids", "7", "pids_limit"),
        ("--timeout", "6s", "timeout"),
    ] {
        session.exec(&[flag, value], "true").assert_exit(125).assert_stderr_has(name);
    }
    session.exec(&["--timeout", "4s"], "true").assert_exit(0);
    assert_eq!(session.jobs().as_array().unwrap().len(), 1, "nothing that was refused ran");
}

#[test]
fn other_backends_refuse_a_session() {
    let env = TestEnv::with_binary(BINARY);
    env.run(["session", "start", "--sandbox", "local"]).assert_exit(125);
    assert_eq!(env.latest_record()["outcome"]["class"], "refused");
    env.run(["session", "ls", "--json"]).assert_stdout("[]\n");
}

/// Whoever is let into the directory, as root is everywhere, is not answered unless it is the same user.
#[test]
fn another_user_is_not_answered() {
    let env = TestEnv::with_binary(BINARY).unprivileged();
    let session = Session::start(&env, &[]);
    let runs = std::fs::read_dir(env.state_dir().join("runs")).unwrap();
    let dir = runs.last().unwrap().unwrap().path();
    let mut stream = UnixStream::connect(dir.join("socket")).unwrap();
    let question = br#""jobs""#;
    let length = u32::try_from(question.len()).unwrap().to_le_bytes();
    // It may be closed before we have said anything.
    stream.write_all(&[&length, &question[..]].concat()).ok();
    let mut answer = Vec::new();
    let heard = stream.read_to_end(&mut answer);
    let me = std::fs::metadata("/proc/self").unwrap();
    if std::os::unix::fs::MetadataExt::uid(&me) == 0 {
        assert!(answer.is_empty(), "{heard:?} {}", String::from_utf8_lossy(&answer));
    } else {
        assert!(!answer.is_empty(), "the same user is answered");
    }
    session.exec(&[], "true").assert_exit(0);
}

#[test]
fn values_of_secrets_are_not_kept() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &[]);
    let flags = ["--env", "API_TOKEN=hunter2hunter2"];
    session.exec(&flags, "echo $API_TOKEN").assert_stdout("hunter2hunter2\n");
    assert_eq!(session.sub("output", &["1"]).stdout_text(), "[redacted]\n");
    session.exec(&flags, "echo hunter2hunter2").assert_exit(0);
    session.sub("stop", &[]).assert_exit(0);
    let log = std::fs::read_to_string(env.state_dir().join("audit.jsonl")).unwrap();
    assert!(log.contains("API_TOKEN") && !log.contains("hunter2"), "{log}");
}

#[test]
fn processes_that_were_not_started_are_counted_for_each_command() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &["--pids", "16"]);
    let many = "for i in $(seq 40); do sleep 1 & done 2>/dev/null; wait";
    session.exec(&[], many).assert_stderr_has("not started: there ");
    // What one was refused is not told of the next.
    let next = session.exec(&[], "echo fine");
    assert_eq!(next.assert_exit(0).assert_stdout("fine\n").stderr_text(), "");
    let refused = |job: usize| session.jobs()[job]["usage"]["pids_refused"].as_u64();
    assert!(refused(0).is_some_and(|count| count > 0), "{}", session.jobs());
    assert_eq!(refused(1), None);
}
