//! Output passes through whole and is kept in bounds; input reaches the command.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use cofferdam_testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

const LOCAL: [&str; 4] = ["run", "--quiet", "--sandbox", "local"];

#[test]
fn the_two_streams_stay_apart() {
    let env = env();
    let done = env.run(LOCAL.iter().chain(&["--", "sh", "-c", "echo out; echo err >&2"]));
    done.assert_exit(0).assert_stdout("out\n");
    assert!(done.stderr_text().lines().any(|line| line == "err"));
    env.run(["logs", "--stdout"]).assert_stdout("out\n");
    env.run(["logs", "--stderr"]).assert_stdout("err\n");
    let record = env.latest_record();
    assert_eq!(record["output"]["stdout_bytes"], 4);
    assert_eq!(record["output"]["truncated"], false);
}

#[test]
fn input_is_passed_on() {
    let env = env();
    let mut child = env
        .cofferdam()
        .args(LOCAL)
        .args(["--", "tr", "a-z", "A-Z"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"shout").unwrap();
    let mut heard = String::new();
    child.stdout.take().unwrap().read_to_string(&mut heard).unwrap();
    assert_eq!((heard.as_str(), child.wait().unwrap().code()), ("SHOUT", Some(0)));
}

#[test]
fn bytes_are_not_touched_on_the_way() {
    let env = env();
    let all: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let file = env.file("bytes", &all);
    let done = env.run(LOCAL.iter().copied().chain(["--", "cat", file.to_str().unwrap()]));
    assert_eq!(done.stdout, all);
    assert_eq!(env.run(["logs", "--stdout"]).stdout, all);
}

/// Far more than is kept: the record has the true count, the disk has the limit, memory stays small.
#[test]
fn a_flood_is_counted_and_bounded() {
    let env = env();
    env.host_config("sandbox: { output_limit: 1m }");
    let script =
        "ulimit -v 262144; exec \"$0\" run --quiet --sandbox local -- head -c 2G /dev/zero";
    let binary = env!("CARGO_BIN_EXE_cofferdam");
    let mut command = env.program("sh");
    command.args(["-c", script, binary]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    // The largest resident size, read while it runs; the shell has become cofferdam by exec.
    let mut most = 0u64;
    loop {
        if let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
            let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0");
            let kib = peak.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            most = most.max(kib);
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(0));
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(most > 0 && most < 64 * 1024, "{most} KiB resident");
    let record = env.latest_record();
    assert_eq!(record["output"]["stdout_bytes"], 2u64 << 30);
    assert_eq!(record["output"]["truncated"], true);
    let dir = env.state_dir().join("runs").join(record["run"].as_str().unwrap());
    let on_disk: u64 =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
    assert!(on_disk < (1 << 20) + 64 * 1024, "{on_disk} bytes on disk");
    assert!(env.events().iter().any(|e| e["type"] == "sandbox.output_truncated"));
}

#[test]
fn a_reader_that_leaves_is_noticed_by_the_program() {
    let env = env();
    let mut child = env
        .cofferdam()
        .args(LOCAL)
        .args(["--timeout", "20s", "--", "yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 13), "yes dies of SIGPIPE");
}

/// Somebody pipes us into a program that does not read: the clock must run all the same.
#[test]
fn a_reader_that_sleeps_does_not_stop_the_clock() {
    let env = env();
    let mut child = env
        .cofferdam()
        .args(LOCAL)
        .args(["--timeout", "1s", "--", "yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let unread = child.stdout.take().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(124));
    drop(unread);
}

#[test]
fn json_in_place_of_the_output() {
    let env = env();
    let done = env.run(LOCAL.iter().chain(&["--json", "--", "echo", "kept"]));
    let record: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(record["outcome"]["class"], "exited");
    env.run(["logs", "--stdout"]).assert_stdout("kept\n");
}
