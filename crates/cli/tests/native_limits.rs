//! Limits bite, are classified, and nothing is left. These run as root: an ordinary user has a control
//! group of their own only where the host delegates one.

use std::time::{Duration, Instant};

use cofferdam_testkit::{Finished, SmallDisk, TestEnv};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

fn run(env: &TestEnv, flags: &[&str], script: &str) -> Finished {
    let head = ["run", "--quiet", "--sandbox", env.backend().name()];
    env.run(head.iter().chain(flags).chain(&["--", "sh", "-c", script]))
}

#[test]
fn memory_is_bounded_and_running_out_is_called_that() {
    let env = TestEnv::with_binary(BINARY);
    let hog = "python3 -c 'x = bytearray(400 << 20); print(len(x))'";
    run(&env, &["--memory", "64m"], hog).assert_exit(137);
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "oom", "{record:#}");
    assert!(env.events().iter().any(|e| e["type"] == "sandbox.oom"));
    run(&env, &["--memory", "1g"], hog).assert_exit(0);
}

#[test]
fn memory_files_count_too() {
    let env = TestEnv::with_binary(BINARY);
    let fill = "head -c 300M /dev/zero > /dev/shm/x; echo $?";
    let done = run(&env, &["--memory", "64m"], fill);
    assert!(done.code() == Some(137) || !done.stdout_text().ends_with("0\n"), "{done:?}");
    // A sized /tmp says no before memory does.
    env.host_config("sandbox: { tmpfs: { /tmp: 8m } }");
    let done = run(&env, &[], "head -c 64M /dev/zero > /tmp/x 2>/dev/null; stat -c %s /tmp/x");
    done.assert_exit(0).assert_stdout("8388608\n");
}

#[test]
fn a_fork_bomb_is_contained() {
    let env = TestEnv::with_binary(BINARY);
    let begin = Instant::now();
    let bomb = "f() { f | f & }; f 2>/dev/null; sleep 3; echo still here";
    run(&env, &["--pids", "64", "--timeout", "20s"], bomb);
    assert!(begin.elapsed() < Duration::from_secs(25));
    assert_eq!(env.latest_record()["cleanup"]["receipt"], "terminated");
    // A limit that is not reached does not bite.
    run(&env, &["--pids", "64"], "for i in 1 2 3 4 5; do sleep 0.1 & done; wait; echo fine")
        .assert_exit(0)
        .assert_stdout("fine\n");
}

#[test]
fn processes_that_were_not_started_are_counted() {
    let env = TestEnv::with_binary(BINARY);
    // It copes with that: it ended as it ended, and what it was refused stands beside it.
    let many = "python3 -c 'import os, time\nn = 0\nfor _ in range(40):\n try:\n  \
                if os.fork() == 0: time.sleep(1); os._exit(0)\n except OSError: n += 1\nprint(n)'";
    let done = run(&env, &["--pids", "16"], many);
    done.assert_exit(0).assert_stderr_has("not started: there ");
    done.assert_stderr_has("there may be 16 at a time (--pids)");
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "exited", "{record:#}");
    let refused: u64 = done.stdout_text().trim().parse().expect("a number");
    assert!(refused > 0);
    assert_eq!(record["usage"]["pids_refused"], refused, "{record:#}");
    let shown = env.run(["show"]);
    assert!(shown.stdout_text().contains(&format!("{refused} processes")), "{shown:?}");
    // Where all were started, nothing is said.
    let done = run(&env, &["--pids", "64"], many);
    assert_eq!(done.assert_exit(0).assert_stdout("0\n").stderr_text(), "");
    assert_eq!(env.latest_record()["usage"]["pids_refused"], serde_json::Value::Null);
}

#[test]
fn the_processor_is_shared_out() {
    let env = TestEnv::with_binary(BINARY);
    let busy = "python3 -c 'import time; e=time.time()+1.5\nwhile time.time()<e: pass\n\
                print(int(time.process_time() * 1000))'";
    let spent = |cpus: &str| -> u64 {
        let done = run(&env, &["--cpus", cpus], busy);
        done.assert_exit(0);
        done.stdout_text().trim().parse().expect("a number of milliseconds")
    };
    let slow = spent("0.2");
    assert!(slow < 500, "{slow} ms of a fifth of 1.5 s");
    // A machine that is busy with something else gives nobody more; so it is asked again.
    let fast: Vec<u64> = (0..5).map(|_| spent("2")).take_while(|fast| slow * 2 >= *fast).collect();
    assert!(fast.len() < 5, "{slow} ms against {fast:?} ms of processor in the same time");
}

#[test]
fn what_will_not_stop_is_stopped() {
    let env = TestEnv::with_binary(BINARY);
    env.host_config("sandbox: { stop_grace: 1s }");
    let stubborn = "trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; sleep 300 & sleep 300' &); \
                    while :; do sleep 0.1; done";
    run(&env, &["--timeout", "1s"], stubborn).assert_exit(124);
    assert_eq!(env.latest_record()["outcome"]["class"], "timed_out");
    // A daemon does not outlive a command that ends by itself.
    run(&env, &[], "(setsid sleep 300 &); exit 3").assert_exit(3);
    assert_eq!(env.latest_record()["cleanup"]["receipt"], "terminated");
}

#[test]
fn a_million_lines_come_through() {
    let env = TestEnv::with_binary(BINARY);
    let done = run(&env, &[], "seq 1 1000000");
    done.assert_exit(0);
    assert_eq!(done.stdout.iter().filter(|b| **b == b'\n').count(), 1_000_000);
    assert_eq!(env.latest_record()["output"]["stdout_bytes"], done.stdout.len());
}

#[test]
fn what_is_in_force_was_read_back() {
    let env = TestEnv::with_binary(BINARY);
    run(&env, &["--memory", "256m", "--pids", "77", "--cpus", "0.5"], "true").assert_exit(0);
    let receipt = env.latest_record()["receipt"].as_array().unwrap().clone();
    // A guarantee may rest on several settings.
    let read_back = |name: &str| {
        let held = receipt.iter().filter(|h| h["guarantee"] == name && h["state"] == "enforced");
        held.map(|h| h["read_back"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert!(read_back("memory_limit").contains("268435456"), "{}", read_back("memory_limit"));
    // One more than was asked for: the sandbox's own first process counts, too.
    assert!(read_back("pids_limit").contains("78"), "{}", read_back("pids_limit"));
    assert!(read_back("cpu_limit").contains("50000"), "{}", read_back("cpu_limit"));
}

mod native_only {
    use super::*;

    #[test]
    fn a_user_without_a_group_is_refused_and_may_say_so() {
        let env = TestEnv::with_binary(BINARY).unprivileged();
        let done = run(&env, &[], "echo ran");
        if done.code() == Some(0) {
            // A host that delegates: then the limits hold.
            assert!(env.latest_record()["receipt"].to_string().contains("memory_limit"));
        } else {
            done.assert_exit(125).assert_stderr_has("--relax limits").assert_stdout("");
            run(&env, &["--relax", "limits"], "echo ran").assert_exit(0).assert_stdout("ran\n");
            let relaxed = env.latest_record()["plan"]["relaxed"].to_string();
            assert!(relaxed.contains("memory_limit"), "{relaxed}");
        }
    }

    /// Some hundred megabytes a second, as a quick disk takes them. An engine takes longer to end a container than that leaves.
    #[test]
    #[cfg_attr(
        not(feature = "fault-injection"),
        ignore = "mounts, which needs root: cargo xtask test"
    )]
    fn the_disk_is_looked_at_as_often_as_it_fills() {
        let env = TestEnv::with_binary(BINARY);
        let disk = SmallDisk::at(env.state_dir(), "320m");
        let script = "while :; do head -c 1M /dev/zero >> big; done";
        for _ in 0..3 {
            run(&env, &[], script).assert_exit(137);
            let (record, free) = (env.latest_record(), free(&disk));
            assert_eq!(record["outcome"]["class"], "canceled", "{record:#}");
            assert!(free > 4 << 20, "{free} bytes are free");
            // What is named is what is kept of so small a disk.
            assert!(record["outcome"]["message"].to_string().contains(" 16m "), "{record:#}");
            run(&env, &[], "true").assert_exit(125).assert_stderr_has("less than 16m free");
            env.run(["discard", record["run"].as_str().expect("an id")]).assert_exit(0);
        }
    }
}

/// So slowly that the disk is looked at in between, as any real one is that is worth filling.
const FILL: &str = "while head -c 1M /dev/zero >> fill; do sleep 0.05; done; echo full";

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn the_disk_keeps_its_reserve() {
    let env = TestEnv::with_binary(BINARY);
    let disk = SmallDisk::at(env.state_dir(), "160m");
    env.host_config("sandbox: { disk_reserve: 128m }");
    run(&env, &[], "head -c 1M /dev/zero > some; stat -c %s some")
        .assert_exit(0)
        .assert_stdout("1048576\n");
    run(&env, &[], FILL).assert_exit(137).assert_stdout("");
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "canceled", "{record:#}");
    assert!(record["outcome"]["message"].to_string().contains("disk_reserve"), "{record:#}");
    // A twentieth of so small a disk, and what it had come to was kept.
    let free = free(&disk);
    assert!(free > 4 << 20, "{free} bytes are free");
    assert_eq!(env.run(["diff", "--name-only"]).stdout_text(), "fill\n");
    std::fs::write(disk.dir().join("else"), vec![1; 6 << 20]).expect("there is room for it");
    run(&env, &[], "true").assert_exit(125).assert_stderr_has("sandbox.disk_reserve");
    // Whoever wants none has none.
    env.host_config("sandbox: { disk_reserve: 0 }");
    run(&env, &[], "true").assert_exit(0);
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn it_keeps_some_inodes_too() {
    let env = TestEnv::with_binary(BINARY);
    let disk = SmallDisk::at(env.state_dir(), "160m,nr_inodes=4000");
    run(&env, &[], "touch some").assert_exit(0);
    run(&env, &[], "n=0; while : > f$n; do n=$((n+1)); sleep 0.001; done; echo full")
        .assert_exit(137)
        .assert_stdout("");
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "canceled", "{record:#}");
    assert!(std::fs::write(disk.dir().join("else"), "").is_ok(), "one more can be made");
}

fn free(disk: &SmallDisk) -> u64 {
    let mut df = std::process::Command::new("df");
    let done = df.args(["--output=avail", "-B1"]).arg(disk.dir()).output().expect("`df` runs");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    text.lines().last().and_then(|line| line.trim().parse().ok()).expect("a number")
}
