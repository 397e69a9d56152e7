//! Which run, which paths, and what is said where there is nothing to show.

use std::fs;

use cofferdam_testkit::TestEnv;

use crate::Bench;

fn names(env: &TestEnv, args: &[&str]) -> Vec<String> {
    let shown = env.run(["diff", "--name-only"].iter().chain(args));
    shown.assert_exit(0);
    shown.stdout_text().lines().map(str::to_owned).collect()
}

#[test]
fn a_run_a_path_or_both() {
    let bench = Bench::new();
    bench.made("src/a", "1");
    bench.made("src/b", "2");
    bench.made("top", "3");
    let run = bench.seal();
    let all = ["src", "src/a", "src/b", "top"];
    assert_eq!(names(&bench.env, &[]), all);
    assert_eq!(names(&bench.env, &["last"]), all);
    assert_eq!(names(&bench.env, &[&run]), all);
    assert_eq!(names(&bench.env, &[&run[18..], "./top"]), ["top"]);
    assert_eq!(names(&bench.env, &["src"]), ["src", "src/a", "src/b"]);
    assert_eq!(names(&bench.env, &["src/b", "top"]), ["src/b", "top"]);
    assert_eq!(names(&bench.env, &["src/../top"]), ["top"]);
    assert_eq!(names(&bench.env, &["."]), all);
    fs::create_dir(bench.env.workspace().join("src")).unwrap();
    let mut below = bench.env.cofferdam();
    below.args(["diff", "--name-only", "a"]).current_dir(bench.env.workspace().join("src"));
    bench.env.finish(below).assert_exit(0).assert_stdout("src/a\n");
}

#[test]
fn a_name_that_fits_nothing_is_a_mistake() {
    let bench = Bench::new();
    bench.made("a", "1");
    bench.seal();
    bench
        .env
        .run(["diff", "nothing"])
        .assert_exit(1)
        .assert_stderr_has("changed nothing at nothing");
    // Where nothing is applied, too.
    bench
        .env
        .run(["undo", "nothing"])
        .assert_exit(1)
        .assert_stderr_has("changed nothing at nothing")
        .assert_stderr_has("`cofferdam runs` lists runs");
    bench.env.run(["diff", "a", "b"]).assert_exit(1).assert_stderr_has("changed nothing at b");
    bench.env.run(["diff", "../x"]).assert_exit(2).assert_stderr_has("not in the workspace");
    bench.env.run(["diff", "/etc/passwd"]).assert_exit(2).assert_stderr_has("not in the workspace");
    bench.env.run(["diff", "--stat", "--json"]).assert_exit(2);
    bench.env.run(["diff", "-z"]).assert_exit(2);
}

#[test]
fn nothing_to_show_is_said() {
    let bench = Bench::new();
    let run = bench.seal();
    let word = format!("run {} has no pending changes", &run[18..]);
    bench.env.run(["diff"]).assert_exit(0).assert_stdout("").assert_stderr_has(&word);
    bench.env.run(["diff", "--json"]).assert_exit(0).assert_stdout("[]\n");
}

#[test]
fn a_run_without_a_change_set_says_why() {
    let bench = Bench::new();
    bench.env.run(["diff"]).assert_exit(1).assert_stderr_has("there is no run in");
    bench.env.run(["run", "-q", "--sandbox", "local", "--", "true"]).assert_exit(0);
    let direct = bench.env.run(["diff"]);
    direct.assert_exit(1).assert_stderr_has("mode direct").assert_stderr_has("remedy: ");
    bench
        .env
        .run(["run", "--sandbox", "local", "--network", "host", "--", "true"])
        .assert_exit(125);
    // `last` passes it over, so that it has to be named.
    bench.env.run(["diff"]).assert_exit(1).assert_stderr_has("mode direct");
    let listed = bench.env.run(["runs", "--limit", "1", "--json"]).json();
    let refused = listed[0]["run"].as_str().unwrap().to_owned();
    let said = bench.env.run(["diff", &refused]);
    said.assert_exit(1).assert_stderr_has("was refused").assert_stderr_has("`cofferdam show ");
}

#[test]
fn what_was_changed_behind_the_seal_is_not_shown() {
    let bench = Bench::new();
    bench.both("a", "old\n", "new\n");
    let run = bench.seal();
    let dir = bench.env.state_dir().join("runs").join(run);
    for object in fs::read_dir(dir.join("objects")).unwrap() {
        let path = object.unwrap().path();
        if fs::read(&path).unwrap() == b"new\n" {
            fs::write(&path, "evil\n").unwrap();
        }
    }
    let tampered = bench.env.run(["diff"]);
    tampered.assert_exit(1).assert_stderr_has("is not what was sealed");
    assert!(!tampered.stdout_text().contains("evil"));
    let manifest = fs::read_to_string(dir.join("manifest")).unwrap();
    fs::write(dir.join("manifest"), manifest.replace("\"a\"", "\"b\"")).unwrap();
    bench.env.run(["diff", "--name-only"]).assert_exit(1).assert_stderr_has("not the manifest");
}
