//! What a container changed is sealed and applied like what a native sandbox changed; and no mode of a
//! container writes to the host's repository.

use std::fs;
use std::path::{Path, PathBuf};

use cofferdam_testkit::docker::{Which, as_root_and_as_user};
use cofferdam_testkit::{TestEnv, claim};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

const WORK: &str = "echo new > edit; rm gone; chmod 700 mode; rm -r tree; mkdir -p made/deep; \
                    echo x > made/deep/file; ln -s ../edit made/link; rm -r anew; mkdir anew; \
                    echo y > anew/b; rm kind; mkdir kind; cat keep";

/// What was sealed, without what differs from run to run.
#[track_caller]
fn sealed(env: &TestEnv) -> Vec<Value> {
    let manifest = env.manifest("last");
    for gone in ["upper", "work", "lower", "covers", "etc", "bases", "blocked-placeholders"] {
        assert!(!env.run_dir("last").join(gone).exists(), "{gone} is left");
    }
    let part = |entry: &Value| {
        let after = &entry["after"];
        json!([entry["change"], entry["path"], after["kind"], after["mode"], after["content"]])
    };
    manifest.entries.iter().map(part).collect()
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn the_same_set_as_native() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        for name in ["keep", "edit", "gone", "mode", "kind", "tree/a/one", "tree/two", "anew/a"] {
            env.file(name, "old");
        }
        let before = env.tree_hash(".");
        claim::run(env, &[], WORK).assert_exit(0);
        let expected = sealed(env);
        assert!(expected.len() > 10, "{expected:?}");
        engine.run(env, &[], WORK).assert_exit(0);
        assert_eq!(sealed(env), expected);
        assert_eq!(env.tree_hash("."), before);
        let record = env.latest_record();
        assert_eq!(
            (&record["backend"], &record["changes"]["deleted"]),
            (
                &json!("docker"),
                &json!(expected.iter().filter(|entry| entry[0] == "deleted").count()),
            )
        );
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn gone_on_with_and_applied() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        env.file("f", "old\n");
        env.file("gone", "g\n");
        env.file("d/a", "a\n");
        env.file("lost/x", "x\n");
        let script = "echo one > f; rm -r gone lost d; mkdir d new; echo > d/b";
        engine.run(env, &[], script).assert_exit(0);
        let first = env.runs().pop().unwrap();
        // What the earlier run made can be worked in, and what it removed cannot, nor is it made anew.
        engine
            .run(env, &["--from", &first, "--workdir", "lost"], "true")
            .assert_exit(125)
            .assert_stderr_has("working directory");
        let flags = ["--from", &first, "--workdir", "new"];
        let done =
            engine.run(env, &flags, "cat ../f; ls .. ../d; echo two >> ../f; echo c > ../d/c");
        done.assert_exit(0).assert_stdout("one\n..:\nd\nf\nnew\n\n../d:\nb\n");
        assert_eq!(fs::read(env.workspace().join("f")).unwrap(), b"old\n");
        engine.command(env, ["apply", "last"]).assert_exit(0);
        assert_eq!(fs::read(env.workspace().join("f")).unwrap(), b"one\ntwo\n");
        assert_eq!(fs::read(env.workspace().join("d/c")).unwrap(), b"c\n");
        for gone in ["gone", "lost", "d/a"] {
            assert!(!env.workspace().join(gone).exists(), "{gone}");
        }
        engine.command(env, ["undo", "last"]).assert_exit(0);
        assert_eq!(fs::read(env.workspace().join("f")).unwrap(), b"old\n");
        assert!(env.workspace().join("d/a").exists());
    });
}

#[track_caller]
fn git(env: &TestEnv, dir: &Path, args: &[&str]) {
    let mut command = env.program("git");
    command.current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "user.email=a@b", "-c", "user.name=n"]).args(args);
    env.finish(command).assert_exit(0);
}

fn repository(env: &TestEnv) -> PathBuf {
    let dir = env.top().join("repo");
    env.file("../repo/tracked", "1\n");
    git(env, &dir, &["init", "-q", "-b", "main", "."]);
    git(env, &dir, &["add", "."]);
    git(env, &dir, &["commit", "-qm", "first"]);
    dir
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn no_mode_writes_to_the_repository() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        let repo = repository(env);
        let before = env.tree_hash(repo.join(".git"));
        let script = "git log --format=%s; echo x > .git/hooks/pre-commit || echo kept; \
                      mv .git away || echo stays; echo 2 > tracked; echo end";
        for (mode, said) in [
            ("direct", "first\nkept\nstays\nend\n"),
            ("readonly", "first\nkept\nstays\nend\n"),
            ("stage", "first\nend\n"),
        ] {
            let flags = ["--workspace", repo.to_str().unwrap(), "--mode", mode];
            engine.run(env, &flags, script).assert_exit(0).assert_stdout(said);
            assert_eq!(env.tree_hash(repo.join(".git")), before, "{mode}");
        }
        assert_eq!(fs::read(repo.join("tracked")).unwrap(), b"2\n", "direct is direct");
    });
}
