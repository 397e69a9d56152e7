//! `--hunk`: some of a file now, the rest later, and back the same way.

use super::*;

fn numbered() -> String {
    (1..=40).map(|n| format!("{n}\n")).collect()
}

/// What `diff` prints after the number of a hunk, where some of the file was applied before.
fn mark(env: &TestEnv) -> String {
    let shown = env.run(["diff", "f"]).stdout_text().into_owned();
    let (_, mark) = shown.split_once("hunk 1@").expect(&shown);
    mark.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn some_hunks_now_and_the_rest_later() {
    both(|env| {
        env.file("f", numbered());
        env.file("other", "o");
        stage(
            env,
            "sed -i -e 's/^5$/five/' -e 's/^20$/twenty/' -e 's/^35$/lots/' f; echo p > other",
        );
        env.run(["apply", "--hunk", "f:2"]).assert_exit(0);
        let second = numbered().replace("\n20\n", "\ntwenty\n");
        assert_eq!((text(env, "f"), text(env, "other")), (second.clone(), "o".into()));
        // Of what is left, the first two remain: the numbers are those of what is shown now.
        let rest = format!("f:1,2@{}", mark(env));
        env.run(["apply", "--hunk", &rest]).assert_exit(0);
        let all = second.replace("\n5\n", "\nfive\n").replace("\n35\n", "\nlots\n");
        assert_eq!(text(env, "f"), all);
        env.run(["undo"]).assert_exit(0);
        assert_eq!(text(env, "f"), second);
        env.run(["apply"]).assert_exit(0);
        assert_eq!((text(env, "f"), text(env, "other")), (all, "p\n".into()));
        env.run(["undo"]).assert_exit(0);
        env.run(["undo"]).assert_exit(0);
        assert_eq!((text(env, "f"), text(env, "other")), (numbered(), "o".into()));
    });
}

#[test]
fn hunks_that_are_not_there_are_refused() {
    let env = env();
    env.file("f", numbered());
    env.file("gone", "g");
    env.file("bin", b"\0");
    stage(&env, "sed -i s/5/x/ f; rm gone; printf '\\0\\1' > bin");
    let before = tree(&env);
    env.run(["apply", "--hunk", "f:9"]).assert_exit(1).assert_stderr_has("has no hunk 9");
    env.run(["apply", "--hunk", "gone:1"]).assert_exit(1).assert_stderr_has("by hunk");
    env.run(["apply", "--hunk", "bin:1"]).assert_exit(1).assert_stderr_has("no text");
    env.run(["apply", "--hunk", "nothing:1"]).assert_exit(1);
    for wrong in ["f", "f:", ":1", "f:x"] {
        env.run(["apply", "--hunk", wrong]).assert_exit(2);
    }
    assert_eq!(tree(&env), before);
    for wrong in ["f:1@", "f:1@12", "f:1@G123456789abcdef", "f:@0123456789abcdef"] {
        env.run(["apply", "--hunk", wrong]).assert_exit(2);
    }
    // A part that was edited since is a conflict like any other.
    env.run(["apply", "--hunk", "f:1"]).assert_exit(0);
    env.file("f", "mine");
    env.run(["apply", "--hunk", "f:1"]).assert_exit(3);
}

/// A number means the hunk that it was shown with, or nothing.
#[test]
fn the_same_number_does_not_come_to_mean_another_hunk() {
    let env = env();
    env.file("f", numbered());
    stage(&env, "sed -i -e 's/^5$/five/' -e 's/^20$/good/' -e 's/^35$/wicked/' f");
    env.run(["diff"]).assert_stdout_has("@@ hunk 1 of 3\n");
    env.run(["apply", "--hunk", "f:1"]).assert_exit(0);
    let first = numbered().replace("\n5\n", "\nfive\n");
    env.run(["apply", "--hunk", "f:1"])
        .assert_exit(3)
        .assert_stderr_has("some of f is applied already, and its hunks are counted anew")
        .assert_stderr_has("diff");
    assert_eq!(text(&env, "f"), first);
    let seen = mark(&env);
    env.run(["apply", "--hunk", &format!("f:1@{seen}")]).assert_exit(0);
    let second = first.replace("\n20\n", "\ngood\n");
    assert_eq!(text(&env, "f"), second);
    // The one that is left is the first by now.
    env.run(["apply", "--hunk", &format!("f:1@{seen}")])
        .assert_exit(3)
        .assert_stderr_has("the hunks of f are others by now");
    assert_eq!(text(&env, "f"), second);
    env.run(["apply", "--hunk", &format!("f:1@{}", mark(&env))]).assert_exit(0);
    assert_eq!(text(&env, "f"), second.replace("\n35\n", "\nwicked\n"));
    // What was the rest of something is counted from the start again once that was taken back.
    env.run(["undo"]).assert_exit(0);
    env.run(["undo"]).assert_exit(0);
    env.run(["undo"]).assert_exit(0);
    env.run(["apply", "--hunk", &format!("f:1@{seen}")]).assert_exit(3);
    env.run(["apply", "--hunk", "f:2"]).assert_exit(0);
    assert_eq!(text(&env, "f"), numbered().replace("\n20\n", "\ngood\n"));
}

/// No line of a file that was not there before stands for itself.
#[test]
fn what_is_new_or_moved_is_applied_whole_or_not_at_all() {
    let env = env();
    env.file("old.txt", numbered());
    stage(
        &env,
        "mv old.txt new.txt; sed -i 's/^3$/fine/;s/^35$/wicked/' new.txt; echo x > made.txt",
    );
    let shown = env.run(["diff"]).stdout_text().into_owned();
    assert!(shown.contains("rename to new.txt") && !shown.contains("hunk 1"), "{shown}");
    let before = tree(&env);
    for name in ["new.txt:1", "made.txt:1"] {
        env.run(["apply", "--hunk", name])
            .assert_exit(1)
            .assert_stderr_has("it is new or moved: it is applied whole or not at all");
    }
    assert_eq!(tree(&env), before);
    env.run(["apply"]).assert_exit(0);
    assert!(text(&env, "new.txt").contains("fine"));
}

/// Of a file of which some was applied and the rest discarded, nothing is offered again.
#[test]
fn undone_after_its_rest_was_discarded() {
    let env = env();
    env.file("f", numbered());
    env.file("g", "old\n");
    stage(&env, "sed -i 's/^2$/two/; s/^19$/nineteen/' f; echo new > g; echo x > h");
    env.run(["apply", "g", "--hunk", "f:1"]).assert_exit(0);
    env.run(["discard", "f"]).assert_exit(0);
    // What was applied of it is in the workspace, whatever else is discarded.
    let said = env.run(["discard", "h", "--json"]).json();
    assert_eq!((&said["left"], &said["at_home"]), (&0.into(), &2.into()), "{said}");
    let done = env.run(["undo"]);
    done.assert_exit(0);
    let said = done.stdout_text().into_owned();
    assert!(said.contains("1 pending again, 1 discarded, as their rest was"), "{said}");
    assert_eq!((text(&env, "f"), text(&env, "g")), (numbered(), "old\n".into()));
    env.run(["diff", "--name-only"]).assert_stdout("g\n");
    env.run(["apply", "f"]).assert_exit(1);
}

/// Hunks are never merged, so nobody is told to.
#[test]
fn a_conflict_about_hunks_has_a_remedy_that_works() {
    let env = env();
    env.file("f", numbered());
    stage(&env, "sed -i -e 's/^5$/five/' -e 's/^35$/lots/' f");
    env.file("f", numbered().replace("\n20\n", "\nmine\n"));
    let refused = env.run(["apply", "--hunk", "f:1"]);
    refused.assert_exit(3).assert_stderr_has("conflict: f");
    let said = refused.stderr_text();
    assert!(!said.contains("--hunk f:1 --merge"), "{said}");
    let remedy = said.lines().find(|line| line.ends_with("--merge")).expect(&said);
    let (_, command) = remedy.rsplit_once("cofferdam ").unwrap();
    env.run(command.split_whitespace()).assert_exit(0);
    assert!(text(&env, "f").contains("five\n") && text(&env, "f").contains("mine\n"));
}
