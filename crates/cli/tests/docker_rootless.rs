//! Docker without root, as an ordinary user has it: it is sent a copy, and no id of its range reaches a file of the host.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cofferdam_testkit::docker::{Engine, Rootless};
use cofferdam_testkit::{Finished, TestEnv, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const IMAGE: &str = "cofferdam-test-rootless:1";

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs Docker: cargo xtask test")]
fn a_docker_without_root_is_sent_a_copy() {
    let rootless = Rootless::docker();
    let engine = rootless.engine();
    engine.import_busybox(IMAGE, &PROGRAMS, &[]);
    let env = TestEnv::with_binary(BINARY).unprivileged();
    refused(&engine, &env);
    changed(&engine, &env);
    hostile_changes(&engine, &env);
    no_way_out(&engine, &env);
    killed(&engine, &env);
    assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
}

const PROGRAMS: [&str; 22] = [
    "sh", "cat", "id", "rm", "mkdir", "touch", "grep", "ls", "sleep", "chmod", "ln", "mkfifo",
    "mknod", "mount", "umount", "unshare", "chroot", "nc", "cp", "head", "hostname", "env",
];

fn run(engine: &Engine, env: &TestEnv, script: &str) -> Finished {
    // Not every host gives its users control groups.
    engine.run(env, &["--image", IMAGE, "--relax", "limits"], script)
}

fn refused(engine: &Engine, env: &TestEnv) {
    let says = |flags: &[&str], words: &str| {
        engine.run(env, flags, "true").assert_exit(125).assert_stderr_has(words);
    };
    says(&["--relax", "limits"], "does not have this host's programs");
    let direct = ["--image", IMAGE, "--relax", "limits", "--mode", "direct"];
    says(&direct, "does not see this host's files");
    if !Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        says(&["--image", IMAGE], "cannot limit memory");
    }
}

fn changed(engine: &Engine, env: &TestEnv) {
    env.file("f", "old\n");
    env.file("gone/x", "x\n");
    env.file(".env", "KEY=secret\n");
    let before = env.tree_hash("");
    let script = "cat f; test ! -e .env || echo seen; test $(id -u) != 0 || echo root; echo new > f; \
                  rm -r gone; mkdir made; echo m > made/m; chmod 700 made; touch /x /bin/x || echo kept; \
                  grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; ls /sys/class/net; exit 3";
    run(engine, env, script).assert_exit(3).assert_stdout(
        "old\nkept\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nlo\n",
    );
    assert_eq!(env.tree_hash(""), before, "nothing reaches the host before it is applied");
    assert_eq!(env.latest_record()["cleanup"]["receipt"], "terminated");
    let owner = fs::metadata(env.workspace()).unwrap().uid();
    of_one_owner(env.top(), owner);
    engine.command(env, ["apply"]).assert_exit(0);
    let text = |name: &str| fs::read_to_string(env.workspace().join(name)).ok();
    assert_eq!((text("f").as_deref(), text("gone/x")), (Some("new\n"), None));
    assert_eq!(text("made/m").as_deref(), Some("m\n"));
    of_one_owner(env.top(), owner);
    engine
        .run(env, &["--image", IMAGE, "--relax", "limits", "--timeout", "1s"], "sleep 60")
        .assert_exit(124);
}

/// What leads out of the workspace, is no file, has more rights than files may have, or runs later: all of it is on record,
/// and none of it comes home unless somebody says so.
fn hostile_changes(engine: &Engine, env: &TestEnv) {
    env.file("swap/x", "x\n");
    env.file(".git/config", "[core]\n\tbare = false\n");
    let before = env.tree_hash("");
    let script = "set -e; ln -s /etc out; mkfifo pipe; echo s > suid; chmod 6755 suid; rm -r swap; echo file > swap; \
                  echo x > ./-rf; mkdir .git/hooks .github .github/workflows; echo evil > .git/hooks/post-checkout; \
                  chmod 755 .git/hooks/post-checkout; echo 'fsmonitor = touch /tmp/owned' >> .git/config; \
                  echo on > .github/workflows/x.yml; ! mknod dev c 1 3; echo through > out/x 2> /dev/null || echo kept";
    run(engine, env, script).assert_exit(0).assert_stdout("kept\n");
    assert_eq!(env.tree_hash(""), before);
    let manifest = env.manifest("last");
    assert_eq!(manifest.entry("out")["after"]["target"], "/etc");
    // Pipes are never applied, and from an engine elsewhere not even brought.
    assert!(!manifest.list().iter().any(|line| line.ends_with("pipe")), "{:?}", manifest.list());
    assert_eq!(manifest.entry("suid")["after"]["mode"], 0o755);
    assert_eq!(manifest.entry("swap")["change"], "retyped");
    // All or nothing.
    assert_ne!(engine.command(env, ["apply"]).code(), Some(0));
    assert_eq!(env.tree_hash(""), before);
    // Its twin: what harms nobody comes home.
    engine.command(env, ["apply", "--", "swap", "-rf"]).assert_exit(0);
    let text = |name: &str| fs::read_to_string(env.workspace().join(name)).ok();
    assert_eq!((text("swap").as_deref(), text("-rf").as_deref()), (Some("file\n"), Some("x\n")));
    let hook = env.workspace().join(".git/hooks/post-checkout");
    assert!(!hook.exists() && !env.workspace().join("out").exists());
    of_one_owner(env.top(), fs::metadata(env.workspace()).unwrap().uid());
}

/// The first process is the engine's own there, so that what stops these is the engine's filter and the kernel.
fn no_way_out(engine: &Engine, env: &TestEnv) {
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    outside.set_nonblocking(true).unwrap();
    let port = outside.local_addr().unwrap().port();
    let marked = env.file("../outside", "SECRET\n");
    let script = format!(
        "no() {{ \"$@\" > /dev/null 2>&1 && echo \"worked: $*\"; true; }}
         no mount -t tmpfs none /tmp; no umount /proc; no unshare -r true; no chroot /tmp /bin/true; no hostname x
         no mknod /tmp/null c 1 3; no cat {}; no cat /proc/1/root{}; no cat /proc/kcore; no cat /etc/shadow
         no sh -c 'echo x > /proc/sys/kernel/hostname'; no sh -c 'echo b > /proc/sysrq-trigger'
         no nc -w 1 127.0.0.1 {port}; no nc -w 1 192.0.2.1 80; no ls /var/run/docker.sock /run/docker.sock
         mkdir /tmp/p; cp /bin/busybox /tmp/p/id; chmod 4755 /tmp/p/id; /tmp/p/id -u | grep -x \"$(id -u)\" > /dev/null || echo gained
         grep -x 'Seccomp:\t2' /proc/self/status; env | grep -i -E 'docker|token|xdg|secret'
         head -c 700000000 /dev/zero > /tmp/big 2> /dev/null && echo 'no bound'; rm -f /tmp/big
         echo t > /tmp/t && cat /tmp/t; echo end",
        marked.display(),
        marked.display(),
    );
    let mut command = engine.cofferdam(env);
    command.env("API_TOKEN", "of the host").args(["run", "--quiet", "--sandbox", "docker"]);
    command.args(["--image", IMAGE, "--relax", "limits", "--", "sh", "-c", &script]);
    env.finish(command).assert_exit(0).assert_stdout("Seccomp:\t2\nt\nend\n");
    let reached = outside.accept().map(|_| "reached").map_err(|error| error.kind());
    assert_eq!(reached.unwrap_err(), ErrorKind::WouldBlock);
}

/// Everything beneath belongs to this one.
fn of_one_owner(path: &Path, owner: u32) {
    let meta = fs::symlink_metadata(path).unwrap();
    assert_eq!(meta.uid(), owner, "{}", path.display());
    if meta.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| of_one_owner(&entry.unwrap().path(), owner));
    }
}

/// Whoever cleans up brings it first.
fn killed(engine: &Engine, env: &TestEnv) {
    let flags = ["--image", IMAGE, "--relax", "limits"];
    let mut child = engine.spawn(env, &flags, "echo precious > precious; sleep 600");
    let running = || engine.client(&["ps", "-q", "--filter", "label=cofferdam.run"]);
    assert!(wait_until(Duration::from_secs(60), || !running().is_empty()));
    let written = || {
        let mut look = Command::new("docker");
        look.args(["-H", &engine.address(), "exec", &running(), "cat", "/workspace/precious"]);
        look.output().unwrap().stdout == b"precious\n"
    };
    assert!(wait_until(Duration::from_secs(60), written));
    child.kill().unwrap();
    child.wait().unwrap();
    engine.command(env, ["gc"]).assert_exit(0);
    assert_eq!(env.manifest("last").bytes("after", "precious"), b"precious\n");
}
