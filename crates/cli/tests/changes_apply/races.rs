//! Somebody swaps a directory for a link, again and again, while changes are applied: nothing is ever
//! written through it.

use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use cofferdam_testkit::wait_until;

use super::*;

#[test]
fn a_swapping_link_is_never_followed() {
    let env = env();
    env.file("src/keep", "k");
    let outside = env.top().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("keep"), "k").unwrap();
    let canary = TreeHash::of(&outside);
    let script =
        "i=0; while [ $i -lt 60 ]; do echo $i > src/n$i; i=$((i+1)); done; echo new > src/keep";
    stage(&env, script);
    let stop = AtomicBool::new(false);
    let (src, aside) = (env.workspace().join("src"), env.top().join("aside"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(&src, &aside).unwrap();
                symlink(&outside, &src).unwrap();
                std::thread::yield_now();
                fs::remove_file(&src).unwrap();
                fs::rename(&aside, &src).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        });
        for _ in 0..25 {
            let done = env.run(["apply"]);
            assert!(matches!(done.code(), Some(0 | 1 | 3)), "{done:?}");
            if done.code() == Some(0) {
                let undone = env.run(["undo"]);
                assert!(matches!(undone.code(), Some(0 | 1 | 3)), "{undone:?}");
            }
            assert_eq!(TreeHash::of(&outside), canary, "written through the link");
        }
        stop.store(true, Ordering::Relaxed);
    });
    // In peace it is all there, or can be.
    env.run(["gc"]).assert_exit(0);
    env.run(["apply"]).assert_exit(0);
    assert_eq!((text(&env, "src/n59"), text(&env, "src/keep")), ("59\n".into(), "new\n".into()));
    assert_eq!(TreeHash::of(&outside), canary);
}

/// A directory that is swapped for another, or for a link, between any two steps: what was done in it is taken
/// back in it, wherever it is by then.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs injected faults: cargo xtask test")]
fn swapped_at_every_point_nothing_is_left_half_done() {
    for with in ["a link", "another directory"] {
        let env = env();
        for name in ["src/a", "src/b", "src/deep/c", "other/d", "z"] {
            env.file(name, "old");
        }
        let outside = env.top().join("outside");
        fs::create_dir(&outside).unwrap();
        let script = "for f in src/a src/b src/deep/c other/d z; do echo new > $f; done; \
                      echo n > src/n; rm src/b; mkdir src/made; echo m > src/made/m";
        stage(&env, script);
        let old = tree(&env);
        let (src, aside) = (env.workspace().join("src"), env.top().join("aside"));
        let (mut new, mut taken_back) = (None, 0);
        for point in 1.. {
            assert!(point < 200, "there is no end of points");
            let mut command = env.cofferdam();
            command.args(ALL).env("FAULT_INJECTION", format!("stop:{point}"));
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            if !stops(&mut child) {
                assert!(child.wait().unwrap().success(), "{with} {point}");
                assert!(point > 20, "hardly any point was hit");
                break;
            }
            fs::rename(&src, &aside).unwrap();
            match with {
                "a link" => symlink(&outside, &src).unwrap(),
                _ => fs::create_dir(&src).unwrap(),
            }
            signal(&child, "-CONT");
            let done = child.wait().unwrap().success();
            match with {
                "a link" => fs::remove_file(&src).unwrap(),
                _ => fs::remove_dir(&src).unwrap(),
            }
            fs::rename(&aside, &src).unwrap();
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{with} {point}");
            env.run(["gc"]).assert_exit(0);
            let now = tree(&env);
            if now == old {
                taken_back += u32::from(!done);
            } else {
                assert!(new.is_none_or(|new| new == now), "{with} {point}: half and half");
                new = Some(now);
                env.run(["undo"]).assert_exit(0);
                assert_eq!(tree(&env), old, "{with} {point}");
            }
            let kept = fs::read_dir(run_dir(&env).join("applies")).into_iter().flatten();
            let kept: Vec<_> = kept.map(|e| e.unwrap().file_name()).collect();
            assert!(
                !kept.iter().any(|n| n.to_string_lossy().contains("kept")),
                "{point}: {kept:?}"
            );
            assert_settled(&env);
        }
        assert!(taken_back > 3, "{with}: {taken_back}");
    }
}

fn signal(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// Whether a process stops, and does not end.
fn stops(child: &mut Child) -> bool {
    let path = format!("/proc/{}/stat", child.id());
    let mut stopped = false;
    let ended = wait_until(std::time::Duration::from_secs(20), || {
        let stat = fs::read_to_string(&path).unwrap_or_default();
        stopped = stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'));
        stopped || child.try_wait().unwrap().is_some()
    });
    assert!(ended, "it neither stops nor ends");
    stopped
}
