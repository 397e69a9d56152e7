//! A file that was moved is under one of its names, or under both, whatever of the move is applied.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn executable(env: &TestEnv, name: &str) {
    let path = env.file(name, "#!/bin/sh\necho hi\n");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn names_in(env: &TestEnv, dir: &str) -> Vec<String> {
    let entries = fs::read_dir(env.workspace().join(dir)).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_rest_leaves_a_move_whose_end_is_blocked() {
    both(|env| {
        executable(env, "tools/a.sh");
        env.file("doc.md", "one\n");
        stage(env, "mv tools/a.sh tools/b.sh; echo two >> doc.md");
        let why = "left: tools/a.sh: moved to tools/b.sh, which is not applied\n";
        let check = env.run(["apply", "--rest", "--check"]);
        assert!(check.assert_exit(0).stdout_text().contains(why), "{check:?}");
        let done = env.run(["apply", "--rest"]);
        assert!(done.assert_exit(0).stdout_text().contains(why), "{done:?}");
        assert!(done.stdout_text().contains("applied 1 modified, 2 left pending"), "{done:?}");
        assert_eq!(names_in(env, "tools"), ["a.sh"]);
        assert_eq!(text(env, "doc.md"), "one\ntwo\n");
        let json = env.run(["apply", "--rest", "--json"]).assert_exit(0).json();
        assert_eq!(json["held"][0]["path"], "tools/a.sh");
        assert_eq!(json["held"][0]["reasons"][0], "moved to tools/b.sh, which is not applied");
        // With a yes the move is made, as one.
        env.run(["apply", "--rest", "--allow-class=executable"]).assert_exit(0);
        assert_eq!(names_in(env, "tools"), ["b.sh"]);
        env.run(["undo"]).assert_exit(0);
        assert_eq!(names_in(env, "tools"), ["a.sh"]);
        env.run(["discard"]).assert_exit(0);
        assert_eq!(names_in(env, "tools"), ["a.sh"]);
        assert_settled(env);
    });
}

#[test]
fn what_is_applied_by_itself_leaves_a_move_that_needs_a_look() {
    both(|env| {
        env.host_config("changes: {auto: [\"**\"]}");
        executable(env, "tools/a.sh");
        claim::run(env, &["--apply"], "mv tools/a.sh tools/b.sh; echo x > f").assert_exit(0);
        assert_eq!(names_in(env, "tools"), ["a.sh"]);
        assert_eq!(text(env, "f"), "x\n");
        let json = env.run(["apply", "--auto", "--json"]).assert_exit(0).json();
        assert_eq!(json["held"][0]["path"], "tools/a.sh");
        assert_eq!(names_in(env, "tools"), ["a.sh"]);
    });
}

#[test]
fn a_move_to_where_git_ignores_it_is_left() {
    both(|env| {
        env.file(".gitignore", "out/\n");
        env.file("doc.md", "one\ntwo\nthree\n");
        env.file("old/deep/f", "text\n");
        stage(env, "mkdir out; mv doc.md out/; mv old out/; echo x > f");
        let done = env.run(["apply", "--no-ignored"]);
        let said = done.assert_exit(0).stdout_text();
        let why = "left: doc.md: moved to out/doc.md, which is not applied\n";
        assert!(said.contains(why) && said.contains("applied 1 created,"), "{said}");
        // The directories of what stays stay, too.
        assert_eq!(text(env, "doc.md") + &text(env, "old/deep/f"), "one\ntwo\nthree\ntext\n");
        assert_eq!(names(env), [".gitignore", "doc.md", "f", "old"]);
        env.run(["apply"]).assert_exit(0);
        assert_eq!(names(env), [".gitignore", "f", "out"]);
        assert_settled(env);
    });
}

#[test]
fn a_move_that_was_edited_on_the_way_is_left_as_one_that_was_not() {
    let env = env();
    executable(&env, "tools/a.sh");
    stage(&env, "mv tools/a.sh tools/b.sh; echo 'echo more' >> tools/b.sh");
    env.run(["apply", "--rest"]).assert_exit(0);
    assert_eq!(names_in(&env, "tools"), ["a.sh"]);
}

#[test]
fn a_move_whose_end_the_host_has_otherwise_is_left() {
    let env = env();
    env.file("a", "one\n");
    stage(&env, "mv a b; echo x > f");
    env.file("b", "the host's own\n");
    let done = env.run(["apply", "--rest"]);
    done.assert_exit(0);
    assert_eq!((text(&env, "a"), text(&env, "b")), ("one\n".into(), "the host's own\n".into()));
    assert_eq!(text(&env, "f"), "x\n");
}

#[test]
fn what_was_deleted_and_not_moved_goes() {
    let env = env();
    executable(&env, "a");
    env.file("b", "another text altogether\n");
    stage(&env, "rm b; mv a c");
    env.run(["apply", "--rest"]).assert_exit(0);
    assert_eq!(names(&env), ["a"]);
}

#[test]
fn who_names_a_path_gets_it() {
    let env = env();
    executable(&env, "tools/a.sh");
    env.file("doc.md", "one\n");
    stage(&env, "mv tools/a.sh tools/b.sh; mkdir new; mv doc.md new/");
    // A directory with both ends in it names neither.
    env.run(["apply", "--rest", "tools"]).assert_exit(0);
    assert_eq!(names_in(&env, "tools"), ["a.sh"]);
    env.run(["apply", "--rest", "tools/a.sh", "tools/b.sh"]).assert_exit(0);
    assert_eq!(names_in(&env, "tools"), [""; 0]);
    env.run(["apply", "doc.md"]).assert_exit(0);
    assert_eq!(names(&env), ["tools"]);
}
