//! Everyday tools work inside with no configuration.

use cofferdam_testkit::{TestEnv, claim};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
fn shells_devices_and_processes() {
    claim::as_root_and_as_user(BINARY, |env| {
        let script = "seq 1 100 | sort -r | head -n 1; echo x > /dev/null; head -c 4 /dev/urandom | wc -c; \
                      head -c 3 /dev/zero | wc -c; ps -o comm= -p $$; (sleep 0.1 & wait); \
                      bash -c 'set -m; sleep 0.1 & jobs >/dev/null; wait %1; echo job done'; \
                      mktemp -d >/dev/null; date +%Y >/dev/null; pwd; whoami; hostname; nproc >/dev/null; \
                      echo here > \"$HOME/f\"; cat ~/f; ls /dev/pts >/dev/null; exec 3<>/tmp/x; echo $?";
        let done = claim::run(env, &[], script);
        done.assert_exit(0);
        let words = done.stdout_text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            words,
            "99 4 3 sh job done /workspace sandbox sandbox here 0",
            "{}",
            done.stderr_text()
        );
    });
}

#[test]
fn git_in_a_checkout() {
    claim::as_root_and_as_user(BINARY, |env| {
        let script = "set -e; git init -q .; git config user.email a@b; git config user.name n; \
                      echo x > f; git add f; git commit -qm first; git status --short; git log --oneline | wc -l; \
                      git diff; git checkout -qb other; git branch --show-current";
        claim::run(env, &[], script).assert_exit(0).assert_stdout("1\nother\n");
        assert!(!env.workspace().join(".git").exists(), "staged");
    });
}

/// Who commits without having said who he is, is the sandbox; what the repository says wins.
#[test]
fn commits_need_no_name() {
    claim::as_root_and_as_user(BINARY, |env| {
        let script = "set -e; git init -q .; git commit -q --allow-empty -m first; git config user.name Ada; \
                      git config user.email ada@example.org; git commit -q --allow-empty -m second; \
                      git log --reverse --format='%an <%ae>'";
        let done = claim::run(env, &[], script);
        done.assert_exit(0).assert_stdout("sandbox <sandbox@localhost>\nAda <ada@example.org>\n");
    });
}

/// Programs that lie below `/usr` in a directory of their own, as that of Go's own installer, are found as outside.
#[test]
fn directories_below_usr_stay_on_the_search_path() {
    claim::as_root_and_as_user(BINARY, |env| {
        let path = "/usr/lib/git-core:/usr/bin:/bin:/nowhere/bin";
        let mut command = env.cofferdam();
        command.env("PATH", path).args(claim::words(env)).arg("--");
        command.args(["sh", "-c", "command -v git-submodule; echo $PATH"]);
        let done = env.finish(command);
        done.assert_exit(0).assert_stdout(
            "/usr/lib/git-core/git-submodule\n\
             /usr/lib/git-core:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin\n",
        );
    });
}

#[test]
fn make_and_gcc() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("main.c", "#include <stdio.h>\nint main(void){puts(\"built\");return 0;}\n");
        env.file("Makefile", "main: main.c\n\tgcc -O1 -o main main.c\n");
        claim::run(env, &[], "make -s main && ./main").assert_exit(0).assert_stdout("built\n");
    });
}

#[test]
fn python_and_its_tests() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file(
            "test_it.py",
            "import unittest, subprocess, threading, tempfile, multiprocessing\n\
             class T(unittest.TestCase):\n\
             \x20   def test_sub(self):\n\
             \x20       self.assertEqual(subprocess.check_output(['echo', 'hi']), b'hi\\n')\n\
             \x20   def test_thread(self):\n\
             \x20       t = threading.Thread(target=lambda: None); t.start(); t.join()\n\
             \x20   def test_pool(self):\n\
             \x20       with multiprocessing.Pool(2) as p: self.assertEqual(p.map(abs, [-1, -2]), [1, 2])\n",
        );
        claim::run(env, &[], "python3 -m unittest -q").assert_exit(0);
        // No compiled copies of modules, which would be executed on the host in the place of what was reviewed.
        env.run(["diff", "--name-only"]).assert_exit(0).assert_stdout("");
    });
}

#[test]
fn node() {
    claim::as_root_and_as_user(BINARY, |env| {
        let script = "node -e 'const fs=require(\"fs\"); fs.writeFileSync(\"o\",\"x\"); \
                      require(\"child_process\").execSync(\"true\"); console.log(1+1)'";
        claim::run(env, &[], script).assert_exit(0).assert_stdout("2\n");
    });
}

/// With the toolchain of whoever runs the tests, found on their `PATH` and shown read-only.
#[test]
fn cargo_offline() {
    let env = TestEnv::with_binary(BINARY);
    env.file(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    env.file("src/main.rs", "fn main() { println!(\"{}\", 6 * 7); }\n");
    let mut command = env.cofferdam();
    // The test environment has a home of its own; the toolchain is where PATH says.
    for name in ["PATH", "HOME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.args(claim::words(&env));
    command.args(["--", "sh", "-c", "cargo run --offline --quiet; cargo --version >/dev/null"]);
    let done = env.finish(command);
    done.assert_exit(0).assert_stdout("42\n");
    assert!(!env.workspace().join("target").exists(), "staged");
}
