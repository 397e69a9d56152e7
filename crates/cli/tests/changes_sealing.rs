//! Sealing loses nothing: not to a `kill -9` at any moment, not to a host tree that moved away, and not
//! to somebody who edits the same files meanwhile.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use cofferdam_testkit::{TestEnv, claim, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts a script and waits until the run's directory has a file of that name.
fn until(env: &TestEnv, script: &str, name: &str) -> Child {
    let before = env.runs().len();
    let child = claim::spawn(env, &[], script);
    let is_there = || env.runs().len() > before && env.run_dir("last").join(name).exists();
    let came = wait_until(PATIENCE, is_there);
    assert!(came, "{name} did not appear");
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_while_the_program_runs() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("gone", "g");
        let child = until(env, "echo kept > made; rm gone; mkdir ready; sleep 100", "upper/ready");
        kill(child);
        assert!(!env.run_dir("last").join("manifest").exists());
        let cleaned = env.run(["gc"]);
        cleaned.assert_exit(0).assert_stdout_has(": sealed what it changed");
        assert!(!cleaned.stdout_text().contains("nothing"), "{}", cleaned.stdout_text());
        let manifest = env.manifest("last");
        assert_eq!(manifest.list(), ["deleted gone", "created made", "created ready"]);
        assert_eq!(manifest.bytes("after", "made"), b"kept\n");
        assert_eq!(env.latest_record()["changes"]["created"], 2);
        assert!(!env.run_dir("last").join("upper").exists());
        assert!(env.events().iter().any(|e| e["type"] == "changes.sealed"));
        env.run(["audit", "verify"]).assert_exit(0);
        env.run(["gc"]).assert_exit(0).assert_stdout("nothing to clean up\n");
    });
}

#[test]
fn killed_while_it_is_sealed() {
    let script = "mkdir many; cd many; seq 800 | sed 's/.*/printf & > f&/' | sh -e; rm ../old";
    for env in [TestEnv::with_binary(BINARY), TestEnv::with_binary(BINARY).unprivileged()] {
        env.file("old", "o");
        let (mut unsealed, mut uncleared) = (0, 0);
        for step in 0..6_u64 {
            // Half of them while entries are written, half of them while the rest is cleared away.
            let (name, micros) = if step % 2 == 0 {
                ("manifest.tmp", step * 4000)
            } else {
                ("manifest", (step - 1) * 500)
            };
            let child = until(&env, script, name);
            std::thread::sleep(Duration::from_micros(micros));
            kill(child);
            let dir = env.run_dir("last");
            unsealed += u32::from(!dir.join("manifest").exists());
            uncleared += u32::from(dir.join("manifest").exists() && dir.join("upper").exists());
            env.run(["gc"]).assert_exit(0);
            let manifest = env.manifest("last");
            assert_eq!(manifest.entries.len(), 802);
            assert_eq!(manifest.bytes("after", "many/f777"), b"777");
            assert_eq!(manifest.bytes("before", "old"), b"o");
            assert!(!dir.join("upper").exists() && !dir.join("work").exists());
            let links = manifest.entries.iter().filter(|e| !e["after"]["link"].is_null());
            assert_eq!(links.count(), 0, "an object is no second name of a file");
            let sealed = env.latest_record()["changes"]["manifest"].clone();
            let bytes = fs::read(dir.join("manifest")).unwrap();
            assert_eq!(sealed, blake3::hash(&bytes).to_hex().as_str());
        }
        assert!(unsealed > 0 && uncleared > 0, "{unsealed} unsealed, {uncleared} uncleared");
        env.run(["audit", "verify"]).assert_exit(0);
    }
}

/// Asked to end while it hashes, and while it clears away, it does at once; the next clean-up does the rest.
#[test]
fn canceled_while_it_is_sealed() {
    let many = "mkdir many; cd many; seq 60000 | xargs touch";
    for (script, name) in [("truncate -s 12G huge", "manifest.tmp"), (many, "manifest")] {
        let env = TestEnv::with_binary(BINARY);
        env.file("old", "o");
        let mut child = until(&env, &format!("set -e; echo new > old; {script}"), name);
        let began = Instant::now();
        let mut kill = env.program("kill");
        kill.args(["-TERM", &child.id().to_string()]);
        env.finish(kill).assert_exit(0);
        let status = child.wait().unwrap();
        let took = began.elapsed();
        assert!(took < Duration::from_secs(6), "{name}: {took:?}");
        assert_eq!(status.code(), Some(143), "{name}");
        let record = env.latest_record();
        assert_eq!(record["outcome"]["exit_code"], 0, "what became of the command is known");
        assert_eq!(record["unsealed"]["signal"], 15, "{record}");
        let failed = env.events().into_iter().find(|e| e["type"] == "changes.seal_failed");
        assert!(failed.unwrap()["reason"].as_str().unwrap().contains("canceled"));
        assert!(env.run_dir("last").join("upper").exists(), "nothing is lost");
        env.run(["gc"]).assert_exit(0);
        let record = env.latest_record();
        assert!(record["unsealed"].is_null() && record["changes"]["modified"] == 1, "{record}");
        assert_eq!(env.manifest("last").bytes("after", "old"), b"new\n");
        assert!(!env.run_dir("last").join("upper").exists());
        env.run(["audit", "verify"]).assert_exit(0);
    }
}

/// What cannot be named is counted and said; the rest is sealed.
#[test]
fn a_path_that_is_too_long_is_left_out_and_the_rest_is_sealed() {
    claim::as_root_and_as_user(BINARY, |env| {
        let script = "echo x > fine; perl -e 'my $n = \"n\" x 200; for (1..400) { mkdir $n; chdir $n or die } \
                      open F, q(>), q(end) or die'";
        let mut command = env.cofferdam();
        command.args(["run", "--sandbox", "native", "--relax", "limits", "--", "sh", "-c", script]);
        let done = env.finish(command);
        done.assert_exit(0).assert_stderr_has("1 with paths of more than 64 KiB are lost");
        assert_eq!(env.latest_record()["changes"]["left_out"], 1);
        assert!(env.latest_record()["unsealed"].is_null());
        let list = env.manifest("last").list();
        assert_eq!((list.len(), list[0].as_str()), (1 + 326, "created fine"));
        env.run(["apply", "fine"]).assert_exit(0);
        env.run(["audit", "verify"]).assert_exit(0);
        env.run(["gc"]).assert_exit(0).assert_stdout("nothing to clean up\n");
    });
}

#[test]
fn a_host_tree_that_moved_away() {
    let env = TestEnv::with_binary(BINARY);
    env.file("a", "a");
    let (here, there) = (env.workspace(), env.top().join("elsewhere"));
    let mut command = env.cofferdam();
    let script = "echo b > a; mkdir ready; sleep 1; exit 7";
    command.args(claim::words(&env)).args(["--", "sh", "-c", script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let is_ready = || !env.runs().is_empty() && env.run_dir("last").join("upper/ready").exists();
    assert!(wait_until(PATIENCE, is_ready));
    fs::rename(&here, &there).unwrap();
    fs::create_dir(&here).unwrap();
    // The outcome is the command's own.
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("could not be sealed"), "{said}");
    let record = env.latest_record();
    assert!(record["changes"].is_null());
    assert!(env.run_dir("last").join("upper/a").exists(), "what was written is kept");
    let failed: Vec<_> =
        env.events().into_iter().filter(|e| e["type"] == "changes.seal_failed").collect();
    assert!(failed[0]["reason"].as_str().unwrap().contains("not the directory"), "{failed:?}");
    env.run(["gc"]).assert_exit(1);
    fs::remove_dir(&here).unwrap();
    fs::rename(&there, &here).unwrap();
    env.run(["gc"]).assert_exit(0);
    assert_eq!(env.manifest("last").list(), ["modified a", "created ready"]);
    assert_eq!(env.latest_record()["outcome"]["exit_code"], 7);
    let failed = env.events().into_iter().filter(|e| e["type"] == "changes.seal_failed").count();
    assert_eq!(failed, 1, "it is said once");
    env.run(["audit", "verify"]).assert_exit(0);
}

#[test]
fn both_sides_edit_the_same_file() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("text", "base\n");
        env.file("dir/deep", "deep\n");
        env.file("deleted", "d\n");
        env.symlink("one", "link");
        let script =
            "echo agent >> text; echo agent >> dir/deep; rm deleted; ln -sf two link; sleep 1";
        let mut child = until(env, script, "bases");
        let bases = env.run_dir("last").join("bases");
        let all = || fs::read_to_string(&bases).unwrap().lines().count() == 4;
        assert!(wait_until(Duration::from_secs(1), all), "not all bases were saved");
        env.file("text", "host\nbase\n");
        env.file("dir/deep", "host\n");
        fs::remove_file(env.workspace().join("deleted")).unwrap();
        fs::remove_file(env.workspace().join("link")).unwrap();
        env.symlink("three", "link");
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let manifest = env.manifest("last");
        assert_eq!(
            manifest.list(),
            ["deleted deleted", "modified dir/deep", "modified link", "modified text"]
        );
        assert_eq!(manifest.bytes("before", "text"), b"base\n");
        assert_eq!(manifest.bytes("after", "text"), b"base\nagent\n");
        assert_eq!(manifest.bytes("before", "dir/deep"), b"deep\n");
        assert_eq!(manifest.bytes("before", "deleted"), b"d\n");
        assert_eq!(manifest.entry("link")["before"]["target"], "one");
    });
}

#[test]
fn what_the_host_changed_first_has_no_base() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("text", "base\n");
        env.file("dir/x", "x");
        let script = "mkdir ready; sleep 0.5; echo agent > text; rm -r dir";
        let mut child = until(env, script, "upper/ready");
        env.file("text", "host\n");
        env.file("dir/new", "made by the host");
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let manifest = env.manifest("last");
        assert_eq!(manifest.entry("text")["before"]["content"], "unknown");
        assert_eq!(manifest.bytes("after", "text"), b"agent\n");
        assert_eq!(manifest.bytes("before", "dir/x"), b"x");
        assert_eq!(manifest.entry("dir/new")["before"]["content"], "unknown");
    });
}

/// The disk of the state directory is full when the command ends: its exit code is not lost, and what can be
/// recorded is, once there is room.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn a_full_disk_at_the_end() {
    let env = TestEnv::with_binary(BINARY);
    let state = env.state_dir().parent().unwrap().to_owned();
    let mount = |args: &[&str]| {
        let done = std::process::Command::new("mount").args(args).arg(&state).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    mount(&["-t", "tmpfs", "-o", "size=6m,mode=755", "none"]);
    let _mounted = Mounted(state.clone());
    // Nobody stops it.
    env.host_config("sandbox: { disk_reserve: 0 }");
    let script = "echo kept > kept; head -c 9000000 /dev/zero > fill; echo said; exit 7";
    let done = claim::run(&env, &[], script);
    done.assert_exit(7).assert_stdout("said\n").assert_stderr_has("could not be written down");
    mount(&["-o", "remount,size=64m"]);
    env.run(["gc"]).assert_exit(0);
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "exited", "{record}");
    assert_eq!(record["outcome"]["exit_code"], 7, "{record}");
    assert_eq!(env.manifest("last").bytes("after", "kept"), b"kept\n");
    assert!(fs::symlink_metadata(env.run_dir("last").join("outcome")).is_err());
    env.run(["audit", "verify"]).assert_exit(0);
    env.run(["apply", "kept"]).assert_exit(0);
}

struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let done = std::process::Command::new("umount").arg(&self.0).status().unwrap();
        assert!(done.success() || std::thread::panicking());
    }
}

/// The program may take every permission from its workspace; what it did there is seen all the same.
#[test]
fn a_workspace_that_the_program_closed() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("there", "t");
        for mode in ["0", "400", "200"] {
            claim::run(env, &[], &format!("echo kept > made; chmod {mode} .")).assert_exit(0);
            let manifest = env.manifest("last");
            assert!(manifest.list().contains(&"created made".to_owned()), "{:?}", manifest.list());
            assert_eq!(manifest.bytes("after", "made"), b"kept\n");
            assert!(!env.run_dir("last").join("upper").exists());
            env.run(["gc"]).assert_exit(0);
            env.run(["gc"]).assert_exit(0).assert_stdout("nothing to clean up\n");
            env.run(["discard"]).assert_exit(0);
        }
    });
}
