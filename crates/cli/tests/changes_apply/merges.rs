//! `--merge`: both sides of a text survive where they do not touch; otherwise nothing is written.

use super::*;

const BASE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";

#[test]
fn edits_that_do_not_touch_are_both_kept() {
    both(|env| {
        env.file("f", BASE);
        stage(env, "sed -i s/two/TWO/ f");
        env.file("f", BASE.replace("seven", "SEVEN"));
        let host = identity(&env.workspace().join("f"));
        env.run(["apply"]).assert_exit(3).assert_stderr_has("--merge");
        env.run(["apply", "--merge", "--check"]).assert_exit(0);
        env.run(["apply", "--merge"]).assert_exit(0);
        assert_eq!(text(env, "f"), BASE.replace("two", "TWO").replace("seven", "SEVEN"));
        env.run(["undo"]).assert_exit(0);
        assert_eq!(text(env, "f"), BASE.replace("seven", "SEVEN"));
        assert_eq!(identity(&env.workspace().join("f")), host);
    });
}

#[test]
fn the_same_lines_and_binaries_are_refused() {
    let env = env();
    env.file("f", BASE);
    env.file("bin", b"\0\x01\x02");
    stage(&env, "sed -i s/two/TWO/ f; printf '\\0\\3' > bin");
    env.file("f", BASE.replace("two", "zwei"));
    env.file("bin", b"\0\x09");
    let before = tree(&env);
    let done = env.run(["apply", "--merge"]);
    done.assert_exit(3).assert_stderr_has("both sides changed line 2").assert_stderr_has("no text");
    assert_eq!(tree(&env), before);
}
