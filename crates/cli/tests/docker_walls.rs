//! What a container keeps apart, asserted from inside, both ways: the allowed thing works, the forbidden one
//! fails, and the host is as it was.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use cofferdam_testkit::docker::{Which, as_root_and_as_user};
use cofferdam_testkit::wait_until;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_staged_workspace_leaves_the_host_as_it_was() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        env.file("f", "old");
        env.file("d/a", "1");
        env.file(".git/config", "[core]\n");
        let before = env.tree_hash(".");
        let script = "cat f; echo new > f; rm -r d; mkdir d; echo 2 > d/b; echo x > .git/hook; \
                      chmod +x .git/hook; cat f d/b";
        engine.run(env, &[], script).assert_exit(0).assert_stdout("oldnew\n2\n");
        assert_eq!(env.tree_hash("."), before);
        let manifest = env.manifest("last");
        assert_eq!(manifest.bytes("after", "f"), b"new\n");
        assert_eq!(manifest.bytes("after", ".git/hook"), b"x\n");
        assert_eq!(manifest.entry("d/a")["change"], "deleted");
        assert_eq!(manifest.entry("d/b")["change"], "created");
        for name in ["upper", "work", "etc", "covers", "lower"] {
            assert!(!env.run_dir("last").join(name).exists(), "{name} is gone");
        }
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn direct_writes_belong_to_the_workspaces_owner() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        env.file("f", "old");
        engine
            .run(env, &["--mode", "direct"], "cat f; echo new > f; mkdir d; echo 1 > d/a")
            .assert_exit(0);
        let owner = fs::metadata(env.workspace()).unwrap();
        for name in ["f", "d", "d/a"] {
            let meta = fs::metadata(env.workspace().join(name)).unwrap();
            assert_eq!((meta.uid(), meta.gid()), (owner.uid(), owner.gid()), "{name}");
        }
        assert_eq!(fs::read_to_string(env.workspace().join("f")).unwrap(), "new\n");
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn nobody_in_particular_without_privileges() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        let script = "id -u; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; \
                      cat /etc/shadow; touch /x; touch /usr/x; unshare -r true; mount -t tmpfs x /tmp; \
                      echo end";
        let done = engine.run(env, &[], script);
        done.assert_exit(0);
        let text = done.stdout_text();
        let lines: Vec<&str> = text.lines().collect();
        assert_ne!(lines[0], "0");
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert!(lines.contains(&format!("{set}:\t0000000000000000").as_str()), "{text}");
        }
        assert!(lines.contains(&"NoNewPrivs:\t1") && lines.contains(&"Seccomp:\t2"), "{text}");
        assert_eq!(lines.last(), Some(&"end"));
        let said = done.stderr_text();
        for denied in ["/etc/shadow", "'/x'", "'/usr/x'", "unshare", "mount"] {
            assert!(said.contains(denied), "{denied}: {said}");
        }
        // A planted set-id program gains nothing.
        let planted = env.file("su", "");
        fs::copy("/usr/bin/id", &planted).unwrap();
        fs::set_permissions(&planted, fs::Permissions::from_mode(0o4755)).unwrap();
        let user = engine.run(env, &[], "./su -u");
        assert_eq!(user.stdout_text().trim(), lines[0]);
        let record = env.latest_record();
        let receipt = record["receipt"].as_array().unwrap();
        let held = receipt.iter().find(|h| h["guarantee"] == "privileges").unwrap();
        assert_eq!(held["state"], "enforced");
        assert!(record["effective"]["container"].is_string());
        assert_eq!(record["effective"]["network_mode"], "none");
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn no_network_and_no_socket_of_the_host() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let path = env.top().join("outside.sock");
        let unix = UnixListener::bind(&path).unwrap();
        tcp.set_nonblocking(true).unwrap();
        unix.set_nonblocking(true).unwrap();
        env.file(
            "probe.py",
            r#"
import socket, sys
def attempt(what, act):
    try:
        act(); print("reached", what)
    except OSError:
        print("no", what)
attempt("tcp", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1))
attempt("outside", lambda: socket.create_connection(("192.0.2.1", 80), 1))
attempt("name", lambda: socket.getaddrinfo("example.com", 80))
attempt("unix", lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[2]))
for engine in "/run/docker.sock", "/var/run/docker.sock":
    attempt(engine, lambda: socket.socket(socket.AF_UNIX).connect(engine))
# Where the first process called whoever started it.
attempt("line", lambda: socket.socket(socket.AF_UNIX).connect("/run/cofferdam/home/line"))
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname(), 1)
print("own loopback works")
print(*[line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]])
"#,
        );
        let port = tcp.local_addr().unwrap().port();
        let script = format!("/usr/bin/python3 probe.py {port} {}", path.display());
        let done = engine.run(env, &[], &script);
        done.assert_exit(0).assert_stdout(
            "no tcp\nno outside\nno name\nno unix\nno /run/docker.sock\nno /var/run/docker.sock\nno line\n\
             own loopback works\nlo\n",
        );
        assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(unix.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        // Wider only where the host owner lets it, and here nobody did.
        engine.run(env, &["--network", "host"], "true").assert_exit(125);
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn limits_bite() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        let hog = "/usr/bin/python3 -c 'x = \"a\" * (200 << 20)'";
        engine.run(env, &["--memory", "64m"], hog).assert_exit(137);
        assert_eq!(env.latest_record()["outcome"]["class"], "oom");
        engine.run(env, &["--memory", "512m"], hog).assert_exit(0);
        let forks = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 2 & done; wait";
        let few = engine.run(env, &["--pids", "8"], forks);
        assert!(few.stderr_text().to_lowercase().contains("fork"), "{}", few.stderr_text());
        engine.run(env, &["--pids", "64"], forks).assert_exit(0);
        env.host_config("sandbox: { tmpfs: { /tmp: 4m } }");
        let fill = "head -c 2m /dev/zero > /tmp/a && echo fits; head -c 8m /dev/zero > /tmp/b";
        engine
            .run(env, &[], fill)
            .assert_exit(1)
            .assert_stdout("fits\n")
            .assert_stderr_has("No space left");
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn blocked_paths_and_the_environment() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        env.file(".env", "SECRET=1");
        env.file("keys/id", "private");
        env.file("keys/pub", "public");
        env.file("behind/secret", "private");
        std::os::unix::fs::symlink("behind/secret", env.workspace().join("link")).unwrap();
        env.host_config(
            "sandbox: { blocked: [\".env\", \"keys/id\", \"late\", \"link\"], env: { MODE: test } }",
        );
        for mode in ["stage", "direct", "readonly"] {
            let seen = engine.run(
                env,
                &["--mode", mode],
                "cat link behind/secret .env keys/id; cat keys/pub",
            );
            assert_eq!(seen.stdout_text(), "public", "{mode}");
        }
        let script = "cat .env keys/id late 2>/dev/null; cat keys/pub; echo; echo x > .env; echo x > late; \
                      mv .env y; rm -f keys/id; env | sort | cut -d= -f1 | tr '\\n' ' '";
        let mut command = engine.cofferdam(env);
        command.env("SECRET_TOKEN", "hunter2");
        command.args(["run", "--quiet", "--sandbox", "docker", "--", "sh", "-c", script]);
        let done = env.finish(command);
        let text = done.stdout_text();
        assert!(!text.contains("SECRET=1") && !text.contains("private"), "{text}");
        let names = text.lines().last().unwrap();
        assert_eq!(text.lines().next(), Some("public"));
        assert_eq!(
            names.trim(),
            "COFFERDAM_RUN GIT_OPTIONAL_LOCKS HOME HOSTNAME MODE PATH PWD PYTHONDONTWRITEBYTECODE"
        );
        assert_eq!(fs::read_to_string(env.workspace().join(".env")).unwrap(), "SECRET=1");
        assert!(!env.workspace().join("late").exists());
        assert!(env.grep_state("hunter2").is_empty());
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn mounts_are_shown_read_only_unless_asked() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        let data = env.top().join("data");
        env.file("../data/file", "shown");
        env.host_config(&format!("policy: {{ allowed_paths: [\"{}\"] }}", data.display()));
        let mount = format!("{}:/data", data.display());
        let script = "cat /data/file; touch /data/x 2>/dev/null && echo wrote; true";
        engine.run(env, &["--mount", &mount], script).assert_exit(0).assert_stdout("shown");
        engine.run(env, &["--mount", &format!("{mount}:rw")], "echo y > /data/x").assert_exit(0);
        assert_eq!(fs::read_to_string(data.join("x")).unwrap(), "y\n");
        let owner = fs::metadata(&data).unwrap().uid();
        assert_eq!(fs::metadata(data.join("x")).unwrap().uid(), owner);
    });
}

/// Nothing that could be a flag, or a way to the engine, gets as far as the engine.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn what_is_not_a_name_is_refused_before_the_engine_is_asked() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        for flags in [
            &["--image=--privileged"][..],
            &["--image=-v/:/h"],
            &["--image=a b"],
            &["--mount=-v/:/h"],
            &["--mount=/:/h"],
            &["--mount=/run:/h"],
            &["--mount=/proc/1/root:/h"],
            &["--runtime=x --privileged"],
            &["--runtime=no-such-runtime"],
            &["--image=no-such-image:1"],
        ] {
            engine.run(env, flags, "true").assert_exit(125);
            assert_eq!(env.latest_record()["outcome"]["class"], "refused", "{flags:?}");
        }
        env.host_config("sandbox: { seccomp: /nonexistent.json }");
        engine.run(env, &[], "true").assert_exit(125).assert_stderr_has("system call filter");
    });
}

/// Who may ask the engine, or reads its disk, learns the names of secrets and no value.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn secrets_are_told_to_the_program_alone() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        env.host_config("policy: { env: [\"*\"] }\nsandbox: { env: { PLAIN: shown } }");
        let mut command = engine.cofferdam(env);
        command.env("API_TOKEN", "hunter2 with\nlines=");
        command.args(["run", "--quiet", "--sandbox", "docker", "--mode", "direct"]);
        command.args(["--pass-env", "API_TOKEN", "--", "sh", "-c"]);
        command
            .arg("printf '%s' \"$API_TOKEN\"; touch ready; while [ -e ready ]; do sleep 0.1; done");
        command.stdout(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        let ready = env.workspace().join("ready");
        assert!(wait_until(Duration::from_secs(30), || ready.exists()));
        let run = env.runs().pop().unwrap();
        let told = engine.client(&["inspect", &format!("cofferdam-{run}")]);
        assert!(told.contains("PLAIN=shown") && !told.contains("hunter2"), "{told}");
        assert!(env.grep_state("hunter2").is_empty());
        fs::remove_file(ready).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(output.stdout, b"hunter2 with\nlines=", "the program has it");
        assert!(!env.run_dir("last").join("variables").exists());
    });
}
