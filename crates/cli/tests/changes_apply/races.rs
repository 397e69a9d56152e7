//! Somebody swaps a directory for a link, again and again, while changes are applied: nothing is ever
//! written through it.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

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
