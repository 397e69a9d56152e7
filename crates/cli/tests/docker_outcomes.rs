//! The same exit codes, streams and signals as on any other backend, told from what the engine says.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cofferdam_testkit::docker::{Engine, Which, as_root_and_as_user};
use cofferdam_testkit::{TestEnv, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn codes_and_signals() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        engine.run(env, &[], "exit 7").assert_exit(7);
        engine.run(env, &[], "kill -SEGV $$").assert_exit(139);
        assert_eq!(env.latest_record()["outcome"]["class"], "signaled");
        engine.exec(env, &[], &["no-such-program"]).assert_exit(127).assert_stderr_has("not found");
        env.file("plain", "text");
        engine.exec(env, &[], &["./plain"]).assert_exit(126);
        engine
            .run(env, &["--workdir", "nowhere"], "true")
            .assert_exit(125)
            .assert_stderr_has("working directory");
        assert!(!env.workspace().join("nowhere").exists(), "a runtime would have made it");
        engine.run(env, &["--timeout", "1s"], "sleep 60").assert_exit(124);
        assert_eq!(env.latest_record()["outcome"]["class"], "timed_out");
        engine.command(env, ["audit", "verify"]).assert_exit(0);
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn streams_are_apart_and_input_arrives() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        let done = engine.run(env, &[], "echo out; echo err >&2; cat");
        done.assert_exit(0).assert_stdout("out\n");
        assert!(done.stderr_text().contains("err\n"));
        let mut command = engine.cofferdam(env);
        command.args(["run", "--quiet", "--sandbox", "docker", "--", "tr", "a-z", "A-Z"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let words = "shout ".repeat(50_000);
        let mut stdin = child.stdin.take().unwrap();
        let sent = words.clone();
        let sender = std::thread::spawn(move || stdin.write_all(sent.as_bytes()).unwrap());
        let mut heard = String::new();
        child.stdout.take().unwrap().read_to_string(&mut heard).unwrap();
        sender.join().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(heard, words.to_uppercase());
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_reader_that_goes_away_ends_a_talkative_command() {
    let env = TestEnv::with_binary(BINARY);
    let mut command = Engine::shared(Which::Docker).cofferdam(&env);
    command.args(["run", "--quiet", "--sandbox", "docker", "--timeout", "60s", "--", "yes"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 2]).unwrap();
    drop(out);
    let start = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(141));
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn signals_reach_the_program_and_a_deaf_one_is_killed() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        let ready = env.workspace().join("ready");
        let script = "trap 'exit 42' TERM; touch ready; while :; do sleep 0.1; done";
        let mut child = engine.spawn(env, &["--mode", "direct"], script);
        assert!(wait_until(Duration::from_secs(30), || ready.exists()));
        send("-TERM", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(42), "its own code after its own clean-up");
        assert_eq!(env.latest_record()["outcome"]["class"], "canceled");
        std::fs::remove_file(&ready).unwrap();
        let deaf = "trap '' TERM; touch ready; while :; do sleep 0.1; done";
        env.host_config("sandbox: { stop_grace: 1s }");
        let mut child = engine.spawn(env, &["--mode", "direct"], deaf);
        assert!(wait_until(Duration::from_secs(30), || ready.exists()));
        send("-TERM", child.id());
        let start = Instant::now();
        assert_eq!(child.wait().unwrap().code(), Some(137));
        assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    });
}

/// Before, while and after the container is made: one end, and nothing left.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn canceled_at_any_moment() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        for step in 0..12_u64 {
            let mut child = engine.spawn(env, &[], "sleep 100");
            std::thread::sleep(Duration::from_millis(step * 40));
            send("-TERM", child.id());
            // One that was not yet ours to catch ends us like any other program; and one that comes before the
            // container's first process can pass it on is followed by a kill.
            let code = child.wait().unwrap().code();
            assert!(matches!(code, None | Some(143 | 137)), "{step}: {code:?}");
        }
        engine.command(env, ["gc"]).assert_exit(0);
    });
}

/// As a project's tests are run: nothing of the workspace can be written, `/tmp` can.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_projects_tests_with_a_read_only_workspace() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        let makefile = "test:\n\tgcc -o /tmp/t t.c && /tmp/t\n";
        env.file("Makefile", makefile);
        env.file("t.c", "#include <stdio.h>\nint main(void) { puts(\"1 passed\"); return 3; }\n");
        let before = env.tree_hash(".");
        let done = engine.exec(env, &["--mode", "readonly", "--timeout", "60s"], &["make", "test"]);
        done.assert_exit(2).assert_stderr_has("Error 3");
        assert!(done.stdout_text().contains("1 passed"));
        engine.run(env, &["--mode", "readonly"], "touch x").assert_exit(1);
        assert_eq!(env.tree_hash("."), before);
        let run = env.latest_record()["run"].as_str().unwrap().to_owned();
        engine.command(env, ["logs", &run]).assert_exit(0);
    });
}

fn send(signal: &str, pid: u32) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
}
