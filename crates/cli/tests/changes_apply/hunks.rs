//! `--hunk`: some of a file now, the rest later, and back the same way.

use super::*;

fn numbered() -> String {
    (1..=40).map(|n| format!("{n}\n")).collect()
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
        env.run(["apply", "--hunk", "f:1,2"]).assert_exit(0);
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
    // A part that was edited since is a conflict like any other.
    env.run(["apply", "--hunk", "f:1"]).assert_exit(0);
    env.file("f", "mine");
    env.run(["apply", "--hunk", "f:1"]).assert_exit(3);
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
