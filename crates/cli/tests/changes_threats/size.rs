//! Sizes that are meant to make whoever looks run out of memory, time or disk.

use std::os::unix::fs::MetadataExt as _;

use super::*;

/// Runs the binary and returns the most memory that it had, in MiB.
#[track_caller]
fn memory(env: &TestEnv, args: &[&str]) -> u64 {
    let script = "import resource, subprocess, sys\n\
                  code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)\n\
                  print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)\n\
                  sys.exit(code)";
    let mut python = env.program("python3");
    let binary = env.cofferdam().get_program().to_owned();
    python.args(["-c", script]).arg(binary).args(args);
    let done = env.finish(python);
    done.assert_exit(0);
    done.stdout_text().trim().parse().unwrap()
}

/// A file of four gigabytes, of which little was written. It is hashed whole, kept with its holes, looked at
/// and applied, and no step takes more memory for it.
#[test]
fn a_file_of_four_gigabytes() {
    let env = env();
    let script = "echo begin > big; truncate -s 2G big; echo middle >> big; \
                  truncate -s 4294967297 big; echo end >> big";
    let mut run = claim::words(&env);
    run.extend(["--", "sh", "-c", script]);
    let limit = 100;
    assert!(memory(&env, &run) < limit, "sealing");
    let size = (4_u64 << 30) + 5;
    assert_eq!(env.manifest("last").entry("big")["after"]["size"], size);
    for args in [&["diff"][..], &["gate", "--allow-budget"]] {
        assert!(memory(&env, args) < limit, "{args:?}");
    }
    assert!(memory(&env, &["apply", "--allow-budget"]) < limit, "apply");
    let big = fs::metadata(env.workspace().join("big")).unwrap();
    assert_eq!(big.size(), size);
    assert!(big.blocks() * 512 < 16 << 20, "{} blocks", big.blocks());
    assert!(memory(&env, &["undo"]) < limit, "undo");
    assert!(names(&env).is_empty());
}

/// The same bytes again and again: kept once, shown within bounds.
#[test]
fn repetition_takes_no_more_room_than_it_has() {
    let env = env();
    let script = "i=0; while [ $i -lt 400 ]; do head -c 1000000 /dev/zero > z$i; i=$((i+1)); done";
    let mut run = claim::words(&env);
    run.extend(["--", "sh", "-c", script]);
    assert!(memory(&env, &run) < 100);
    let objects = fs::read_dir(env.run_dir("last").join("objects")).unwrap().count();
    assert_eq!(objects, 1);
    let shown = env.run(["diff"]);
    shown.assert_exit(0);
    assert!(shown.stdout.len() < 1_000_000, "{}", shown.stdout.len());
    assert!(memory(&env, &["apply", "--allow-budget"]) < 100);
    assert_eq!(names(&env).len(), 400);
}
