//! `last` is the newest run of the innermost workspace around; for whoever is about changes, the newest that was run.

use std::fs;
use std::path::Path;

use cofferdam_testkit::{Finished, TestEnv};

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

fn within(env: &TestEnv, directory: &Path, words: &[&str]) -> Finished {
    let mut cofferdam = env.cofferdam();
    cofferdam.current_dir(directory).args(words);
    env.finish(cofferdam)
}

const RUN: [&str; 6] = ["run", "--quiet", "--sandbox", "native", "--relax", "limits"];

#[test]
fn a_refused_run_is_passed_over_where_it_is_about_changes() {
    let env = env();
    env.run(["diff"]).assert_exit(1).assert_stderr_has("start one with `cofferdam run");
    env.run(["run", "--network", "everything", "--", "true"]).assert_exit(125);
    // Where nothing else is there, it is what there is to look at.
    env.run(["show"]).assert_exit(0).assert_stdout_has("was refused");
    env.run(RUN.iter().chain(&["--", "touch", "made"])).assert_exit(0);
    env.run(["run", "--network", "everything", "--", "true"]).assert_exit(125);
    env.run(["diff", "--name-only"]).assert_exit(0).assert_stdout("made\n");
    env.run(["show", "last"]).assert_exit(0).assert_stdout_has("was refused");
    let listed = env.run(["runs"]);
    assert_eq!(listed.stdout_text().matches("was refused").count(), 2, "{}", listed.stdout_text());
    env.run(["apply"]).assert_exit(0);
    assert!(env.workspace().join("made").exists());
}

#[test]
fn the_innermost_workspace_counts() {
    let env = env();
    let inner = env.workspace().join("inner");
    fs::create_dir_all(inner.join("deep")).unwrap();
    let touch = |name: &'static str| RUN.iter().copied().chain(["--", "touch", name]);
    within(&env, &inner, &touch("of-inner").collect::<Vec<_>>()).assert_exit(0);
    within(&env, &env.workspace(), &touch("of-outer").collect::<Vec<_>>()).assert_exit(0);
    let diff = ["diff", "--name-only"];
    within(&env, &env.workspace(), &diff).assert_stdout("of-outer\n");
    within(&env, &inner, &diff).assert_stdout("of-inner\n");
    within(&env, &inner.join("deep"), &diff).assert_stdout("of-inner\n");
}
