//! What the host keeps to itself is not there: homes, keys, sockets' directories, processes, descriptors.

use std::os::fd::AsRawFd as _;

use cofferdam_testkit::claim;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
fn homes_keys_and_state_are_not_there() {
    claim::as_root_and_as_user(BINARY, |env| {
        let key = env.home().join(".ssh/id_test");
        std::fs::create_dir_all(key.parent().unwrap()).unwrap();
        std::fs::write(&key, "SECRET KEY").unwrap();
        let script = format!(
            "cat {} {}/audit.jsonl /etc/shadow /root/.bashrc 2>/dev/null; \
             ls {} {} /root /run /var/run/docker.sock /home 2>/dev/null; \
             ls -A $HOME; cat /etc/passwd | grep -c .",
            key.display(),
            env.state_dir().display(),
            env.home().display(),
            env.state_dir().display(),
        );
        let done = claim::run(env, &[], &script);
        let text = done.stdout_text().into_owned();
        assert!(!text.contains("SECRET") && !text.contains("sandbox.started"), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let accounts: usize = lines.last().unwrap().parse().unwrap();
        assert!((1..=4).contains(&accounts), "a made-up passwd: {text}");
    });
}

#[test]
fn host_processes_are_not_to_be_seen() {
    claim::as_root_and_as_user(BINARY, |env| {
        let done =
            claim::run(env, &[], "ls /proc | grep -c '^[0-9]'; ps -e | wc -l; cat /proc/1/comm");
        let text = done.stdout_text().into_owned();
        let count: u32 = text.lines().next().unwrap().parse().unwrap();
        assert!(count < 10, "only its own: {text}");
        let outside = std::process::id();
        let script = format!(
            "kill -0 {outside} 2>/dev/null && echo reached; ls -d /proc/{outside} 2>/dev/null; \
                              cat /proc/1/environ 2>/dev/null | head -c 1; ls /proc/1/fd 2>/dev/null; readlink /proc/1/root /proc/1/cwd /proc/1/exe; true"
        );
        claim::run(env, &[], &script).assert_exit(0).assert_stdout("");
    });
}

/// A descriptor that was open in cofferdam's own parent, not marked close-on-exec, does not get inside.
#[test]
fn only_three_descriptors() {
    claim::as_root_and_as_user(BINARY, |env| {
        let secret = env.file("../leak", "LEAKED");
        let file = std::fs::File::open(secret).unwrap();
        let number = file.as_raw_fd();
        // The shell keeps 7 open across exec; that is how such things leak in practice.
        let inner = "ls /proc/self/fd | sort -n | tr '\\n' ' '; cat <&7 2>/dev/null; true";
        let mut shell = env.program("sh");
        assert!(number > 2);
        shell.args([
            "-c",
            "exec 7< ../leak; inner=$1; shift; exec \"$0\" \"$@\" -- sh -c \"$inner\"",
        ]);
        shell.arg(env.cofferdam().get_program()).arg(inner).args(claim::words(env));
        let out = shell.output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        // `ls` itself opens the directory as its fourth.
        assert_eq!(text.trim(), "0 1 2 3", "{text}");
    });
}

#[test]
fn blocked_files_are_hidden_and_cannot_be_made() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file(".env", "TOKEN=hidden");
        env.file(".env.local", "TOKEN=hidden");
        env.file("secrets/key", "hidden");
        env.file("plain", "visible");
        env.project_config("sandbox: { blocked: [\".env\", \".env.*\", \"secrets\", \"absent\"] }");
        let script = "cat .env .env.local; ls secrets; cat plain; \
            for c in 'echo x > .env' 'rm .env' 'mv plain .env' 'mv .env moved' 'ln -s plain absent' \
                     'echo x > absent' 'mkdir absent' 'mv plain absent' 'echo x > secrets/new' 'mv secrets s2'; do \
              sh -c \"$c\" 2>/dev/null && echo \"worked: $c\"; done; true";
        let before = env.tree_hash(env.workspace());
        let done = claim::run(env, &[], script);
        done.assert_exit(0).assert_stdout("visible");
        assert_eq!(env.tree_hash(env.workspace()), before);
    });
}

/// Standard input is carried to the program; it never holds the host's open file.
#[test]
fn standard_input_is_not_a_file_of_the_host() {
    claim::as_root_and_as_user(BINARY, |env| {
        let path = env.file("../input", "some input\n");
        let before = env.tree_hash(&path);
        let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let probe = "python3 -c 'import os; os.fchmod(0, 0o777)' 2>/dev/null && echo changed; \
                     echo more >&0 2>/dev/null && echo wrote; cat";
        let mut command = env.cofferdam();
        command.args(claim::words(env)).args(["--", "sh", "-c", probe]);
        let out = command.stdin(file).output().unwrap();
        // Its own pipe may change its mode; the host's file does not.
        let text = String::from_utf8_lossy(&out.stdout).replace("changed\n", "");
        assert_eq!(text, "some input\n");
        assert_eq!(env.tree_hash(&path), before);
    });
}

/// What is blocked in the workspace is not shown by a second view of it.
#[test]
fn no_second_view_of_what_is_blocked() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file(".env", "TOKEN=hidden");
        claim::run(env, &["--mount", ".:/data"], "cat /data/.env").assert_exit(125);
        let mut command = env.cofferdam();
        let path = format!("{}:/usr/bin:/bin", env.workspace().display());
        let script = format!("cat {}/.env 2>/dev/null; true", env.workspace().display());
        command.env("PATH", path).args(claim::words(env)).args(["--", "sh", "-c", &script]);
        env.finish(command).assert_exit(0).assert_stdout("");
    });
}
