//! What changed on the host meanwhile is not overwritten: nothing is written, and it is said why.

use std::os::unix::fs::symlink;

use super::*;

/// Edits the host after the run; apply must refuse, and leave every byte as it is.
#[track_caller]
fn refused(env: &TestEnv, words: &str) {
    let before = tree(env);
    let conflicts = events(env, "changes.conflict");
    apply(env).assert_exit(3).assert_stderr_has(words);
    assert_eq!(tree(env), before, "something was written");
    assert_eq!(events(env, "changes.conflict"), conflicts + 1);
    env.run(["apply", "--check", "--allow-budget"]).assert_exit(3);
    assert_settled(env);
}

/// The path that is named, words about it, and what somebody does on the host.
type Edit = (&'static str, &'static str, fn(&Path));

#[test]
fn a_host_edit_of_each_kind_is_a_conflict() {
    let edits: [Edit; 8] = [
        ("f", "content was changed", |ws| fs::write(ws.join("f"), "mine").unwrap()),
        ("f", "content was changed", |ws| fs::write(ws.join("f"), "ola\n").unwrap()),
        ("f", "mode was changed", |ws| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            fs::set_permissions(ws.join("f"), mode).unwrap();
        }),
        ("f", "was deleted", |ws| fs::remove_file(ws.join("f")).unwrap()),
        ("f", "is a symlink", |ws| {
            fs::remove_file(ws.join("f")).unwrap();
            symlink("g", ws.join("f")).unwrap();
        }),
        ("d/new", "of that name is on the host", |ws| fs::write(ws.join("d/new"), "mine").unwrap()),
        ("gone", "holds something", |ws| fs::write(ws.join("gone/mine"), "mine").unwrap()),
        ("d/new", "directory is not there", |ws| fs::remove_dir_all(ws.join("d")).unwrap()),
    ];
    for (path, words, edit) in edits {
        both(|env| {
            for (name, content) in [("f", "old\n"), ("d/x", "x"), ("gone/a", "a"), ("other", "o")] {
                env.file(name, content);
            }
            stage(env, "echo new > f; echo n > d/new; rm -r gone; echo p > other");
            edit(&env.workspace());
            refused(env, words);
            apply(env).assert_stderr_has(path);
            // The rest can be applied all the same.
            let rest: Vec<&str> = ALL.iter().copied().chain(["--rest"]).collect();
            env.run(rest).assert_exit(0);
            assert_eq!(text(env, "other"), "p\n");
        });
    }
}

#[test]
fn an_edit_that_keeps_size_and_mtime_is_seen() {
    let env = env();
    let path = env.file("f", "old");
    stage(&env, "echo new > f");
    let mtime = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "odd").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(mtime).unwrap();
    refused(&env, "content was changed");
}

#[test]
fn a_file_that_was_only_touched_is_no_conflict() {
    let env = env();
    let path = env.file("f", "old");
    stage(&env, "echo new > f");
    fs::write(&path, "old").unwrap();
    apply(&env).assert_exit(0);
    assert_eq!(text(&env, "f"), "new\n");
}

#[test]
fn a_directory_swapped_for_a_link_is_not_followed() {
    both(|env| {
        env.file("src/a", "a");
        let elsewhere = env.top().join("elsewhere");
        stage(env, "echo new > src/a; echo n > src/new; mkdir src/sub; echo s > src/sub/s");
        fs::rename(env.workspace().join("src"), &elsewhere).unwrap();
        symlink(&elsewhere, env.workspace().join("src")).unwrap();
        let outside = TreeHash::of(&elsewhere);
        refused(env, "link or a file");
        let rest: Vec<&str> = ALL.iter().copied().chain(["--rest"]).collect();
        env.run(rest).assert_exit(0);
        assert_eq!(TreeHash::of(&elsewhere), outside, "something was written outside");
    });
}

#[test]
fn what_the_host_has_already_is_no_conflict() {
    let env = env();
    env.file("f", "old");
    stage(&env, "echo new > f; mkdir d; echo x > d/x");
    env.file("f", "new\n");
    env.file("d/x", "x\n");
    apply(&env).assert_exit(0);
    assert_eq!(text(&env, "f"), "new\n");
    let again = env.run(["apply", "--json"]).json();
    assert_eq!(again["outcome"], "nothing");
}

#[test]
fn undo_refuses_what_was_edited_since() {
    both(|env| {
        env.file("f", "old");
        env.file("gone", "g");
        stage(env, "echo new > f; mkdir d; echo x > d/x; rm gone");
        for (path, edit) in [
            ("f", (|ws: &Path| fs::write(ws.join("f"), "mine").unwrap()) as fn(&Path)),
            ("d/x", |ws| fs::remove_file(ws.join("d/x")).unwrap()),
            ("d", |ws| fs::write(ws.join("d/mine"), "mine").unwrap()),
            ("gone", |ws| fs::write(ws.join("gone"), "mine").unwrap()),
        ] {
            apply(env).assert_exit(0);
            let applied = tree(env);
            edit(&env.workspace());
            let before = tree(env);
            env.run(["undo", "--check"]).assert_exit(3);
            env.run(["undo"]).assert_exit(3).assert_stderr_has(path);
            assert_eq!(tree(env), before, "{path}: something was written");
            // Put right, it can be undone.
            let ws = env.workspace();
            match path {
                "f" => fs::write(ws.join("f"), "new\n").unwrap(),
                "d/x" => fs::write(ws.join("d/x"), "x\n").unwrap(),
                "d" => fs::remove_file(ws.join("d/mine")).unwrap(),
                _ => fs::remove_file(ws.join("gone")).unwrap(),
            }
            assert_eq!(tree(env), applied);
            env.run(["undo", "--check"]).assert_exit(0);
            env.run(["undo"]).assert_exit(0);
            assert_eq!((text(env, "f"), text(env, "gone")), ("old".into(), "g".into()));
        }
        assert_settled(env);
    });
}

/// A file that the user cannot read was changed by nobody, as far as anybody knows.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs root: cargo xtask test")]
fn what_cannot_be_read_is_not_called_changed() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let env = env().unprivileged();
    env.file("d/mine", "m");
    let closed = env.file("d/closed", "c");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).unwrap();
    chown(&closed, Some(0), Some(0)).unwrap();
    stage(&env, "mv -f d/mine d/closed");
    let refused = apply(&env);
    refused.assert_exit(3).assert_stderr_has("you cannot read it");
    assert!(!refused.stderr_text().contains("was changed on the host"), "{refused:?}");
    assert!(closed.exists() && env.workspace().join("d/mine").exists());
}
