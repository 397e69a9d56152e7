//! The claims about Docker's containers, in short, on Podman: one implementation, another engine.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use cofferdam_testkit::docker::{Which, as_root_and_as_user};
use cofferdam_testkit::wait_until;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
#[cfg_attr(not(feature = "test-podman"), ignore = "needs a Podman service: cargo xtask test")]
fn ends_and_streams() {
    as_root_and_as_user(BINARY, Which::Podman, |engine, env| {
        engine.run(env, &[], "exit 7").assert_exit(7);
        engine.run(env, &[], "kill -SEGV $$").assert_exit(139);
        engine.exec(env, &[], &["no-such-program"]).assert_exit(127);
        let done = engine.run(env, &[], "echo out; echo err >&2");
        done.assert_exit(0).assert_stdout("out\n").assert_stderr_has("err");
        engine.run(env, &["--timeout", "1s"], "sleep 60").assert_exit(124);
        let mut command = engine.cofferdam(env);
        command.args(["run", "--quiet", "--sandbox", "podman", "--", "tr", "a-z", "A-Z"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"shout").unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(output.stdout, b"SHOUT", "{said}");
    });
}

#[test]
#[cfg_attr(not(feature = "test-podman"), ignore = "needs a Podman service: cargo xtask test")]
fn walls() {
    as_root_and_as_user(BINARY, Which::Podman, |engine, env| {
        env.file("f", "old");
        env.file(".env", "SECRET=1");
        let before = env.tree_hash(".");
        let script = "id -u; cat f .env; echo new > f; touch /x; touch /tmp/y ~/z; \
                      grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; \
                      cut -d: -f1 /proc/net/dev | tail -n +3";
        let done = engine.run(env, &[], script);
        let text = done.stdout_text();
        assert!(!text.is_empty(), "{}", done.stderr_text());
        assert!(!text.starts_with("0\n") && !text.contains("SECRET"), "{text}");
        for line in ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"] {
            assert!(text.contains(line), "{text}");
        }
        assert!(text.contains("Seccomp:\t2") && text.trim_end().ends_with("lo"), "{text}");
        let said = done.stderr_text();
        assert!(said.contains("'/x'") && !said.contains("'/tmp/y'"), "{said}");
        assert_eq!(env.tree_hash("."), before);
        assert_eq!(env.manifest("last").bytes("after", "f"), b"new\n");
        let hog = "/usr/bin/python3 -c 'x = \"a\" * (200 << 20)'";
        engine.run(env, &["--memory", "64m"], hog).assert_exit(137);
        engine.run(env, &["--memory", "512m"], hog).assert_exit(0);
        engine.run(env, &["--mode", "readonly"], "touch x").assert_exit(1);
    });
}

#[test]
#[cfg_attr(not(feature = "test-podman"), ignore = "needs a Podman service: cargo xtask test")]
fn nothing_is_left_after_a_kill() {
    as_root_and_as_user(BINARY, Which::Podman, |engine, env| {
        for step in 0..8_u64 {
            let mut child = engine.spawn(env, &[], "sleep 100");
            std::thread::sleep(Duration::from_millis(step * 120));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let mut said = String::new();
        let clean = wait_until(Duration::from_secs(60), || {
            let done = engine.command(env, ["gc"]);
            said = format!("{}{}", done.stdout_text(), done.stderr_text());
            done.code() == Some(0) && engine.left(&env.seen_runs()).is_empty()
        });
        assert!(clean, "{said}\n{:?}", engine.left(&env.seen_runs()));
    });
}
