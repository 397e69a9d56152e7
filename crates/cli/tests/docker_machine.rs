//! An engine that does not see this host's files, as Docker Desktop's: the workspace is sent there, and what became of it
//! comes back and is sealed like any other change.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use cofferdam_testkit::docker::{Engine, PrivateEngine};
use cofferdam_testkit::{TestEnv, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const IMAGE: &str = "cofferdam-test-machine:1";

/// An image of one static program.
fn import(engine: &Engine) {
    let tree = tempfile::tempdir().unwrap();
    let bin = tree.path().join("image/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::copy("/bin/busybox", bin.join("busybox")).unwrap();
    let names = ["sh", "cat", "rm", "mkdir", "ln", "chmod", "sleep", "id", "mkfifo", "mv", "touch"];
    for name in names {
        symlink("busybox", bin.join(name)).unwrap();
    }
    let archive = tree.path().join("image.tar");
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(tree.path().join("image")).arg("-cf").arg(&archive).arg(".");
    assert!(tar.status().unwrap().success());
    engine.client(&["import", archive.to_str().unwrap(), IMAGE]);
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn work_is_sent_and_comes_back() {
    for env in [TestEnv::with_binary(BINARY), TestEnv::with_binary(BINARY).unprivileged()] {
        let private = PrivateEngine::in_a_machine(env.top());
        let engine = private.engine();
        import(&engine);
        refused(&engine, &env);
        changed(&engine, &env);
        killed(&engine, &env);
        lost(&engine, &env);
        let volumes = engine.client(&["volume", "ls", "-q", "--filter", "label=cofferdam.run"]);
        assert_eq!((engine.client(&["ps", "-aq"]), volumes), (String::new(), String::new()));
    }
}

fn run(engine: &Engine, env: &TestEnv, script: &str) -> cofferdam_testkit::Finished {
    engine.run(env, &["--image", IMAGE], script)
}

fn refused(engine: &Engine, env: &TestEnv) {
    let says = |flags: &[&str], words: &str| {
        engine.run(env, flags, "true").assert_exit(125).assert_stderr_has(words);
    };
    says(&[], "does not have this host's programs");
    for mode in ["direct", "readonly"] {
        says(&["--image", IMAGE, "--mode", mode], "does not see this host's files");
    }
    let start = ["session", "start", "--sandbox", "docker", "--image", IMAGE];
    engine.command(env, start).assert_exit(125).assert_stderr_has("socket cannot be reached");
}

fn changed(engine: &Engine, env: &TestEnv) {
    for (name, text) in [("same", "s\n"), ("f", "old\n"), ("gone", "g\n"), ("d/x", "x\n")] {
        env.file(name, text);
    }
    env.file(".env", "KEY=secret\n");
    env.file(format!("long/{}", "n".repeat(180)), "long\n");
    env.symlink("f", "link");
    let before = env.tree_hash("");
    let script = "set -e; cat f link; test ! -e .env; echo forged > .env; echo new > f; rm gone; rm -r d; \
                  echo file > d; mkdir made; echo m > made/m; chmod 755 made/m; ln made/m again; \
                  ln -s /etc/passwd out; mkfifo pipe; rm link; mkdir link; echo l > link/l; \
                  test $(id -u) != 0; cat long/n*";
    run(engine, env, script).assert_exit(0).assert_stdout("old\nold\nlong\n");
    assert_eq!(env.tree_hash(""), before, "nothing reaches the host before it is applied");
    let record = env.latest_record();
    assert_eq!(record["cleanup"]["receipt"], "terminated", "{}", record["cleanup"]);
    let listed = engine.command(env, ["diff", "--name-only"]);
    let names: Vec<String> = listed.stdout_text().lines().map(str::to_owned).collect();
    let expected = ["again", "d", "f", "gone", "link", "link/l", "made", "made/m", "out"];
    for name in expected {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|name| name == ".env" || name == "same" || name.starts_with("long")));
    let apply = ["apply", "f", "gone", "made", "made/m", "--allow-class", "executable"];
    engine.command(env, apply).assert_exit(0);
    let text = |name: &str| fs::read_to_string(env.workspace().join(name)).ok();
    assert_eq!((text("f").as_deref(), text("gone")), (Some("new\n"), None));
    assert_eq!(
        (text("made/m").as_deref(), text(".env").as_deref()),
        (Some("m\n"), Some("KEY=secret\n"))
    );
    run(engine, env, "exit 7").assert_exit(7);
    engine.run(env, &["--image", IMAGE, "--timeout", "1s"], "sleep 60").assert_exit(124);
}

/// Whoever cleans up brings it first.
fn killed(engine: &Engine, env: &TestEnv) {
    let script = "echo precious > precious; touch /tmp/ready; sleep 600";
    let mut child = engine.spawn(env, &["--image", IMAGE], script);
    let started = || {
        let name = engine.client(&["ps", "-q", "--filter", "label=cofferdam.run"]);
        !name.is_empty() && {
            let mut look = Command::new("docker");
            look.args(["-H", &engine.address(), "exec", &name, "cat", "/tmp/ready"]);
            look.output().unwrap().status.success()
        }
    };
    assert!(wait_until(Duration::from_secs(30), started));
    child.kill().unwrap();
    child.wait().unwrap();
    engine.command(env, ["gc"]).assert_exit(0);
    assert_eq!(env.manifest("last").bytes("after", "precious"), b"precious\n");
}

/// What somebody removed cannot come back, and that is said.
fn lost(engine: &Engine, env: &TestEnv) {
    let mut child = engine.spawn(env, &["--image", IMAGE], "sleep 600");
    let running = || engine.client(&["ps", "-q", "--filter", "label=cofferdam.run"]);
    assert!(wait_until(Duration::from_secs(30), || !running().is_empty()));
    child.kill().unwrap();
    child.wait().unwrap();
    engine.client(&["rm", "-f", &running()]);
    engine.command(env, ["gc"]);
    let unsealed = env.latest_record()["unsealed"].to_string();
    assert!(unsealed.contains("has removed what the run changed"), "{unsealed}");
}
