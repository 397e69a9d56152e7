//! What is applied is exactly what the program left; what is undone is exactly what was there.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use cofferdam_testkit::{TestEnv, TreeHash};

use super::*;

pub(super) const OLD: &str =
    "mkdir -p keep/deep gone/sub swap opaque; echo one > keep/a; echo two > keep/deep/b; \
    echo x > gone/x; echo y > gone/sub/y; echo s > swap/inner; echo f > file; ln -s file link; \
    echo o > opaque/old; printf 'odd' > 'name with
newline'; printf 'bad' > \"$(printf 'a\\377b')\"; echo v > file2";

pub(super) const CHANGE: &str = "echo more >> keep/a; rm -r gone; rm -r swap; echo now-a-file > swap; rm file; \
    mkdir file; echo in > file/in; ln -sfn keep link; rm -r opaque; mkdir opaque; echo n > opaque/new; \
    mkdir -p made/very/deep; echo d > made/very/deep/d; echo e > -dash; echo l1 > l1; ln l1 l2; \
    printf 'new' > \"$(printf 'n\\376')\"; mv keep/deep keep/moved; chmod 600 keep/a; \
    truncate -s 3000000 sparse; printf end >> sparse; rm 'name with
newline'; echo 2 > file2; ln -s nowhere dangling; mkdir empty; chmod 700 empty";

/// The tree that a script makes of a copy of the workspace, outside of any sandbox.
pub(super) fn expected(env: &TestEnv, script: &str) -> TreeHash {
    let copy = env.top().join("copy");
    if copy.exists() {
        fs::remove_dir_all(&copy).unwrap();
    }
    let copied = Command::new("cp").arg("-a").arg(env.workspace()).arg(&copy).status().unwrap();
    assert!(copied.success());
    shell(&copy, script);
    TreeHash::of(&copy)
}

fn shell(dir: &Path, script: &str) {
    let script = format!("set -e; umask 022; {script}");
    let done = Command::new("sh").args(["-c", &script]).current_dir(dir).status().unwrap();
    assert!(done.success(), "{script}");
}

/// A script, in the workspace, as who runs the binary.
pub(super) fn furnish(env: &TestEnv, script: &str) {
    let mut command = env.program("/bin/sh");
    command.args(["-c", &format!("set -e; umask 022; {script}")]);
    env.finish(command).assert_exit(0);
}

#[test]
fn every_kind_of_change_there_and_back() {
    both(|env| {
        furnish(env, OLD);
        let old = tree(env);
        let watched: Vec<_> = ["file", "keep/a", "gone/sub/y", "link", "opaque/old", "file2"]
            .map(|name| env.workspace().join(name))
            .into_iter()
            .collect();
        let identities: Vec<_> = watched.iter().map(|path| identity(path)).collect();
        let new = expected(env, CHANGE);
        stage(env, CHANGE);
        apply(env).assert_exit(0);
        assert_eq!(tree(env), new, "not what the program left");
        let (l1, l2) = (env.workspace().join("l1"), env.workspace().join("l2"));
        assert_eq!(identity(&l1), identity(&l2), "hard links stay links");
        let sparse = fs::metadata(env.workspace().join("sparse")).unwrap();
        assert!(sparse.blocks() * 512 < 1_000_000, "{} blocks", sparse.blocks());
        env.run(["undo"]).assert_exit(0);
        assert_eq!(tree(env), old, "not what was there");
        for (path, was) in watched.iter().zip(&identities) {
            assert_eq!(identity(path), *was, "{}: not the very file", path.display());
        }
        // And once more: what was undone is pending again.
        apply(env).assert_exit(0);
        assert_eq!(tree(env), new);
        assert_settled(env);
    });
}

#[test]
fn directories_come_back_with_their_modes() {
    both(|env| {
        furnish(env, "mkdir -p d/e; echo x > d/e/x; chmod 750 d; chmod 555 d/e");
        let old = tree(env);
        stage(env, "chmod 755 d/e; rm -r d");
        apply(env).assert_exit(0);
        assert!(names(env).is_empty());
        env.run(["undo"]).assert_exit(0);
        assert_eq!(tree(env), old);
        furnish(env, "chmod 755 d/e");
    });
}

#[test]
fn a_path_and_what_it_needs_can_be_applied_alone() {
    both(|env| {
        furnish(env, "mkdir d; echo 1 > d/one; echo 2 > d/two; echo f > f");
        stage(env, "mkdir -p n/m; echo x > n/m/x; echo y > n/y; rm -r d; echo g > f");
        env.run(["apply", "n/m/x"]).assert_exit(0);
        assert_eq!((text(env, "n/m/x"), text(env, "f")), ("x\n".into(), "f\n".into()));
        assert!(!env.workspace().join("n/y").exists() && env.workspace().join("d/one").exists());
        env.run(["apply", "d/one"]).assert_exit(0);
        assert!(!env.workspace().join("d/one").exists() && env.workspace().join("d/two").exists());
        env.run(["apply"]).assert_exit(0);
        assert_eq!(names(env), ["f", "n"]);
        // The latest apply first, and only of what is named.
        env.run(["undo", "f"]).assert_exit(0);
        assert_eq!((text(env, "f"), text(env, "n/y")), ("f\n".into(), "y\n".into()));
        env.run(["undo"]).assert_exit(0);
        assert!(env.workspace().join("d/two").exists() && !env.workspace().join("n/y").exists());
        env.run(["undo"]).assert_exit(0);
        env.run(["undo"]).assert_exit(0);
        assert_eq!((names(env), text(env, "d/one")), (vec!["d".into(), "f".into()], "1\n".into()));
        assert_settled(env);
    });
}

/// How many random histories are tried.
const HISTORIES: u64 = 25;

#[test]
fn random_histories_there_and_back() {
    for seed in 0..HISTORIES {
        let env = env();
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        furnish(&env, &random.script(20));
        let old = tree(&env);
        let script = random.script(25);
        let new = expected(&env, &script);
        stage(&env, &script);
        apply(&env).assert_exit(0);
        assert_eq!(tree(&env), new, "seed {seed}: {script}");
        if old != new {
            env.run(["undo"]).assert_exit(0);
        }
        assert_eq!(tree(&env), old, "seed {seed}: {script}");
        assert_settled(&env);
    }
}

/// Numbers that are the same every time.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn name(&mut self) -> String {
        let depth = 1 + self.below(3);
        let parts: Vec<_> = (0..depth).map(|_| format!("n{}", self.below(4))).collect();
        parts.join("/")
    }

    pub(super) fn script(&mut self, steps: u64) -> String {
        let mut script = String::from(
            "t() { \"$@\" 2>/dev/null || :; }; w() { 2>/dev/null >\"$1\" echo $2 || :; }; ",
        );
        for _ in 0..steps {
            let (a, b, n) = (self.name(), self.name(), self.below(1000));
            script += &match self.below(8) {
                0 | 1 => format!("t mkdir -p {a}; "),
                2 | 3 => format!("(w {a} {n}) 2>/dev/null || :; "),
                4 => format!("t rm -rf {a}; "),
                5 => format!("t mv -T {a} {b}; "),
                6 => format!("[ -e {a} ] || [ -L {a} ] || t ln -s {b} {a}; "),
                _ => format!(
                    "[ -L {a} ] || t chmod {} {a}; ",
                    ["755", "700", "750"][(n % 3) as usize]
                ),
            };
        }
        script
    }
}

#[test]
fn names_of_any_bytes_are_exact() {
    let env = env();
    stage(
        &env,
        "printf x > \"$(printf 'a\\377\\033[2J\\tb')\"; printf y > 'back\\slash'; printf z > ' '",
    );
    apply(&env).assert_exit(0);
    let mut found: Vec<Vec<u8>> = fs::read_dir(env.workspace())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().as_bytes().to_vec())
        .collect();
    found.sort();
    assert_eq!(found, [&b" "[..], b"a\xff\x1b[2J\tb", b"back\\slash"]);
}

#[test]
fn two_hundred_deep_and_longer_than_one_call() {
    let env = env();
    // A shell gives up where a path is longer than one call takes.
    let down = |name: &str, end: &str| {
        format!("perl -e 'for (1..200) {{ mkdir \"{name}\"; chdir \"{name}\" or die }} {end}'")
    };
    let name = "n".repeat(60);
    stage(&env, &down(&name, "open F, q(>), q(end) or die; print F q(x)"));
    apply(&env).assert_exit(0);
    let script = down(&name, "open F, q(<), q(end) or die; print <F>");
    let found = Command::new("sh").args(["-c", &script]).current_dir(env.workspace()).output();
    assert_eq!(found.unwrap().stdout, b"x");
    env.run(["undo"]).assert_exit(0);
    assert!(names(&env).is_empty());
}
