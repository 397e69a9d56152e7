//! Runtimes other than the engine's own, tried for real: one with the host's kernel, and one with a kernel of its own.

use cofferdam_testkit::TestEnv;
use cofferdam_testkit::docker::{Engine, PrivateEngine};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn crun_and_gvisor() {
    let private = PrivateEngine::with_runtimes();
    let engine = private.engine();
    let env = TestEnv::with_binary(BINARY).unprivileged();
    for runtime in ["crun", "runsc"] {
        holds(&engine, &env, runtime);
    }
    let kernel = |runtime| {
        engine
            .run(&env, &["--runtime", runtime], "uname -r")
            .assert_exit(0)
            .stdout_text()
            .into_owned()
    };
    assert_ne!(kernel("runsc"), kernel("crun"), "gVisor has a kernel of its own");
    // What has the host's kernel reaches the host's sockets, and so can hold a session.
    let start = |runtime| {
        engine.command(&env, ["session", "start", "--sandbox", "docker", "--runtime", runtime])
    };
    start("crun").assert_exit(0);
    let exec = ["session", "exec", "last", "--", "sh", "-c", "exit 9"];
    engine.command(&env, exec).assert_exit(9);
    engine.command(&env, ["session", "stop", "last"]).assert_exit(0);
    start("runsc").assert_exit(125).assert_stderr_has("cannot reach the session's socket");
    // Its kernel takes no filter of the engine's, so that none is promised.
    let profile = env.file("profile.json", r#"{"defaultAction":"SCMP_ACT_ALLOW"}"#);
    env.host_config(&format!("sandbox: {{ seccomp: {} }}", profile.display()));
    engine.run(&env, &["--runtime", "crun"], "true").assert_exit(0);
    let refused = engine.run(&env, &["--runtime", "runsc"], "true");
    refused.assert_exit(125).assert_stderr_has("takes no filter");
    env.host_config("{}");
    let unknown = engine.run(&env, &["--runtime", "no-such"], "true");
    unknown.assert_exit(125).assert_stderr_has("no runtime no-such");
}

/// What holds with any runtime, on any engine.
fn holds(engine: &Engine, env: &TestEnv, runtime: &str) {
    env.file("f", "old\n");
    let script = "cat f; echo new > f; test $(id -u) != 0 || echo root; touch /x; exit 7";
    let done = engine.run(env, &["--runtime", runtime], script);
    done.assert_exit(7).assert_stdout("old\n").assert_stderr_has("cannot touch '/x'");
    assert_eq!(env.latest_record()["effective"]["runtime"], runtime);
    assert_eq!(env.manifest("last").bytes("after", "f"), b"new\n");
    engine.run(env, &["--runtime", runtime, "--timeout", "1s"], "sleep 60").assert_exit(124);
    let bomb = "/usr/bin/python3 -c \"x = b'x' * (400 << 20)\"";
    let done = engine.run(env, &["--runtime", runtime, "--memory", "100m"], bomb);
    assert_ne!(done.code(), Some(0), "{runtime}: {}", done.stderr_text());
    assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
}

/// Podman has one for all containers, and heeds no wish for another; so one is refused that is not its own.
#[test]
#[cfg_attr(not(feature = "test-podman"), ignore = "needs Podman: cargo xtask test")]
fn crun_and_gvisor_on_podman() {
    let mut kernels = Vec::new();
    for (runtime, other) in [("crun", "runsc"), ("runsc", "crun")] {
        let private = PrivateEngine::podman_with(runtime);
        let engine = private.engine();
        let env = TestEnv::with_binary(BINARY).unprivileged();
        holds(&engine, &env, runtime);
        let done = engine.run(&env, &["--runtime", runtime], "uname -r");
        kernels.push(done.assert_exit(0).stdout_text().into_owned());
        let refused = engine.run(&env, &["--runtime", other], "true");
        refused.assert_exit(125).assert_stderr_has("takes no runtime for one container");
        let start = ["session", "start", "--sandbox", "podman"];
        let session = engine.command(&env, start);
        if runtime == "crun" {
            session.assert_exit(0);
            let exec = ["session", "exec", "last", "--", "sh", "-c", "exit 9"];
            engine.command(&env, exec).assert_exit(9);
            engine.command(&env, ["session", "stop", "last"]).assert_exit(0);
        } else {
            session.assert_exit(125).assert_stderr_has("cannot reach the session's socket");
        }
        assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
    }
    assert_ne!(kernels[0], kernels[1], "gVisor has a kernel of its own");
}
