//! The workspace on another file system than the state directory, and a small one: renames work only
//! within it, and it can be full.

use cofferdam_testkit::SmallDisk;

use super::*;

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn there_and_back_across_file_systems() {
    let env = env();
    let _mounted = SmallDisk::at(env.workspace(), "8m");
    env.file("f", "old");
    env.file("d/x", "x");
    std::os::unix::fs::symlink("f", env.workspace().join("l")).unwrap();
    let old = tree(&env);
    stage(&env, "echo new > f; rm -r d; ln -sf g l; mkdir n; echo y > n/y");
    apply(&env).assert_exit(0);
    assert_eq!(
        (names(&env), text(&env, "f")),
        (vec!["f".into(), "l".into(), "n".into()], "new\n".into())
    );
    assert_settled(&env);
    env.run(["undo", "f"]).assert_exit(0);
    assert_eq!(text(&env, "f"), "old");
    env.run(["undo"]).assert_exit(0);
    assert_eq!(tree(&env), old);
    assert_settled(&env);
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn a_full_disk_leaves_everything_as_it_was() {
    let env = env();
    let _mounted = SmallDisk::at(env.workspace(), "2m");
    env.file("f", vec![b'x'; 300_000]);
    env.file("gone", "g");
    stage(
        &env,
        "rm gone; i=0; while [ $i -lt 8 ]; do head -c 200000 /dev/zero > n$i; i=$((i+1)); done; echo new > f",
    );
    let fill = env.file("fill", vec![b'z'; 1_200_000]);
    let before = tree(&env);
    apply(&env).assert_exit(1).assert_stderr_has("space");
    assert_eq!(tree(&env), before);
    assert_settled(&env);
    fs::remove_file(fill).unwrap();
    apply(&env).assert_exit(0);
    assert_eq!((text(&env, "f"), names(&env).len()), ("new\n".into(), 9));
}
