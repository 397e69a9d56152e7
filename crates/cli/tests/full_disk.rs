//! On a state directory's disk that is full to the last byte, what frees room works: `discard`, `gc`, and `gc --older-than`.
//! The log holds all the while.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use cofferdam_testkit::{SmallDisk, TestEnv, claim, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const PATIENCE: Duration = Duration::from_secs(20);
/// Large enough that its going is seen.
const OLDER: &str = "head -c 20M /dev/zero > older";

/// An older run, on a disk of which nothing is kept free.
fn with_an_older_run() -> (TestEnv, SmallDisk, String) {
    let env = TestEnv::with_binary(BINARY);
    let disk = SmallDisk::at(env.state_dir(), "64m");
    env.host_config("sandbox: { disk_reserve: 0 }");
    claim::run(&env, &[], OLDER).assert_exit(0);
    let run = env.latest_record()["run"].as_str().expect("an id").to_owned();
    (env, disk, run)
}

/// Takes all that is left.
fn fill(disk: &SmallDisk) -> PathBuf {
    let path = disk.dir().join("filler");
    let mut file = File::create(&path).expect("a file can be made");
    for size in [1 << 20, 4096, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
    let full = file.write_all(b"x").expect_err("it is full");
    assert_eq!(full.kind(), ErrorKind::StorageFull);
    path
}

/// Events find room where the log's last page has some, on however full a disk: here hardly one does.
fn fill_the_page_of_the_log(env: &TestEnv, disk: &SmallDisk) {
    let log = disk.dir().join("audit.jsonl");
    let is_full = || fs::metadata(&log).expect("a log").len() % 4096 > 4096 - 300;
    let tries = (0..400).find(|_| {
        is_full() || {
            claim::run(env, &[], "true").assert_exit(0);
            false
        }
    });
    tries.expect("its length varies");
}

fn ballast(disk: &SmallDisk) -> PathBuf {
    disk.dir().join("ballast")
}

/// There is room again, for a run as for what is kept for the next time.
fn is_free_again(env: &TestEnv, disk: &SmallDisk) {
    env.run(["audit", "verify"]).assert_exit(0);
    claim::run(env, &[], "head -c 8M /dev/zero > more").assert_exit(0);
    assert!(ballast(disk).join("15").exists(), "the ballast is back");
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn a_run_that_filled_it_is_written_down_and_discarded() {
    let (env, disk, _) = with_an_older_run();
    let done = claim::run(&env, &[], "cat /dev/zero > big; exit 7");
    assert!(!done.assert_exit(7).stderr_text().contains("could not be"), "{}", done.stderr_text());
    let record = env.latest_record();
    assert_eq!(record["outcome"]["exit_code"], 7, "{record:#}");
    env.run(["audit", "verify"]).assert_exit(0);
    env.run(["discard"]).assert_exit(0);
    is_free_again(&env, &disk);
}

/// Its owner died with the disk full, so that nothing of it is written down.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn a_run_whose_owner_died_on_it_is_closed_and_discarded() {
    let (env, disk, older) = with_an_older_run();
    let mut child = claim::spawn(&env, &[], "cat /dev/zero > big; mkdir full; sleep 100");
    let newest = || env.runs().into_iter().find(|run| *run != older);
    let is_full = || newest().is_some_and(|run| env.run_dir(&run).join("upper/full").exists());
    assert!(wait_until(PATIENCE, is_full), "it does not come to an end");
    child.kill().expect("it can be killed");
    child.wait().expect("it was started here");
    fill(&disk);
    env.run(["gc"]).assert_exit(0);
    env.run(["audit", "verify"]).assert_exit(0);
    env.run(["discard"]).assert_exit(0);
    is_free_again(&env, &disk);
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn an_older_run_is_discarded_with_and_without_ballast() {
    for keeps_ballast in [true, false] {
        let (env, disk, older) = with_an_older_run();
        if !keeps_ballast {
            fs::remove_dir_all(ballast(&disk)).expect("it was made with the directory");
        }
        fill(&disk);
        env.run(["discard", &older]).assert_exit(0);
        assert!(env.events().iter().any(|event| event["type"] == "changes.discarded"));
        is_free_again(&env, &disk);
    }
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn an_older_run_is_removed_with_and_without_ballast() {
    for keeps_ballast in [true, false] {
        let (env, disk, older) = with_an_older_run();
        fill_the_page_of_the_log(&env, &disk);
        if !keeps_ballast {
            fs::remove_dir_all(ballast(&disk)).expect("it was made with the directory");
        }
        fill(&disk);
        std::thread::sleep(Duration::from_millis(1100));
        env.run(["gc", "--older-than", "1s", "--pending"]).assert_exit(0);
        assert!(!env.run_dir(&older).exists());
        assert!(env.events().iter().any(|event| event["type"] == "run.removed"));
        is_free_again(&env, &disk);
    }
}

/// There is no room to say what it changed. Whoever wants it gone need not wait until there is.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn a_run_that_cannot_be_sealed_is_removed() {
    let (env, disk, older) = with_an_older_run();
    let long = "a-long-name-".repeat(16);
    let script = format!(
        "n=0; while [ $n -lt 9000 ]; do : > {long}$n; n=$((n+1)); done; cat /dev/zero > big; exit 7"
    );
    claim::run(&env, &[], &script).assert_exit(7).assert_stderr_has("could not be sealed");
    env.run(["audit", "verify"]).assert_exit(0);
    env.run(["gc"]).assert_exit(1).assert_stdout_has("unsealed changes");
    let stuck = env.latest_record()["run"].as_str().expect("an id").to_owned();
    assert_ne!(stuck, older);
    fill(&disk);
    std::thread::sleep(Duration::from_millis(1100));
    env.run(["gc", "--older-than", "1s", "--pending"]).assert_exit(0);
    assert!(!env.run_dir(&stuck).exists() && !disk.dir().join("active").join(&stuck).exists());
    fs::remove_file(disk.dir().join("filler")).expect("it was made");
    is_free_again(&env, &disk);
}
