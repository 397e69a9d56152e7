//! What a session changed is looked at and applied while it goes on, and it can go back to a checkpoint.

use cofferdam_testkit::{TestEnv, TreeHash, claim};

use super::{BINARY, Session};

fn names(env: &TestEnv, args: &[&str]) -> Vec<String> {
    let listed = env.run(["diff", "--name-only"].iter().chain(args));
    listed.assert_exit(0);
    listed.stdout_text().lines().map(str::to_owned).collect()
}

#[test]
fn half_is_applied_and_the_other_half_stays_to_be_reviewed() {
    claim::as_root_and_as_user(BINARY, |env| {
        for name in ["one", "two", "gone"] {
            env.file(name, "old\n");
        }
        let session = Session::start(env, &[]);
        session.exec(&[], "echo new > one; echo new > two; rm gone; mkdir d; echo x > d/made");
        let here = ["--session", "last"];
        // Before anybody has looked, the newest run is the session itself.
        for command in ["diff", "apply"] {
            let said = env.run([command]).assert_exit(1).stderr_text().into_owned();
            assert!(said.contains("diff --session ") && !said.contains("gc"), "{said}");
        }
        assert_eq!(names(env, &here), ["d", "d/made", "gone", "one", "two"]);
        env.run(["apply", "--session", "last", "one", "gone"]).assert_exit(0);
        let host = |name: &str| std::fs::read_to_string(env.workspace().join(name)).ok();
        assert_eq!(
            (host("one").as_deref(), host("two").as_deref()),
            (Some("new\n"), Some("old\n"))
        );
        assert_eq!(host("gone"), None);
        // The session sees no difference, and what was applied is not there to be decided again.
        session.exec(&[], "cat one two; test ! -e gone").assert_exit(0).assert_stdout("new\nnew\n");
        assert_eq!(names(env, &here), ["d", "d/made", "two"]);
        // What was applied and is changed again is a change of what was applied.
        session.exec(&[], "echo newer > one").assert_exit(0);
        assert_eq!(names(env, &here), ["d", "d/made", "one", "two"]);
        let shown = env.run(["diff", "--session", "last", "one"]);
        assert!(shown.stdout_text().contains("+newer"), "{}", shown.stdout_text());
        env.run(["apply", "--session", "last", "one"]).assert_exit(0);
        assert_eq!(host("one").as_deref(), Some("newer\n"));
        env.run(["discard", "--session", "last", "d"]).assert_exit(0);
        assert_eq!(names(env, &here), ["two"]);
        session.sub("stop", &[]).assert_exit(0);
        // The end is that of the session, not the newest look at it.
        assert_eq!(names(env, &[]), ["two"]);
        env.run(["apply"]).assert_exit(0);
        assert_eq!(host("two").as_deref(), Some("new\n"));
        env.run(["audit", "verify"]).assert_exit(0);
    });
}

/// What the program goes on writing to must not change what was looked at.
#[test]
fn a_look_stays_what_it_was() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &[]);
    // Larger than what is kept by its bytes at once.
    session.exec(&[], "head -c 20000000 /dev/zero > large; echo small > small").assert_exit(0);
    let look = session.sub("checkpoint", &["before"]);
    let look = look.assert_exit(0).stdout_text().trim().to_owned();
    session.exec(
        &[],
        "printf X | dd of=large conv=notrunc status=none; chmod 666 large; echo y >> small",
    );
    session.exec(&[], "stat -c %a large").assert_stdout("666\n");
    env.run(["apply", &look]).assert_exit(0);
    let large = std::fs::read(env.workspace().join("large")).unwrap();
    assert!(large.len() == 20_000_000 && large.iter().all(|byte| *byte == 0));
}

#[test]
fn a_rollback_restores_the_tree_exactly() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("kept", "host\n");
        env.file("src/lib.rs", "fn old() {}\n");
        let session = Session::start(env, &["--timeout", "60s"]);
        let make = "echo a > made; ln -s made link; mkdir -m 700 d; echo x > d/run; chmod 755 d/run; \
                    echo changed > kept; rm -r src; mkdir src; echo fresh > src/new";
        session.exec(&[], make).assert_exit(0);
        let listing = "find . -printf '%p %y %m %l\\n' | sort; cat made kept d/run src/new";
        let before = session.exec(&[], listing).stdout;
        session.sub("checkpoint", &["good"]).assert_exit(0);
        let ruin =
            "rm -r made d link; echo worse > kept; rm -r src; echo no > src; echo junk > junk";
        session.exec(&[], ruin).assert_exit(0);
        session.sub("exec", &["--detach", "--", "sleep", "600"]).assert_exit(0);
        session.sub("rollback", &["nothing"]).assert_exit(1);
        let back = session.sub("rollback", &["good"]);
        let id = back.assert_exit(0).stdout_text().trim().to_owned();
        assert_ne!(id, session.id, "another run, with a record of its own");
        // The first id goes on to be good.
        assert_eq!(session.exec(&[], listing).stdout, before);
        let again = Session { env, id };
        let after = again.exec(&[], listing).stdout;
        assert_eq!(String::from_utf8_lossy(&after), String::from_utf8_lossy(&before));
        // The settings are those of the first, and its checkpoints are known.
        again.exec(&["--timeout", "61s"], "true").assert_exit(125);
        again.exec(&[], "pgrep -x sleep").assert_exit(1);
        again.exec(&[], "rm made").assert_exit(0);
        let third = again.sub("rollback", &["good"]);
        let third = Session { env, id: third.assert_exit(0).stdout_text().trim().to_owned() };
        assert_eq!(third.exec(&[], listing).stdout, before);
        session.exec(&[], "exit 5").assert_exit(5);
        assert_eq!(names(env, &["--session", &session.id]), names(env, &["--session", &third.id]));
        third.sub("stop", &[]).assert_exit(0);
        env.run(["apply", "--allow-class", "executable"]).assert_exit(0);
        let host = TreeHash::of(&env.workspace().join("src"));
        assert_ne!(host, TreeHash::of(&env.workspace()));
        assert!(
            env.workspace().join("src/new").exists()
                && !env.workspace().join("src/lib.rs").exists()
        );
    });
}

/// What the host's file held when the session touched it is kept, so that both sides can be merged.
#[test]
fn a_file_that_both_sides_edit_is_merged() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("both_sides", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
        let session = Session::start(env, &[]);
        session.exec(&[], "sed -i s/one/inside/ both_sides; sleep 0.5").assert_exit(0);
        env.file("both_sides", "one\ntwo\nthree\nfour\nfive\nsix\noutside\n");
        session.sub("stop", &[]).assert_exit(0);
        env.run(["apply", "--merge"]).assert_exit(0);
        let merged = std::fs::read_to_string(env.workspace().join("both_sides")).unwrap();
        assert_eq!(merged, "inside\ntwo\nthree\nfour\nfive\nsix\noutside\n");
    });
}

/// Neither has a command of its own, and each says what it is, to people as to programs.
#[test]
fn a_session_and_a_look_at_it_are_listed_as_what_they_are() {
    let env = TestEnv::with_binary(BINARY);
    let session = Session::start(&env, &[]);
    session.exec(&[], "echo x > f").assert_exit(0);
    env.run(["diff", "--session", &session.id, "--name-only"]).assert_exit(0);
    let json = env.run(["runs", "--json"]).assert_exit(0).json();
    let said = json[0]["outcome"]["message"].as_str().unwrap().to_owned();
    assert!(said.starts_with("a look at session "), "{json}");
    assert_eq!((&json[0]["purpose"], &json[1]["purpose"]), (&"look".into(), &"session".into()));
    let listed = env.run(["runs"]);
    let lines: Vec<String> = listed.stdout_text().lines().map(str::to_owned).collect();
    assert!(lines[1].ends_with(&said), "{lines:?}");
    assert!(lines[2].ends_with("  a session"), "{lines:?}");
    env.run(["show", &session.id]).assert_stdout_has("command     a session\n");
}
