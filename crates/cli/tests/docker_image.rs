//! A run in an image that the engine has: its own programs and nothing of the host's, by its id, read-only.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use cofferdam_testkit::docker::{Which, as_root_and_as_user};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn an_image_that_is_there() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        let tree = tempfile::tempdir().unwrap();
        let bin = tree.path().join("image/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::copy("/bin/busybox", bin.join("busybox")).unwrap();
        for name in ["sh", "cat", "echo", "id", "ls", "touch"] {
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
        let name = "cofferdam-test-image:1";
        let id = engine.client(&["import", archive.to_str().unwrap(), name]);
        env.file("f", "old\n");
        let script = "cat /made-for-this f; test $(id -u) != 0 || echo root; test ! -e /usr || ls /usr; \
                      touch /x || echo kept; echo new > f";
        let done = engine.run(env, &["--image", name], script);
        done.assert_exit(0).assert_stdout("from the image\nold\nkept\n");
        assert_eq!(env.latest_record()["effective"]["image"], id);
        assert_eq!(env.manifest("last").bytes("after", "f"), b"new\n");
        engine.client(&["rmi", name]);
        let gone = engine.run(env, &["--image", name], "true");
        gone.assert_exit(125).assert_stderr_has("it has no image");
    });
}
