//! A run in an image that the engine has: its own programs and nothing of the host's, by its id, read-only.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use cofferdam_testkit::docker::{Which, as_root_and_as_user};

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

/// `held` is the first process's name, and how many system call filters are on.
fn in_an_image(binary: &str, name: &str, held: &str) {
    as_root_and_as_user(binary, Which::Docker, |engine, env| {
        let tree = tempfile::tempdir().unwrap();
        let bin = tree.path().join("image/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::copy("/bin/busybox", bin.join("busybox")).unwrap();
        for name in ["sh", "cat", "echo", "id", "ls", "touch", "sed"] {
            symlink("busybox", bin.join(name)).unwrap();
        }
        fs::write(tree.path().join("image/made-for-this"), "from the image\n").unwrap();
        let archive = tree.path().join("image.tar");
        let packed = Command::new("tar")
            .arg("-C")
            .arg(tree.path().join("image"))
            .arg("-cf")
            .arg(&archive)
            .arg(".")
            .status();
        assert!(packed.unwrap().success());
        let id = engine.client(&["import", archive.to_str().unwrap(), name]);
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
