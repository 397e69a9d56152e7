//! Whichever step of making a sandbox fails, nothing is run.
//!
//! The kernel's answers are changed on their way to us, call by call, as a kernel without the feature or a filter around
//! us would answer.

use cofferdam_testkit::{Finished, TestEnv};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// The calls that a sandbox is made with, and which of each process's own calls of that name fails: the first, and where
/// there are many, later ones too. That of `prctl` begins behind those that only ask.
const CALLS: &[(&str, &[u32])] = &[
    ("setsid", &[1]),
    ("sethostname", &[1]),
    ("mount", &[1]),
    ("fsopen", &[1, 3, 5]),
    ("fsconfig", &[1, 8, 20]),
    ("fsmount", &[1, 3, 5]),
    ("open_tree", &[1, 9, 18]),
    ("mount_setattr", &[1, 7, 15]),
    ("move_mount", &[1, 10, 20]),
    ("mkdirat", &[1, 10]),
    ("symlinkat", &[1]),
    ("mknodat", &[1]),
    ("pivot_root", &[1]),
    ("umount2", &[1]),
    ("unshare", &[1]),
    ("setns", &[1]),
    ("close_range", &[1]),
    ("prctl", &[4, 20, 40, 44, 45, 46, 47]),
    ("setgroups", &[1]),
    ("setresgid", &[1]),
    ("setresuid", &[1]),
    ("capset", &[1]),
    ("landlock_create_ruleset", &[1]),
    ("landlock_add_rule", &[1, 3]),
    ("landlock_restrict_self", &[1]),
    ("seccomp", &[1]),
];

fn with(env: &TestEnv, injection: Option<String>) -> Finished {
    let mut command = env.program("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e"]);
    // Without an injection the same calls are looked at, and answered by the kernel.
    command.arg(injection.unwrap_or_else(|| "trace=sethostname".to_owned()));
    command.arg(BINARY).args(["run", "--quiet", "--sandbox", "native", "--", "echo", "it ran"]);
    env.finish(command)
}

#[test]
fn a_step_that_fails_runs_nothing() {
    let env = TestEnv::with_binary(BINARY);
    with(&env, None).assert_exit(0).assert_stdout("it ran\n");
    for (call, whens) in CALLS {
        for when in *whens {
            let run = with(&env, Some(format!("inject={call}:error=EPERM:when={when}")));
            assert_eq!(
                (run.code(), &*run.stdout_text()),
                (Some(125), ""),
                "{call} {when}: {run:?}"
            );
        }
    }
    with(&env, None).assert_exit(0).assert_stdout("it ran\n");
}
