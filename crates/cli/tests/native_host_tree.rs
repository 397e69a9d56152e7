//! In stage mode nothing reaches the host tree; in direct mode it does; read-only means it.

use cofferdam_testkit::{TestEnv, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

const DAMAGE: &str = "set -e; cat keep > seen; echo more >> keep; echo new > new; rm -r gone; \
                      mkdir sub/deep; mv sub/a sub/b; ln -s /etc/passwd link; chmod 700 keep; cat new keep";

fn furnish(env: &TestEnv) {
    for (name, text) in [
        ("keep", "kept\n"),
        ("gone/inner", "x"),
        ("sub/a", "a"),
        (".git/hooks/sample", "y"),
        (".gitignore", "ignored\n"),
        ("ignored", "z"),
    ] {
        env.file(name, text);
    }
}

#[test]
fn staged_writes_are_seen_inside_and_nowhere_else() {
    claim::as_root_and_as_user(BINARY, |env| {
        furnish(env);
        let before = env.tree_hash(env.workspace());
        let done = claim::run(
            env,
            &[],
            &format!("{DAMAGE}; rm ignored; echo evil > .git/hooks/pre-commit"),
        );
        done.assert_exit(0).assert_stdout("new\nkept\nmore\n");
        assert_eq!(env.tree_hash(env.workspace()), before, "the host tree changed");
        // What it wrote is kept with the run, for a later review.
        assert_eq!(env.manifest("last").bytes("after", "new"), b"new\n");
    });
}

#[test]
fn direct_writes_do_reach_it() {
    claim::as_root_and_as_user(BINARY, |env| {
        furnish(env);
        claim::run(env, &["--mode", "direct"], DAMAGE).assert_exit(0);
        assert_eq!(std::fs::read_to_string(env.workspace().join("new")).unwrap(), "new\n");
        assert!(!env.workspace().join("gone").exists());
    });
}

#[test]
fn read_only_can_be_read_and_not_written() {
    claim::as_root_and_as_user(BINARY, |env| {
        furnish(env);
        let before = env.tree_hash(env.workspace());
        let done = claim::run(
            env,
            &["--mode", "readonly"],
            "cat keep; for c in 'echo x > new' 'rm keep' 'touch keep' 'mkdir d' 'chmod 777 keep'; do \
             sh -c \"$c\" 2>/dev/null && echo \"$c worked\"; done; echo scratch > /tmp/t && cat /tmp/t",
        );
        done.assert_exit(0).assert_stdout("kept\nscratch\n");
        assert_eq!(env.tree_hash(env.workspace()), before);
    });
}

#[test]
fn nothing_else_of_the_host_can_be_written() {
    claim::as_root_and_as_user(BINARY, |env| {
        let canary = env.file("../outside-canary", "untouched");
        let places =
            "/ /usr /usr/bin /etc /bin /lib /home /root /var /opt /proc/sys/kernel /dev /run";
        let script = format!(
            "for d in {places}; do touch $d/cofferdam-was-here 2>/dev/null && echo wrote $d; done; \
             echo x > {} 2>/dev/null && echo wrote canary; \
             for f in /etc/passwd /usr/bin/env /proc/sysrq-trigger /proc/sys/kernel/hostname; do \
             (echo x > $f) 2>/dev/null && echo wrote $f; done; \
             echo ok > /tmp/x && echo ok > /dev/shm/x && echo ok > $HOME/x && echo done",
            canary.display()
        );
        claim::run(env, &[], &script).assert_exit(0).assert_stdout("done\n");
        assert_eq!(std::fs::read_to_string(canary).unwrap(), "untouched");
        assert!(!std::path::Path::new("/usr/cofferdam-was-here").exists());
    });
}

/// Whoever the program is: no id and no capability is to make a difference.
#[test]
fn the_kernels_settings_are_mounted_read_only() {
    claim::as_root_and_as_user(BINARY, |env| {
        let script = "for p in /proc/sys /proc/sysrq-trigger; do \
                      test ! -e $p || grep -q \" $p ro,\" /proc/self/mountinfo || echo $p; done; \
                      grep -q ' /workspace rw,' /proc/self/mountinfo && echo twin";
        claim::run(env, &[], script).assert_exit(0).assert_stdout("twin\n");
    });
}

#[test]
fn an_odd_workspace_path_is_only_a_path() {
    for name in ["a,b:c=d", "sp ace", "quo\"te'", "new\nline", "lowerdir=x,upperdir=y"] {
        claim::as_root_and_as_user(BINARY, |env| {
            let odd = env.file(format!("../{name}/file"), "here");
            let dir = odd.parent().unwrap();
            let dir = dir.to_str().unwrap();
            let done = claim::run(env, &["--workspace", dir], "cat file; echo x > file; cat file");
            done.assert_exit(0).assert_stdout("herex\n");
            assert_eq!(std::fs::read_to_string(&odd).unwrap(), "here");
        });
    }
}
