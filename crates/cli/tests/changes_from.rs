//! `run --from RUN` begins where another run ended, and speaks of what stood before *that* one.

use std::fs;

use cofferdam_testkit::{TestEnv, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

const FIRST: &str = "set -e; echo 1 >> edit; rm gone; rm -r tree; rm file; mkdir file; \
                     echo in > file/in; ln -sf new link; echo h > h1; ln h1 h2; mkdir shut; \
                     echo s > shut/s; chmod 500 shut; mkfifo fifo; rm -r again; mkdir again; \
                     echo n > again/new; truncate -s 100M holes";

fn furnish(env: &TestEnv) {
    for (name, text) in [
        ("edit", "base\n"),
        ("gone", "g"),
        ("tree/a/b", "b"),
        ("file", "f"),
        ("again/old", "o"),
        ("kept", "k"),
    ] {
        env.file(name, text);
    }
    env.symlink("old", "link");
}

#[test]
fn nothing_more_done_means_the_same_changes() {
    claim::as_root_and_as_user(BINARY, |env| {
        furnish(env);
        claim::run(env, &[], FIRST).assert_exit(0);
        let first = env.manifest("last");
        claim::run(env, &["--from", "last"], "true").assert_exit(0);
        let second = env.manifest("last");
        assert_eq!(second.entries, first.entries);
        assert_eq!(second.header["base"], first.header["base"], "the older base counts");
        // It stands by itself.
        let run = env.runs().remove(0);
        fs::remove_dir_all(env.run_dir(&run)).unwrap();
        assert_eq!(second.bytes("before", "tree/a/b"), b"b");
        assert_eq!(second.bytes("after", "file/in"), b"in\n");
        let shown = env.run(["show"]).assert_exit(0).stdout_text().into_owned();
        assert!(shown.contains(&format!("from        run {}", &run[run.len() - 8..])), "{shown}");
    });
}

#[test]
fn the_program_sees_what_was_left_and_goes_on() {
    claim::as_root_and_as_user(BINARY, |env| {
        furnish(env);
        claim::run(env, &[], FIRST).assert_exit(0);
        let before = env.tree_hash(env.workspace());
        let script = "cat edit file/in h2; readlink link; ls again; ls -d tree gone 2>/dev/null; \
                      stat -c %h h1; echo 2 >> edit; printf g > gone; rm -r file; printf f > file; \
                      rm h1; chmod 700 shut; rm -rf shut; mkdir tree; echo t > tree/t";
        let done = claim::run(env, &["--from", "last"], script);
        done.assert_exit(0).assert_stdout("base\n1\nin\nh\nnew\nnew\n2\n");
        assert_eq!(env.tree_hash(env.workspace()), before);
        let manifest = env.manifest("last");
        assert_eq!(
            manifest.list(),
            [
                "created again/new",
                "deleted again/old",
                "modified edit",
                "created fifo",
                "created h2",
                "created holes",
                "modified link",
                "deleted tree/a",
                "deleted tree/a/b",
                "created tree/t",
            ]
        );
        assert_eq!(manifest.bytes("before", "edit"), b"base\n");
        assert_eq!(manifest.bytes("after", "edit"), b"base\n1\n2\n");
    });
}

/// What the host did between the two runs is neither lost nor taken for what was there before.
#[test]
fn the_host_went_on_meanwhile() {
    claim::as_root_and_as_user(BINARY, |env| {
        furnish(env);
        claim::run(env, &[], "echo 1 >> edit; rm -r tree; rm gone").assert_exit(0);
        env.file("edit", "host\n");
        env.file("tree/a/host", "made since");
        env.file("fresh", "made since");
        fs::remove_file(env.workspace().join("gone")).unwrap();
        let done = claim::run(env, &["--from", "last"], "cat edit tree/a/host; rm fresh");
        done.assert_exit(0).assert_stdout("base\n1\nmade since");
        let manifest = env.manifest("last");
        assert_eq!(manifest.list(), ["modified edit", "deleted fresh", "deleted tree/a/b"]);
        assert_eq!(manifest.bytes("before", "edit"), b"base\n");
        assert_eq!(manifest.bytes("before", "fresh"), b"made since");
    });
}

#[test]
fn a_run_of_a_run_of_a_run() {
    let env = TestEnv::with_binary(BINARY);
    env.file("count", "0\n");
    claim::run(&env, &[], "echo 1 >> count").assert_exit(0);
    for n in 2..5 {
        claim::run(&env, &["--from", "last"], &format!("echo {n} >> count")).assert_exit(0);
    }
    let manifest = env.manifest("last");
    assert_eq!(manifest.bytes("before", "count"), b"0\n");
    assert_eq!(manifest.bytes("after", "count"), b"0\n1\n2\n3\n4\n");
}

#[test]
fn what_cannot_be_gone_on_from() {
    let env = TestEnv::with_binary(BINARY);
    env.file("a", "a");
    let refused = |flags: &[&str], word: &str| {
        claim::run(&env, flags, "touch never").assert_exit(125).assert_stderr_has(word);
        assert_eq!(env.latest_record()["outcome"]["class"], "refused");
    };
    refused(&["--from", "last"], "no run");
    claim::run(&env, &[], "echo b > a").assert_exit(0);
    let run = env.runs().pop().unwrap();
    refused(&["--from", "last", "--mode", "direct"], "only a staged run");
    // What was refused is not the last one.
    claim::run(&env, &["--from", "last"], "cat a").assert_exit(0).assert_stdout("b\n");
    env.run(["run", "--sandbox", "local", "--from", &run, "--", "true"])
        .assert_exit(125)
        .assert_stderr_has("only a staged run");
    let elsewhere = env.file("../other/x", "x");
    let elsewhere = elsewhere.parent().unwrap().to_str().unwrap();
    refused(&["--from", &run, "--workspace", elsewhere], "it worked in");
    claim::run(&env, &["--mode", "readonly"], "true").assert_exit(0);
    refused(&["--from", &env.runs().pop().unwrap()], "no sealed changes");
    let variable = |value: &str| {
        let mut command = env.cofferdam();
        command.args(claim::words(&env)).args(["--", "cat", "a"]).env("COFFERDAM_FROM", value);
        env.finish(command)
    };
    variable(&run).assert_exit(0).assert_stdout("b\n");

    let objects = env.run_dir(&run).join("objects");
    let object = objects.join(blake3::hash(b"b\n").to_hex().as_str());
    fs::remove_file(&object).unwrap();
    fs::write(&object, "evil").unwrap();
    let done = claim::run(&env, &["--from", &run], "cat a");
    done.assert_exit(125).assert_stdout("").assert_stderr_has("not what was sealed");
    assert!(env.latest_record()["changes"].is_null());
    fs::write(env.run_dir(&run).join("manifest"), "").unwrap();
    refused(&["--from", &run], "not the manifest that was sealed");
}

/// What was applied is on the host; what was discarded is gone. Only the rest is gone on with.
#[test]
fn only_what_is_undecided_is_gone_on_with() {
    claim::as_root_and_as_user(BINARY, |env| {
        for name in ["applied", "edit", "kept"] {
            env.file(name, "0\n");
        }
        claim::run(env, &[], "echo 1 >> applied; echo 1 >> edit; echo 1 > thrown").assert_exit(0);
        env.run(["apply", "last", "applied"]).assert_exit(0);
        env.run(["discard", "last", "thrown"]).assert_exit(0);
        let script = "cat applied edit; ls thrown 2>/dev/null; echo 2 >> applied; echo 2 >> edit";
        let done = claim::run(env, &["--from", "last"], script);
        done.assert_exit(0).assert_stdout("0\n1\n0\n1\n");
        let manifest = env.manifest("last");
        assert_eq!(manifest.bytes("before", "applied"), b"0\n1\n");
        assert_eq!(manifest.bytes("before", "edit"), b"0\n");
        env.run(["apply"]).assert_exit(0);
        let text = |name| fs::read_to_string(env.workspace().join(name)).unwrap();
        assert_eq!((text("applied"), text("edit")), ("0\n1\n2\n".into(), "0\n1\n2\n".into()));
        assert!(!env.workspace().join("thrown").exists());
    });
}

#[test]
fn after_everything_was_discarded_there_is_nothing_to_go_on_from() {
    claim::as_root_and_as_user(BINARY, |env| {
        claim::run(env, &[], "mkdir d; echo 1 > d/f; echo 2 > g").assert_exit(0);
        env.run(["discard"]).assert_exit(0);
        claim::run(env, &["--from", "last"], "ls").assert_exit(0).assert_stdout("");
        assert_eq!(env.manifest("last").entries.len(), 0);
    });
}

#[test]
fn a_directory_that_was_applied_and_is_gone_is_made_again() {
    claim::as_root_and_as_user(BINARY, |env| {
        claim::run(env, &[], "mkdir d; echo 1 > d/f; echo 2 > d/g").assert_exit(0);
        env.run(["apply", "last", "d/f"]).assert_exit(0);
        fs::remove_dir_all(env.workspace().join("d")).unwrap();
        claim::run(env, &["--from", "last"], "cat d/g; ls d")
            .assert_exit(0)
            .assert_stdout("2\ng\n");
    });
}
