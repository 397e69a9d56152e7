//! Applied files belong to the workspace's owner and have sane modes; nothing special is ever applied.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::*;

fn mode(env: &TestEnv, name: &str) -> u32 {
    fs::symlink_metadata(env.workspace().join(name)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn modes_are_sane_and_special_bits_are_stripped() {
    both(|env| {
        stage(
            env,
            "echo a > none; chmod 000 none; echo b > open; chmod 777 open; mkdir sticky; chmod 1777 sticky; mkdir closed; echo x > closed/x; chmod 000 closed",
        );
        let done = env.run(["apply", "--allow-class", "executable"]);
        done.assert_exit(0);
        let said = done.stdout_text().into_owned();
        for note in ["none: mode 000 is applied as 400", "sticky: the sticky bit is not applied"] {
            assert!(said.contains(note), "{note} in {said}");
        }
        assert_eq!(
            ["none", "open", "sticky", "closed"].map(|name| mode(env, name)),
            [0o400, 0o775, 0o775, 0o700]
        );
        assert_eq!(text(env, "closed/x"), "x\n");
    });
}

/// Root applies to a workspace of somebody else: nothing of root's is left there.
#[test]
fn what_root_applies_belongs_to_the_workspaces_owner() {
    let env = env();
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        // Without root every file is the caller's, which is what is claimed.
        return assert_owner(&env, fs::metadata(env.workspace()).unwrap().uid());
    }
    env.file("theirs", "old");
    env.file("group/f", "x");
    let own = |path: &str, owner: &str| {
        let done =
            Command::new("chown").args(["-R", owner]).arg(env.workspace().join(path)).status();
        assert!(done.unwrap().success());
    };
    own("", "4242:4243");
    own("theirs", "777:888");
    let open = fs::Permissions::from_mode(0o666);
    fs::set_permissions(env.workspace().join("theirs"), open).unwrap();
    own("group", "4242:999");
    fs::set_permissions(env.workspace().join("group"), fs::Permissions::from_mode(0o2775)).unwrap();
    stage(
        &env,
        "echo new > theirs; mkdir -p n/m; echo x > n/m/x; ln -s x n/l; mkdir group/d; echo y > group/d/y",
    );
    apply(&env).assert_exit(0);
    let owner = |name: &str| {
        let seen = fs::symlink_metadata(env.workspace().join(name)).unwrap();
        (seen.uid(), seen.gid())
    };
    assert_eq!(owner("theirs"), (777, 888));
    for name in ["n", "n/m", "n/m/x", "n/l"] {
        assert_eq!(owner(name), (4242, 4243), "{name}");
    }
    for name in ["group/d", "group/d/y"] {
        assert_eq!(owner(name), (4242, 999), "{name}");
    }
    assert_eq!(mode(&env, "group/d"), 0o2755);
    env.run(["undo"]).assert_exit(0);
    assert_eq!((owner("theirs"), text(&env, "theirs")), ((777, 888), "old".into()));
    let foreign =
        Command::new("find").arg(env.workspace()).args(["-user", "root"]).output().unwrap();
    assert!(foreign.stdout.is_empty(), "{}", String::from_utf8_lossy(&foreign.stdout));
}

fn assert_owner(env: &TestEnv, uid: u32) {
    stage(env, "echo x > x");
    apply(env).assert_exit(0);
    assert_eq!(fs::metadata(env.workspace().join("x")).unwrap().uid(), uid);
}

#[test]
fn a_mode_does_not_reach_other_names_of_a_file() {
    let env = env();
    let inside = env.file("f", "x");
    let outside = env.top().join("outside");
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o644)).unwrap();
    fs::hard_link(&inside, &outside).unwrap();
    stage(&env, "chmod 600 f");
    apply(&env).assert_exit(0);
    assert_eq!(mode(&env, "f"), 0o600);
    assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn a_file_that_is_replaced_keeps_the_attributes_that_the_host_gave_it() {
    both(|env| {
        let path = env.file("f", "old");
        let python = |script: &str| {
            let script = format!("import os, sys; {script}");
            let mut python = Command::new("python3");
            let output = python.args(["-c", &script]).arg(&path).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        python("os.setxattr(sys.argv[1], 'user.own', b'of the host')");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
        let read = || (python("print(os.getxattr(sys.argv[1], 'user.own'))"), mode(env, "f"));
        let own = ("b'of the host'\n".to_owned(), 0o440);
        stage(env, "chmod 640 f; echo new > f; chmod 440 f");
        env.run(["apply"]).assert_exit(0);
        assert_eq!(text(env, "f"), "new\n");
        assert_eq!(read(), own);
        env.run(["undo"]).assert_exit(0);
        assert_eq!(text(env, "f"), "old");
        assert_eq!(read(), own);
    });
}
