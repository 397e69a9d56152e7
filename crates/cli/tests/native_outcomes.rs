//! The same exit codes as on the bare host, through the sandbox's own first process.

use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;

use cofferdam_testkit::{TestEnv, claim, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
fn codes_and_signals() {
    claim::as_root_and_as_user(BINARY, |env| {
        claim::run(env, &[], "exit 7").assert_exit(7);
        claim::run(env, &[], "kill -SEGV $$").assert_exit(139);
        assert_eq!(env.latest_record()["outcome"]["class"], "signaled");
        claim::run(env, &[], "exec no-such-program").assert_exit(127);
        let exec = |program| env.run(claim::words(env).into_iter().chain(["--", program]));
        exec("no-such-program").assert_exit(127).assert_stderr_has("not found");
        env.file("plain", "text");
        exec("./plain").assert_exit(126);
        claim::run(env, &["--workdir", "nowhere"], "true").assert_exit(125);
        claim::run(env, &["--timeout", "1s"], "sleep 60").assert_exit(124);
    });
}

/// Nothing ran, because something was asked for that is not there: not a failure of the sandbox.
#[test]
fn a_directory_that_is_not_there_is_refused() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("plain", "text");
        // An engine makes directories of an image's own tree that are not there.
        let of_the_root = ["/nowhere"].into_iter().filter(|_| env.backend().engine().is_none());
        for workdir in ["nowhere", "plain"].into_iter().chain(of_the_root) {
            let done = claim::run(env, &["--workdir", workdir], "true");
            done.assert_exit(125).assert_stderr_has(workdir).assert_stderr_has("remedy: ");
            assert!(!done.stderr_text().contains("sandbox itself"), "{}", done.stderr_text());
            assert_eq!(env.latest_record()["outcome"]["class"], "refused");
        }
    });
    let env = TestEnv::with_binary(BINARY);
    env.run(["session", "start", "--relax", "limits"]).assert_exit(0);
    let done = env.run(["session", "exec", "last", "--workdir", "nowhere", "--", "true"]);
    done.assert_exit(125).assert_stderr_has("remedy: ");
    let jobs = env.run(["session", "jobs", "last", "--json"]).json();
    assert_eq!(jobs[0]["outcome"]["class"], "refused", "{jobs}");
    env.run(["session", "stop", "last"]).assert_exit(0);
}

/// The file is there: what it names is what is missing.
#[test]
fn a_script_without_its_interpreter_cannot_be_executed() {
    use std::os::unix::fs::PermissionsExt as _;
    claim::as_root_and_as_user(BINARY, |env| {
        for (name, text) in [("bs", "#!/nope/x -f\ntrue\n"), ("spaced", "#! /nope/x\n")] {
            let script = env.file(name, text);
            std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
            for backend in [claim::sandbox(env), vec!["--sandbox", "local"]] {
                let program = format!("./{name}");
                let words = ["run"].into_iter().chain(backend).chain(["--", &program]);
                let done = env.run(words);
                done.assert_exit(126).assert_stderr_has("its interpreter /nope/x is not there");
            }
        }
    });
}

#[test]
fn what_cannot_be_executed_comes_with_a_remedy() {
    let env = TestEnv::with_binary(BINARY);
    env.file("script", "echo ran\n");
    for backend in [claim::sandbox(&env), vec!["--sandbox", "local"]] {
        let done = env.run(["run"].into_iter().chain(backend).chain(["--", "./script"]));
        done.assert_exit(126).assert_stderr_has("remedy: make it executable with `chmod +x`");
    }
}

/// What an environment of Python's has in it names the project by its path outside.
#[test]
fn an_interpreter_of_the_project_itself_is_named_by_its_path_inside() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    claim::as_root_and_as_user(BINARY, |env| {
        let outside = env.workspace().join(".venv/bin/python3");
        // As if the project had been moved since, where there is no inside.
        let elsewhere = std::path::Path::new("/elsewhere/project/.venv/bin/python3");
        let backends = [(claim::sandbox(env), &*outside), (vec!["--sandbox", "local"], elsewhere)];
        for (backend, named) in backends {
            let first = format!("#!{}\necho ran\n", named.display());
            let script = env.file(".venv/bin/pip", &first);
            std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
            std::fs::remove_file(&outside).ok();
            symlink("/bin/sh", &outside).unwrap();
            let run = |command: &[&str]| {
                let head = ["run", "--quiet"].into_iter().chain(backend.iter().copied());
                env.run(head.chain(["--"]).chain(command.iter().copied()))
            };
            let done = run(&[".venv/bin/pip"]);
            done.assert_exit(126).assert_stderr_has(&named.display().to_string());
            done.assert_stderr_has("the project has another path here");
            // What is said to help does.
            let said = done.stderr_text();
            let remedy = said.split('`').nth(1).expect("a command").replace(" ...", "");
            let words: Vec<&str> = remedy.split(' ').collect();
            run(&words).assert_exit(0).assert_stdout("ran\n");
        }
    });
}

/// Output that has nowhere to go ends the command, and it is said what could not be written.
#[test]
fn an_output_that_cannot_be_written_is_named() {
    let env = TestEnv::with_binary(BINARY);
    for backend in [claim::sandbox(&env), vec!["--sandbox", "local"]] {
        let full = |script: &str| {
            let mut cofferdam = env.cofferdam();
            cofferdam.args(["run", "--quiet"]).args(&backend).args(["--", "sh", "-c", script]);
            let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let child = cofferdam.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
            let done = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(said.contains("standard output cannot be written: No space left"), "{said}");
            assert!(!said.contains("lost the"), "{said}");
            (done.status.code(), env.latest_record()["outcome"]["class"].clone())
        };
        // Stopped, as where a disk is full.
        assert_eq!(full("while :; do echo more; done"), (Some(137), "canceled".into()));
        // Not taken for a success.
        let (code, _) = full("echo once");
        assert!(code.is_some_and(|code| code != 0), "{code:?}");
    }
}

/// A code of the command's own is told from a death, whatever number it has.
#[test]
fn a_code_like_that_of_a_signal_is_a_code() {
    claim::as_root_and_as_user(BINARY, |env| {
        claim::run(env, &[], "exit 143").assert_exit(143);
        let outcome = &env.latest_record()["outcome"];
        assert_eq!((&outcome["class"], &outcome["exit_code"]), (&"exited".into(), &143.into()));
        claim::run(env, &[], "kill -TERM $$").assert_exit(143);
        let outcome = &env.latest_record()["outcome"];
        assert_eq!((&outcome["class"], &outcome["signal"]), (&"signaled".into(), &15.into()));
    });
}

#[test]
fn what_a_command_used_is_recorded() {
    const MEMORY: u64 = 80 << 20;
    claim::as_root_and_as_user(BINARY, |env| {
        let work = format!("x = b'x' * {MEMORY}; sum(range(10_000_000))");
        let script = format!("/usr/bin/python3 -c \"{work}\"; sleep 0.3");
        claim::run(env, &[], &script).assert_exit(0);
        let usage = env.latest_record()["usage"].clone();
        let number = |name: &str| usage[name].as_u64().unwrap_or_else(|| panic!("{name}: {usage}"));
        assert!(number("wall_ms") >= 300 && number("wall_ms") < 60_000, "{usage}");
        assert!((20..30_000).contains(&number("user_ms")), "{usage}");
        assert!((MEMORY..4 * MEMORY).contains(&number("max_rss_bytes")), "{usage}");
    });
}

/// Who loses its parent is waited for by the sandbox's first process alone, whether it ends by itself or with the command.
#[test]
fn what_outlives_its_parent_is_counted_too() {
    const MEMORY: u64 = 80 << 20;
    let work = format!("x = b'x' * {MEMORY}; sum(range(10_000_000))");
    let left_behind = |end: &str| {
        format!(
            "(setsid /usr/bin/python3 -c \"{work}; open('done', 'w'); {end}\" &); \
             until test -e done; do sleep 0.05; done; sleep 0.3"
        )
    };
    let endless = "import time; time.sleep(60)";
    let uses = |env: &TestEnv, sandbox: &[&str], end: &str| {
        env.run(["run", "-q"].iter().chain(sandbox).chain(&["--", "sh", "-c", &left_behind(end)]))
            .assert_exit(0);
        let usage = env.latest_record()["usage"].clone();
        let number = |name: &str| usage[name].as_u64().unwrap_or_else(|| panic!("{name}: {usage}"));
        assert!((20..30_000).contains(&number("user_ms")), "{usage}");
        assert!((MEMORY..4 * MEMORY).contains(&number("max_rss_bytes")), "{usage}");
    };
    claim::as_root_and_as_user(BINARY, |env| {
        for end in ["pass", endless] {
            uses(env, &["--sandbox", "native", "--relax", "limits"], end);
        }
    });
    let env = TestEnv::with_binary(BINARY);
    for end in ["pass", endless] {
        uses(&env, &["--sandbox", "local"], end);
        std::fs::remove_file(env.workspace().join("done")).unwrap();
    }
}

#[test]
fn signals_reach_the_program() {
    claim::as_root_and_as_user(BINARY, |env| {
        let ready = env.workspace().join("ready");
        let script =
            "trap 'echo caught > caught; exit 42' TERM; touch ready; while :; do sleep 0.1; done";
        let mut child = claim::spawn(env, &["--mode", "direct"], script);
        assert!(wait_until(Duration::from_secs(10), || ready.exists()));
        let pid = child.id().to_string();
        assert!(
            std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success()
        );
        assert_eq!(child.wait().unwrap().code(), Some(42), "its own code after its own clean-up");
        assert_eq!(env.latest_record()["outcome"]["class"], "canceled");
    });
}

#[test]
fn input_and_output() {
    claim::as_root_and_as_user(BINARY, |env| {
        let mut child = env
            .cofferdam()
            .args(claim::words(env))
            .args(["--", "tr", "a-z", "A-Z"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"shout").unwrap();
        let mut heard = String::new();
        child.stdout.take().unwrap().read_to_string(&mut heard).unwrap();
        assert_eq!((heard.as_str(), child.wait().unwrap().code()), ("SHOUT", Some(0)));
    });
}

mod native_only {
    use super::*;

    /// Elsewhere a shell is asked to execute it.
    #[test]
    fn a_script_that_does_not_say_whose_it_is_comes_with_a_remedy() {
        use std::os::unix::fs::PermissionsExt as _;
        let env = TestEnv::with_binary(BINARY);
        let script = env.file("script", "echo ran\n");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let done = env.run(["run", "--relax", "limits", "--sandbox", "native", "--", "./script"]);
        done.assert_exit(126).assert_stderr_has("remedy: begin it with a line like `#!/bin/sh`");
    }

    #[test]
    fn native_is_what_auto_means_without_an_engine() {
        let env = TestEnv::with_binary(BINARY);
        env.run(["run", "--relax", "limits", "--", "true"]).assert_exit(0);
        assert_eq!(env.latest_record()["backend"], "native");
    }
}

/// Who keeps their own files to themselves can run things all the same.
#[test]
fn the_callers_umask_makes_no_difference() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("dir/file", "x");
        let mut shell = env.program("sh");
        shell.args(["-c", "umask 077; exec \"$0\" \"$@\""]).arg(env.cofferdam().get_program());
        let script =
            "grep -c sandbox: /etc/passwd; cat dir/file; echo y > dir/new; ls ~ && git init -q sub";
        shell.args(claim::words(env)).args(["--", "sh", "-c", script]);
        env.host_config("sandbox: { blocked: [\"dir/.env\"] }");
        env.finish(shell).assert_exit(0).assert_stdout("1\nx");
        let list = env.manifest("last").list();
        assert!(list.contains(&"created dir/new".to_owned()), "{list:?}");
        assert!(!list.contains(&"modified dir".to_owned()), "{list:?}");
    });
}

/// The workspace that was planned is the one that is used: a swap in between is refused.
#[test]
fn mounts_are_shown_read_only_unless_asked() {
    claim::as_root_and_as_user(BINARY, |env| {
        let data = env.top().join("data");
        env.file("../data/file", "shown");
        env.host_config(&format!("policy: {{ allowed_paths: [\"{}\"] }}", data.display()));
        let mount = format!("{}:/data", data.display());
        claim::run(
            env,
            &["--mount", &mount],
            "cat /data/file; touch /data/x 2>/dev/null && echo wrote; true",
        )
        .assert_exit(0)
        .assert_stdout("shown");
        claim::run(env, &["--mount", &format!("{mount}:rw")], "echo y > /data/x").assert_exit(0);
        assert_eq!(std::fs::read_to_string(data.join("x")).unwrap(), "y\n");
    });
}
