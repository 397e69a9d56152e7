//! What a system call filter keeps programs from making, put into the upper directory by the test: capture
//! and apply do not lean on the filter.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::process::Command;

use super::*;

#[track_caller]
fn sh(script: &str, dir: &std::path::Path) {
    let done = Command::new("sh").args(["-ec", script]).current_dir(dir).output().unwrap();
    assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_program_cannot_make_a_set_id_file_or_a_device() {
    both(|env| {
        stage(
            env,
            "echo x > f; chmod 4755 f 2>/dev/null || echo refused > a; \
             mknod null c 1 3 2>/dev/null || echo refused > b; \
             mknod white c 0 0 2>/dev/null || echo refused > c",
        );
        let list = env.manifest("last").list();
        assert_eq!(list, ["created a", "created b", "created c", "created f"]);
        assert_eq!(env.manifest("last").entry("f")["stripped"], Value::Null);
    });
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs root: cargo xtask test")]
fn set_id_bits_capabilities_and_access_lists_are_taken_off_and_said() {
    let env = env();
    let upper = killed_at_work(&env, "for n in suid caps acl; do echo $n > $n; done; mkdir dir");
    sh(
        "chmod 6755 suid; chmod 3777 dir; setcap cap_net_raw+ep caps; \
         python3 -c \"import os; os.setxattr('acl', 'system.posix_acl_access', \
         bytes.fromhex('0200000001000600ffffffff020007000100000004000400ffffffff10000700ffffffff20000400ffffffff'))\"",
        &upper,
    );
    env.run(["gc"]).assert_exit(0);
    let manifest = env.manifest("last");
    let stripped = |name: &str| manifest.entry(name)["stripped"].to_string();
    assert_eq!(stripped("suid"), "[\"setuid\",\"setgid\"]");
    assert_eq!(stripped("dir"), "[\"setgid\",\"sticky\"]");
    assert_eq!(
        (stripped("caps"), stripped("acl")),
        ("[\"capabilities\"]".into(), "[\"acl\"]".into())
    );
    let said = refused(&env, &[]).stderr_text().into_owned();
    assert!(said.contains("suid"), "an executable needs its yes: {said}");
    let done = env.run(["apply", "--allow-class", "executable"]);
    done.assert_exit(0);
    for words in
        ["the set-user-id bit is not", "file capabilities are not", "an access list is not"]
    {
        assert!(done.stdout_text().contains(words), "{words} in {}", done.stdout_text());
    }
    let mode = |name: &str| fs::metadata(env.workspace().join(name)).unwrap().mode() & 0o7777;
    assert_eq!((mode("suid"), mode("dir")), (0o755, 0o775));
    let script =
        "import os; print([n for f in ('caps', 'acl', 'suid', 'dir') for n in os.listxattr(f)])";
    let mut python = env.program("python3");
    python.args(["-c", script]);
    env.finish(python).assert_exit(0).assert_stdout("[]\n");
}

/// A file of the host that has the bit already, edited inside: the new content does not get the bit.
#[test]
fn a_set_id_file_of_the_host_that_is_edited_loses_the_bit() {
    both(|env| {
        let tool = env.file("tool", "old");
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o4755)).unwrap();
        stage(env, "echo new > tool");
        refused(env, &[]);
        env.run(["apply", "--allow-class", "executable"]).assert_exit(0);
        assert_eq!(text(env, "tool"), "new\n");
        assert_eq!(fs::metadata(&tool).unwrap().mode() & 0o7777, 0o755);
        env.run(["undo"]).assert_exit(0);
        assert_eq!(fs::metadata(&tool).unwrap().mode() & 0o7777, 0o4755);
    });
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs root: cargo xtask test")]
fn devices_are_named_and_denied_and_forged_whiteouts_hide_nothing_new() {
    let env = env();
    env.file("there", "t");
    env.file("kept", "k");
    let upper = killed_at_work(&env, "echo f > f");
    sh("mknod disk b 8 0; mknod null c 1 3; mknod nothing c 0 0; mknod there c 0 0", &upper);
    env.run(["gc"]).assert_exit(0);
    let list = env.manifest("last").list();
    assert_eq!(
        list,
        ["created disk", "created f", "created null", "created ready", "deleted there"]
    );
    let denied = judged(&env, "disk");
    assert_eq!(denied["verdict"], "deny", "{denied}");
    refused(&env, &["--allow-path", "disk", "--allow-path", "null"]);
    env.run(["apply", "--rest"]).assert_exit(0);
    assert_eq!(names(&env), ["f", "kept", "ready"]);
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs root: cargo xtask test")]
fn owners_of_containers_and_of_root_do_not_come_home() {
    let env = env().unprivileged();
    let owner = fs::metadata(env.workspace()).unwrap().uid();
    let upper = killed_at_work(&env, "echo a > a; echo b > b; mkdir d; ln -s a l");
    for (name, id) in [("a", 0), ("b", 100_999), ("d", 100_999)] {
        chown(upper.join(name), Some(id), Some(id)).unwrap();
    }
    env.run(["gc"]).assert_exit(0);
    env.run(["apply"]).assert_exit(0);
    for name in ["a", "b", "d", "l"] {
        let seen = fs::symlink_metadata(env.workspace().join(name)).unwrap();
        assert_eq!(seen.uid(), owner, "{name}");
    }
    let uid = owner.to_string();
    let find =
        Command::new("find").arg(env.workspace()).args(["!", "-uid", &uid]).output().unwrap();
    assert!(find.stdout.is_empty(), "{}", String::from_utf8_lossy(&find.stdout));
}

/// Nobody, root included, can rename over what is immutable: nothing at all is applied, and it is said why.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs root: cargo xtask test")]
fn an_immutable_file_of_the_host_stops_the_whole_apply() {
    let env = env();
    for name in ["a", "b", "dir/c", "z"] {
        env.file(name, "old");
    }
    stage(&env, "for f in a b dir/c z; do echo new > $f; done; rm -r dir; echo n > n");
    for flagged in ["b", "dir/c", "dir"] {
        sh(&format!("chattr +i {flagged}"), &env.workspace());
        let before = tree(&env);
        let done = env.run(["apply"]);
        sh(&format!("chattr -i {flagged}"), &env.workspace());
        done.assert_exit(1);
        assert_eq!(tree(&env), before, "{flagged}: {done:?}");
        let said = done.stderr_text().into_owned();
        assert!(said.contains(flagged) && said.contains("chattr -i"), "{flagged}: {said}");
        assert!(!names(&env).iter().any(|name| name.starts_with(".cofferdam")));
    }
    env.run(["gc"]).assert_exit(0);
    env.run(["apply"]).assert_exit(0);
    assert_eq!(
        (names(&env), text(&env, "b")),
        (vec!["a".into(), "b".into(), "n".into(), "z".into()], "new\n".into())
    );
}
