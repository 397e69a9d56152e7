//! Killed, or out of disk space, right before any step: the tree is all-old or all-new, and after the next
//! command nothing is left of the attempt.

use std::process::Stdio;
use std::time::Instant;

use super::*;

const CHANGE: &str = "echo new > f; rm -r d; rm swap; mkdir swap; echo s > swap/s; mkdir n; echo x > n/x; \
                      ln -sf g l; chmod 600 g; rm -r dir; echo file > dir";

fn furnish(env: &TestEnv) {
    for (name, content) in
        [("f", "old"), ("g", "g"), ("d/e/x", "x"), ("d/y", "y"), ("swap", "s"), ("dir/in", "i")]
    {
        env.file(name, content);
    }
    std::os::unix::fs::symlink("f", env.workspace().join("l")).unwrap();
}

/// Does `command` with a fault at each point in turn, until there is none left to hit. `reset` makes the
/// tree what it was, after a fault came too late to matter.
#[track_caller]
fn at_every_point(env: &TestEnv, fault: &str, command: &[&str], reset: &[&str]) -> usize {
    let old = tree(env);
    let mut new = None;
    for point in 1.. {
        assert!(point < 500, "there is no end of points");
        let mut attempt = env.cofferdam();
        attempt.args(command).env("FAULT_INJECTION", format!("{fault}:{point}"));
        let attempt = env.finish(attempt);
        if attempt.code() == Some(0) {
            assert!(point > 20, "hardly any point was hit");
            let reached = tree(env);
            assert!(new.is_none_or(|new| new == reached), "{fault} {point}");
            assert_settled(env);
            return point - 1;
        }
        let expected = if fault == "enospc" { Some(1) } else { None };
        assert_eq!(attempt.code(), expected, "{fault} {point}: {attempt:?}");
        // Whoever comes next cleans up; here it is gc.
        env.run(["gc"]).assert_exit(0);
        assert_settled(env);
        let now = tree(env);
        if now != old {
            // It was done but for the paper-work.
            assert!(new.is_none_or(|new| new == now), "{fault} {point}: half and half");
            new = Some(now);
            env.run(reset).assert_exit(0);
            assert_eq!(tree(env), old, "{fault} {point}");
        }
    }
    unreachable!("the loop has no end")
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs injected faults: cargo xtask test")]
fn killed_at_every_point_of_an_apply() {
    let env = env();
    furnish(&env);
    stage(&env, CHANGE);
    at_every_point(&env, "kill", &ALL, &["undo"]);
    assert_eq!((text(&env, "f"), text(&env, "swap/s")), ("new\n".into(), "s\n".into()));
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs injected faults: cargo xtask test")]
fn out_of_space_at_every_point_of_an_apply() {
    let env = env();
    furnish(&env);
    stage(&env, CHANGE);
    at_every_point(&env, "enospc", &ALL, &["undo"]);
    assert_eq!((text(&env, "f"), text(&env, "swap/s")), ("new\n".into(), "s\n".into()));
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs injected faults: cargo xtask test")]
fn killed_and_out_of_space_at_every_point_of_an_undo() {
    for fault in ["kill", "enospc"] {
        let env = env();
        furnish(&env);
        let old = tree(&env);
        stage(&env, CHANGE);
        apply(&env).assert_exit(0);
        at_every_point(&env, fault, &["undo"], &ALL);
        assert_eq!(tree(&env), old);
    }
}

/// The one that cleans up is killed as well: the next goes on from there.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs injected faults: cargo xtask test")]
fn killed_while_taking_back() {
    for point in 1..40 {
        let env = env();
        furnish(&env);
        let old = tree(&env);
        stage(&env, CHANGE);
        // The first fault is met on the way back from the second.
        let mut attempt = env.cofferdam();
        attempt.args(ALL).env("FAULT_INJECTION", format!("enospc:28,kill:{}", 28 + point));
        let attempt = env.finish(attempt);
        env.run(["gc"]).assert_exit(0);
        assert_settled(&env);
        assert_eq!(tree(&env), old, "{point}");
        if attempt.code() == Some(1) {
            assert!(point > 5, "nothing was taken back");
            return;
        }
    }
    panic!("taking back has no end");
}

/// Random moments that each of the ten tests below tries: five hundred in all.
const KILLS: u32 = 50;

/// Kills an apply at random moments, and an undo wherever the apply got through.
fn killed_at_random(seed: u64) {
    let env = env();
    furnish(&env);
    let script = "i=0; while [ $i -lt 100 ]; do echo $i > n$i; i=$((i+1)); done";
    stage(&env, &format!("{CHANGE}; {script}"));
    let old = tree(&env);
    let began = Instant::now();
    env.run(ALL).assert_exit(0);
    let takes = began.elapsed();
    let new = tree(&env);
    env.run(["undo"]).assert_exit(0);
    assert_eq!(tree(&env), old);
    assert_ne!(new, old);
    let mut random = seed;
    let mut cut = 0;
    for kill in 0..KILLS {
        // The generator of Knuth's MMIX; its high bits are the good ones.
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let moment = takes.mul_f64((random >> 32) as f64 / f64::from(u32::MAX));
        let is_applied = tree(&env) == new;
        let args: &[&str] = if is_applied { &["undo"] } else { &ALL };
        let mut child =
            env.cofferdam().args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(moment);
        child.kill().unwrap();
        cut += u32::from(!child.wait().unwrap().success());
        env.run(["gc"]).assert_exit(0);
        assert_settled(&env);
        let now = tree(&env);
        assert!(now == old || now == new, "half and half after kill {kill} of {args:?}");
    }
    assert!(cut > KILLS / 4, "only {cut} were killed in time");
    if tree(&env) == new {
        env.run(["undo"]).assert_exit(0);
    } else {
        env.run(ALL).assert_exit(0);
        assert_eq!(tree(&env), new);
        env.run(["undo"]).assert_exit(0);
    }
    assert_eq!(tree(&env), old);
}

// One test a seed, so that they run beside each other.

#[test]
fn killed_at_any_moment() {
    killed_at_random(1);
}

#[test]
fn killed_at_any_moment_2() {
    killed_at_random(2);
}

#[test]
fn killed_at_any_moment_3() {
    killed_at_random(3);
}

#[test]
fn killed_at_any_moment_4() {
    killed_at_random(4);
}

#[test]
fn killed_at_any_moment_5() {
    killed_at_random(5);
}

#[test]
fn killed_at_any_moment_6() {
    killed_at_random(6);
}

#[test]
fn killed_at_any_moment_7() {
    killed_at_random(7);
}

#[test]
fn killed_at_any_moment_8() {
    killed_at_random(8);
}

#[test]
fn killed_at_any_moment_9() {
    killed_at_random(9);
}

#[test]
fn killed_at_any_moment_10() {
    killed_at_random(10);
}

/// Somebody edits a file that a dead applier had put there: their work stays, and so does what was there.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs injected faults: cargo xtask test")]
fn an_edit_after_a_crash_is_not_lost() {
    let env = env();
    env.file("f", "what-was-there");
    env.file("g", "g");
    stage(&env, "echo new > f; echo new > g; echo h > h");
    for point in 1.. {
        assert!(point < 50, "f was never put there");
        let mut attempt = env.cofferdam();
        attempt.arg("apply").env("FAULT_INJECTION", format!("kill:{point}"));
        env.finish(attempt);
        if text(&env, "f") == "new\n" {
            break;
        }
        env.run(["gc"]).assert_exit(0);
    }
    env.file("f", "mine");
    let gc = env.run(["gc"]);
    gc.assert_exit(1);
    assert!(gc.stdout_text().contains("f: it was edited"), "{gc:?}");
    assert_eq!((text(&env, "f"), text(&env, "g")), ("mine".into(), "g".into()));
    let kept = env.grep_state("what-was-there");
    assert!(kept.iter().any(|path| path.to_string_lossy().contains(".kept")), "{kept:?}");
    env.run(["gc"]).assert_exit(0);
    env.run(["apply"]).assert_exit(3);
    env.run(["apply", "--rest"]).assert_exit(0);
    assert_eq!((text(&env, "f"), text(&env, "g")), ("mine".into(), "new\n".into()));
    assert_settled(&env);
}
