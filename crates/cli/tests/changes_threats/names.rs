//! Names and links that would lead a write elsewhere, or be taken for something else.

use super::*;

#[test]
fn a_link_that_leads_out_and_a_file_behind_it() {
    both(|env| {
        let outside = env.top().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("canary"), "c").unwrap();
        let canaries = env.tree_hash(&outside);
        env.file("out/x", "old");
        stage(
            env,
            &format!(
                "rm -r out; ln -s {} out; echo evil > out/x 2>/dev/null || :",
                outside.display()
            ),
        );
        assert_eq!(env.manifest("last").list(), ["retyped out", "deleted out/x"]);
        assert_eq!(judged(env, "out")["classes"], serde_json::json!(["escaping-symlink"]));
        refused(env, &[]);
        env.run(["apply", "--allow-class", "escaping-symlink"]).assert_exit(0);
        assert_eq!(fs::read_link(env.workspace().join("out")).unwrap(), outside);
        assert_eq!(env.tree_hash(&outside), canaries);
        env.run(["undo"]).assert_exit(0);
        assert_eq!(text(env, "out/x"), "old");
        assert_eq!(env.tree_hash(&outside), canaries);
    });
}

/// The names that other kinds of overlays use for their marks are names like others here.
#[test]
fn whiteouts_of_other_overlays_are_ordinary_files() {
    both(|env| {
        env.file("d/old", "o");
        env.file("kept", "k");
        stage(env, "echo 1 > .wh.kept; echo 2 > d/.wh..wh..opq");
        let list = env.manifest("last").list();
        assert_eq!(list, ["created .wh.kept", "created d/.wh..wh..opq"]);
        env.run(["apply"]).assert_exit(0);
        assert_eq!((text(env, "kept"), text(env, "d/old")), ("k".into(), "o".into()));
    });
}

#[test]
fn a_rename_that_changes_only_the_case() {
    both(|env| {
        env.file("Case/One", "1");
        env.file("two", "2");
        stage(env, "mv Case/One Case/one; mv Case case; mv two Two");
        env.run(["apply"]).assert_exit(0);
        assert_eq!(names(env), ["Two", "case"]);
        assert_eq!(text(env, "case/one"), "1");
        env.run(["undo"]).assert_exit(0);
        assert_eq!(
            (names(env), text(env, "Case/One")),
            (vec!["Case".into(), "two".into()], "1".into())
        );
    });
}

/// Whoever hides changes where `git status` does not look hides them from git only.
#[test]
fn changes_in_ignored_places_alone_are_listed() {
    both(|env| {
        env.file(".gitignore", "build/\n*.log\n");
        env.file(".git/HEAD", "ref: refs/heads/main\n");
        stage(env, "mkdir build; echo x > build/x; echo l > a.log; echo d > .git/description");
        let listed = env.run(["diff", "--name-only"]);
        listed.assert_exit(0).assert_stdout(".git/description\na.log\nbuild\nbuild/x\n");
        for args in [&["diff"][..], &["diff", "--stat"], &["gate"]] {
            let said = env.run(args).stdout_text().into_owned();
            for name in ["build/x", "a.log", ".git/description"] {
                assert!(said.contains(name), "{name} in {args:?}: {said}");
            }
        }
        refused(env, &[]);
    });
}
