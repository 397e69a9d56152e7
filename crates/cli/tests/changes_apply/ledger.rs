//! Twice, after another, and at once: idempotent, or refused with clear words.

use std::process::Stdio;
use std::time::Duration;

use cofferdam_testkit::wait_until;

use super::*;

#[test]
fn applying_twice_is_applying_once() {
    let env = env();
    env.file("f", "old");
    stage(&env, "echo new > f");
    env.run(["apply"]).assert_exit(0);
    let first = identity(&env.workspace().join("f"));
    env.run(["apply"])
        .assert_exit(0)
        .assert_stdout(&format!("run {}: already applied, nothing to do\n", short(&env)));
    assert_eq!(identity(&env.workspace().join("f")), first);
    assert_eq!(events(&env, "changes.applied"), 1);
}

fn short(env: &TestEnv) -> String {
    let run = env.runs().pop().unwrap();
    run[run.len() - 8..].to_owned()
}

#[test]
fn what_is_discarded_is_not_applied_and_what_is_applied_is_not_discarded() {
    let env = env();
    env.file("f", "old");
    env.file("g", "old");
    stage(&env, "echo new > f; echo new > g; echo h > h");
    env.run(["discard", "f"]).assert_exit(0);
    env.run(["apply", "f"]).assert_exit(1).assert_stderr_has("was discarded");
    env.run(["apply", "g"]).assert_exit(0);
    env.run(["discard", "g"]).assert_exit(1).assert_stderr_has("cofferdam undo");
    let rest = env.run(["discard", "--json"]).json();
    assert_eq!((&rest["discarded"], &rest["applied"]), (&1.into(), &1.into()));
    assert_eq!(rest["at_home"], 1, "what the workspace has, selected or not: {rest}");
    assert_eq!((text(&env, "f"), text(&env, "g")), ("old".into(), "new\n".into()));
    env.run(["undo"]).assert_exit(0);
    env.run(["apply"]).assert_exit(0);
    assert_eq!((names(&env), text(&env, "g")), (vec!["f".into(), "g".into()], "new\n".into()));
    assert_eq!(events(&env, "changes.discarded"), 2);
    env.run(["apply", "nothing-there"]).assert_exit(1);
    env.run(["discard", "nothing-there"]).assert_exit(1);
}

#[test]
fn discarding_everything_drops_the_contents() {
    let env = env();
    stage(&env, "mkdir d; printf secret-%s content > d/f");
    env.run(["discard"]).assert_exit(0);
    assert!(env.grep_state("secret-content").is_empty());
    env.run(["apply"]).assert_exit(1).assert_stderr_has("was discarded");
    env.run(["discard"]).assert_exit(0);
    assert!(names(&env).is_empty());
}

#[test]
fn a_file_that_is_kept_keeps_its_directory() {
    let env = env();
    env.file("d/e/kept", "k");
    env.file("d/other", "o");
    stage(&env, "rm -r d");
    env.run(["discard", "d/e/kept"]).assert_exit(0);
    env.run(["apply"]).assert_exit(0);
    assert_eq!(text(&env, "d/e/kept"), "k");
    assert!(!env.workspace().join("d/other").exists());
}

#[test]
fn a_second_applier_is_refused() {
    let env = env();
    stage(&env, "echo x > x");
    // Somebody who holds the workspace's turn, as an applier does.
    env.run(["apply", "--check"]).assert_exit(0);
    let name = blake3::hash(env.workspace().as_os_str().as_encoded_bytes()).to_hex();
    let turn = env.state_dir().join("applying").join(&name.as_str()[..32]);
    let held = fs::File::create(&turn).unwrap();
    held.lock().unwrap();
    env.run(["apply"]).assert_exit(1).assert_stderr_has("right now");
    assert!(names(&env).is_empty());
    drop(held);
    env.run(["apply"]).assert_exit(0);
    assert_eq!(names(&env), ["x"]);
    assert_settled(&env);
}

#[test]
fn many_appliers_at_once_apply_once() {
    let env = env();
    stage(&env, "for i in 1 2 3 4 5 6 7 8 9; do mkdir d$i; echo $i > d$i/f; done");
    let mut children: Vec<_> = (0..6)
        .map(|_| {
            env.cofferdam()
                .arg("apply")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    assert!(wait_until(Duration::from_secs(30), || children
        .iter_mut()
        .all(|child| child.try_wait().unwrap().is_some())));
    for child in &mut children {
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 1)), "{code:?}");
    }
    assert_eq!(events(&env, "changes.applied"), 1);
    assert_eq!(names(&env).len(), 9);
    assert_settled(&env);
}
