//! A run in an image that the engine has: its own programs and nothing of the host's, by its id, read-only.

use cofferdam_testkit::TestEnv;
use cofferdam_testkit::docker::{Engine, Which, as_root_and_as_user};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// The program linked without shared libraries, which `cargo xtask test` builds.
fn static_binary() -> String {
    std::env::var("TEST_STATIC_BINARY")
        .expect("TEST_STATIC_BINARY names a program: start the tests with `cargo xtask test`")
}

/// The first process is the engine's, or ours where it needs nothing of the image's.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn an_image_that_is_there() {
    in_an_image(BINARY, "cofferdam-test-image:1", "docker-init\n1\n");
    in_an_image(&static_binary(), "cofferdam-test-image:2", "first\n2\n");
}

/// An image of one static program, with a variable of its own; its id.
fn made(engine: &Engine, name: &str) -> String {
    let programs = ["sh", "cat", "echo", "id", "ls", "touch", "sed", "/opt/own/printf"];
    engine.import_busybox(name, &programs, &["ENV OWN=image", "ENV PATH=/opt/own:/bin"])
}

/// `held` is the first process's name, and how many system call filters are on.
fn in_an_image(binary: &str, name: &str, held: &str) {
    as_root_and_as_user(binary, Which::Docker, |engine, env| {
        let id = made(engine, name);
        env.file("f", "old\n");
        let script = "cat /made-for-this f; test $(id -u) != 0 || echo root; test ! -e /usr || ls /usr; \
                      touch /x || echo kept; echo new > f";
        let done = engine.run(env, &["--image", name], script);
        done.assert_exit(0).assert_stdout("from the image\nold\nkept\n");
        assert_eq!(env.latest_record()["effective"]["image"], id);
        assert_eq!(env.manifest("last").bytes("after", "f"), b"new\n");
        let script =
            "cat /proc/1/comm; sed -n 's/Seccomp_filters:.//p' /proc/self/status; kill -TERM $$";
        let done = engine.run(env, &["--image", name], script);
        done.assert_exit(143).assert_stdout(held);
        engine.exec(env, &["--image", name], &["no-such-program"]).assert_exit(127);
        engine.client(&["rmi", name]);
        let gone = engine.run(env, &["--image", name], "true");
        gone.assert_exit(125).assert_stderr_has("it has no image");
    });
}

/// Our own first process takes the orders, so that it must run in there.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_session_in_an_image() {
    let name = "cofferdam-test-image:3";
    as_root_and_as_user(&static_binary(), Which::Docker, |engine, env| {
        made(engine, name);
        let start = ["session", "start", "--sandbox", "docker", "--image", name, "--env", "A=b"];
        engine.command(env, start).assert_exit(0);
        let exec = |script: &str| {
            let words = ["session", "exec", "last", "--", "sh", "-c", script];
            engine.command(env, words)
        };
        let script = "cat /made-for-this; printf '%s %s\\n' \"$OWN\" \"$A\"; echo new > f";
        exec(script).assert_exit(0).assert_stdout("from the image\nimage b\n");
        exec("cat f; test ! -e /usr").assert_exit(0).assert_stdout("new\n");
        // A name is looked for where the image says.
        engine
            .command(env, ["session", "exec", "last", "--", "printf", "found"])
            .assert_exit(0)
            .assert_stdout("found");
        engine.command(env, ["session", "stop", "last"]).assert_exit(0);
        assert_eq!(env.manifest("last").bytes("after", "f"), b"new\n");
        engine.client(&["rmi", name]);
    });
    let engine = Engine::shared(Which::Docker);
    let env = TestEnv::with_binary(BINARY);
    made(&engine, name);
    let start = ["session", "start", "--sandbox", "docker", "--image", name];
    let refused = engine.command(&env, start);
    refused.assert_exit(125).assert_stderr_has("needs shared libraries");
    engine.client(&["rmi", name]);
}
